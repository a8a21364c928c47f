//===- Warpgroup.cpp - wgmma ----------------------------------------------===//
//
// Products run when they are waited for; meanwhile the accumulators hold NaNs, so
// that who reads them too early gets some, and A's registers, which are read until
// then, must stay as they were. Each warp computes its 16 rows.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/decode/Narrow.h"

#include <algorithm>

namespace emulator {
namespace {

constexpr int rows = 16, maxColumns = 256, maxDepth = 32;

struct Shape {
  Type type, result;
  int columns, depth, elementBytes;
  bool fromRegisters, transposedA, transposedB;
  double scaleA, scaleB;
};

// Kept behind the places: the instruction's own numbers are too few.
Shape shapeOf(const Instruction &in) {
  uint64_t bits = in.immediate;
  auto take = [&](int count) {
    uint64_t value = bits & ((uint64_t{1} << count) - 1);
    bits >>= count;
    return int(value);
  };
  Shape shape;
  shape.type = Type(take(8));
  shape.result = Type(take(8));
  shape.columns = take(12);
  shape.depth = take(8);
  shape.fromRegisters = take(1);
  shape.transposedA = take(1);
  shape.transposedB = take(1);
  shape.scaleA = take(1) ? -1 : 1;
  shape.scaleB = take(1) ? -1 : 1;
  shape.elementBytes = shape.type == Type::TF32                           ? 4
                       : shape.type == Type::S8 || shape.type == Type::U8 ? 1
                                                                          : 2;
  return shape;
}

double number(const std::byte *at, Type type) {
  uint16_t half;
  uint32_t word;
  switch (type) {
  case Type::F16:
    std::memcpy(&half, at, 2);
    return halfToFloat(half);
  case Type::BF16:
    std::memcpy(&half, at, 2);
    return bfloatToFloat(half);
  case Type::TF32:
    std::memcpy(&word, at, 4);
    return std::bit_cast<float>(word & 0xffffe000);
  case Type::S8:
    return int8_t(*at);
  default:
    return uint8_t(*at);
  }
}

// A matrix in shared memory, as its descriptor says. `row` counts along M or N, `k` along K.
struct Tile {
  uint32_t start, leading, stride, swizzle, width;
  bool transposed;
  uint32_t elementBytes;

  Tile(uint64_t descriptor, bool transposed, uint32_t elementBytes)
      : start((descriptor & 0x3fff) << 4), leading((descriptor >> 16 & 0x3fff) << 4),
        stride((descriptor >> 32 & 0x3fff) << 4),
        swizzle(descriptor >> 62 ? 4 - uint32_t(descriptor >> 62) : 0), width(16u << swizzle),
        transposed(transposed), elementBytes(elementBytes) {}

  uint32_t address(uint32_t row, uint32_t k) const {
    uint32_t along = (transposed ? row : k) * elementBytes, across = transposed ? k : row;
    uint32_t at = start;
    if (transposed)
      at += swizzle
                ? along % width + along / width * leading + across % 8 * width + across / 8 * stride
                : along % 16 + along / 16 * stride + across % 8 * 16 + across / 8 * leading;
    else
      at += swizzle ? across % 8 * width + across / 8 * stride + along
                    : across % 8 * 16 + across / 8 * stride + along / 16 * leading + along % 16;
    return swizzled(at, swizzle);
  }

  double read(Warp &w, uint32_t row, uint32_t k, Type type) const {
    return number(readShared(w, 0, address(row, k), elementBytes), type);
  }
};

void multiply(Warp &w, const PendingProduct &product) {
  const Instruction &in = *product.in;
  Shape shape = shapeOf(in);
  const Place *places = &w.block->launch->kernel->places[in.list];
  static thread_local double a[rows][maxDepth], b[maxDepth][maxColumns], c[rows][maxColumns];
  int e = 4 / shape.elementBytes;
  if (shape.fromRegisters) {
    for (int r = 0; r < 4; ++r)
      for (int lane = 0; lane < lanes; ++lane)
        for (int i = 0; i < e; ++i) {
          auto *word = reinterpret_cast<const std::byte *>(&product.fragment[r][lane]);
          a[lane / 4 + 8 * (r & 1)][r / 2 * 4 * e + lane % 4 * e + i] =
              number(word + i * shape.elementBytes, shape.type) * shape.scaleA;
        }
  } else {
    Tile tile(product.a, shape.transposedA, shape.elementBytes);
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < shape.depth; ++k)
        a[row][k] = tile.read(w, w.index % 4 * rows + row, k, shape.type) * shape.scaleA;
  }
  Tile tile(product.b, shape.transposedB, shape.elementBytes);
  for (int k = 0; k < shape.depth; ++k)
    for (int column = 0; column < shape.columns; ++column)
      b[k][column] = tile.read(w, column, k, shape.type) * shape.scaleB;

  int perRegister = shape.result == Type::F16 ? 2 : 1;
  auto eachOfC = [&](auto body) {
    for (int i = 0; i < shape.columns / 2; ++i)
      for (int lane = 0; lane < lanes; ++lane)
        body(w.accumulators[places[i / perRegister]].values[lane], lane / 4 + 8 * (i / 2 % 2),
             i / 4 * 8 + lane % 4 * 2 + i % 2, i % perRegister);
  };
  eachOfC([&](uint32_t word, int row, int column, int half) {
    c[row][column] = !product.accumulates        ? 0
                     : shape.result == Type::F32 ? std::bit_cast<float>(word)
                     : shape.result == Type::S32 ? int32_t(word)
                                                 : halfToFloat(word >> 16 * half);
  });
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < shape.depth; ++k)
      for (int column = 0; column < shape.columns; ++column)
        c[row][column] += a[row][k] * b[k][column];
  eachOfC([&](uint32_t &word, int row, int column, int half) {
    double value = c[row][column];
    if (shape.result == Type::F32)
      word = std::bit_cast<uint32_t>(truncated(value));
    else if (shape.result == Type::S32)
      word = uint32_t(int64_t(value));
    else
      word = (word & 0xffff0000 >> 16 * half) | uint32_t(floatToHalf(value)) << 16 * half;
  });
}

int accumulatorsOf(const Shape &shape) {
  return shape.columns / (shape.result == Type::F16 ? 4 : 2);
}

void checkFragment(Warp &w, const PendingProduct &product) {
  Shape shape = shapeOf(*product.in);
  const Place *places = &w.block->launch->kernel->places[product.in->list];
  for (int r = 0; shape.fromRegisters && r < 4; ++r) {
    const uint32_t *now = w.in<uint32_t>(places[accumulatorsOf(shape) + r]);
    for (int lane = 0; lane < lanes; ++lane)
      if (now[lane] != product.fragment[r][lane])
        throw Fault{Result::LaunchFailed,
                    text("register %d of a product's matrix changed before it was waited for", r),
                    lane};
  }
}

// op[0] scale-d (a predicate), op[1] A's descriptor, op[2] B's. The list: D, then A's registers.
void issue(Warp &w, const Instruction &in, Mask mask) {
  if (!w.converged(in, mask, allLanes))
    return;
  if (mask != allLanes || w.block->warps.size() % 4)
    throw Fault{Result::LaunchFailed, "executed by a part of a warpgroup", std::countr_zero(mask)};
  Shape shape = shapeOf(in);
  const Place *places = &w.block->launch->kernel->places[in.list];
  PendingProduct product{&in, 0, w.in<uint64_t>(in.op[2])[0], {}, (w.bits(in.op[0]) & 1) != 0, -1};
  int count = accumulatorsOf(shape);
  if (shape.fromRegisters)
    for (int r = 0; r < 4; ++r)
      std::memcpy(product.fragment[r].data(), w.in<uint32_t>(places[count + r]),
                  sizeof product.fragment[r]);
  else
    product.a = w.in<uint64_t>(in.op[1])[0];
  for (int i = 0; i < count; ++i) {
    Accumulator &accumulator = w.accumulators[places[i]];
    if (accumulator.uses++ == 0) {
      std::memcpy(accumulator.values.data(), w.reg<uint32_t>(places[i]), sizeof accumulator.values);
      std::memset(w.reg<uint32_t>(places[i]), 0xff, sizeof accumulator.values);
    }
  }
  w.products.push_back(product);
}

void commit(Warp &w, const Instruction &, Mask) {
  for (PendingProduct &product : w.products)
    if (product.group < 0)
      product.group = w.committedProducts;
  ++w.committedProducts;
}

void wait(Warp &w, const Instruction &in, Mask) {
  size_t done = 0;
  while (done < w.products.size() && w.products[done].group >= 0 &&
         w.products[done].group < w.committedProducts - in.immediate)
    ++done;
  for (size_t i = 0; i < done; ++i) {
    const PendingProduct &product = w.products[i];
    checkFragment(w, product);
    multiply(w, product);
    const Place *places = &w.block->launch->kernel->places[product.in->list];
    for (int k = 0; k < accumulatorsOf(shapeOf(*product.in)); ++k) {
      auto found = w.accumulators.find(places[k]);
      if (--found->second.uses)
        continue;
      std::memcpy(w.reg<uint32_t>(places[k]), found->second.values.data(),
                  sizeof found->second.values);
      w.accumulators.erase(found);
    }
  }
  w.products.erase(w.products.begin(), w.products.begin() + done);
}

// wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {D}, A, B, scale-d, scale-a, scale-b,
// trans-a, trans-b
void decodeMultiply(Decoder &d) {
  const auto &parts = d.statement().parts;
  size_t n = parts.size();
  int columns = 0, depth = 0;
  if (n < 8 || std::sscanf(parts[4].c_str(), "m64n%dk%d", &columns, &depth) != 2 || d.has("sp"))
    d.unknown();
  Type result = ptx::typeOf(parts[n - 3]), type = ptx::typeOf(parts[n - 2]);
  bool integers = type == Type::S8 || type == Type::U8;
  bool narrow = type == Type::F16 || type == Type::BF16;
  if (type != ptx::typeOf(parts[n - 1]) || columns < 8 || columns > maxColumns || columns % 8 ||
      depth != (integers ? 32
                : narrow ? 16
                         : 8) ||
      (!integers && !narrow && type != Type::TF32) ||
      !(integers ? result == Type::S32
                 : result == Type::F32 || (result == Type::F16 && type == Type::F16)))
    d.unknown();
  bool fromRegisters = d.operand(1).kind == ptx::Operand::Vector;
  size_t count = columns / (result == Type::F16 ? 4 : 2);
  if (d.operand(0).elements.size() != count || (fromRegisters && d.operand(1).elements.size() != 4))
    d.fail(text("expected %d accumulators and 4 registers of A, or its descriptor", (int)count));
  std::vector<Place> places;
  for (const ptx::Operand &one : d.operand(0).elements)
    places.push_back(d.destination(one, 4));
  if (fromRegisters)
    for (const ptx::Operand &one : d.operand(1).elements)
      places.push_back(d.source(one, 4));
  auto flag = [&](size_t i, int64_t value) -> int64_t {
    return i < d.numOperands() && d.operand(i).value == value;
  };
  int64_t transposedA = !fromRegisters && flag(6, 1), transposedB = flag(fromRegisters ? 6 : 7, 1);
  Instruction &in =
      d.add(issue, {d.source(3, 0), fromRegisters ? nowhere : d.source(1, 8), d.source(2, 8)});
  d.list(in, places);
  in.immediate = int64_t(type) | int64_t(result) << 8 | int64_t(columns) << 16 |
                 int64_t(depth) << 28 | int64_t(fromRegisters) << 36 | transposedA << 37 |
                 transposedB << 38 | flag(4, -1) << 39 | flag(5, -1) << 40;
}

void decode(Decoder &d) {
  if (d.has("mma_async"))
    decodeMultiply(d);
  else if (d.has("commit_group"))
    d.add(commit);
  else if (d.has("wait_group"))
    d.add(wait).immediate = d.operand(0).value;
  else if (!d.has("fence"))
    d.unknown();
}

} // namespace

void addWarpgroup(Table &table) { table["wgmma"] = decode; }

} // namespace emulator
