//===- Matrix.cpp - ldmatrix, stmatrix and mma.sync -----------------------===//
//
// Which lane holds what follows the figures of the PTX manual: lane = 4 * group +
// t; a register holds `e` elements of one row of A, or one column of B, from t * e
// on. Products are exact, summed in double precision with what was there, and
// truncated once, which gives the bits of an H200 in most sums.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/decode/Narrow.h"

#include <algorithm>

namespace emulator {
namespace {

constexpr int rows = 16, columns = 8, maxDepth = 32;

// Element `i` of the register, as a number.
double element(uint32_t bits, int i, Type type) {
  switch (type) {
  case Type::F16:
    return halfToFloat(bits >> 16 * i);
  case Type::BF16:
    return bfloatToFloat(bits >> 16 * i);
  case Type::TF32:
    return std::bit_cast<float>(bits & 0xffffe000); // the hardware does not look at the rest
  case Type::S8:
    return int8_t(bits >> 8 * i);
  default:
    return uint8_t(bits >> 8 * i);
  }
}

int elementsOf(Type type) {
  return type == Type::TF32 ? 1 : type == Type::F16 || type == Type::BF16 ? 2 : 4;
}

// op: the places of D, A, B and C begin at list[0], list[op[0]], list[op[1]], list[op[2]].
void multiply(Warp &w, const Instruction &in, Mask mask) {
  if (!w.converged(in, mask, allLanes))
    return;
  if (mask != allLanes)
    throw Fault{Result::LaunchFailed, "executed by a part of a warp", std::countr_zero(mask)};
  const Place *places = &w.block->launch->kernel->places[in.list];
  Type typeA = Type(in.variant), typeB = Type(in.variant2), typeC = Type(in.immediate & 0xff);
  int depth = in.immediate >> 8, e = elementsOf(typeA);
  static thread_local double a[rows][maxDepth], b[maxDepth][columns];
  double c[rows][columns];
  for (int r = 0; r < in.op[1] - in.op[0]; ++r) {
    const uint32_t *source = w.in<uint32_t>(places[in.op[0] + r]);
    for (int lane = 0; lane < lanes; ++lane)
      for (int i = 0; i < e; ++i)
        a[lane / 4 + 8 * (r & 1)][r / 2 * 4 * e + lane % 4 * e + i] =
            element(source[lane], i, typeA);
  }
  for (int r = 0; r < in.op[2] - in.op[1]; ++r) {
    const uint32_t *source = w.in<uint32_t>(places[in.op[1] + r]);
    for (int lane = 0; lane < lanes; ++lane)
      for (int i = 0; i < e; ++i)
        b[r * 4 * e + lane % 4 * e + i][lane / 4] = element(source[lane], i, typeB);
  }
  auto eachOfC = [&](auto body) { // body(register, lane, row, column, which of the register's)
    int perRegister = typeC == Type::F16 ? 2 : 1;
    for (int k = 0; k < 4; ++k)
      for (int lane = 0; lane < lanes; ++lane)
        body(k / perRegister, lane, lane / 4 + 8 * (k / 2), lane % 4 * 2 + k % 2, k % perRegister);
  };
  eachOfC([&](int r, int lane, int row, int column, int half) {
    Place place = places[in.op[2] + r];
    c[row][column] = typeC == Type::F32   ? w.in<float>(place)[lane]
                     : typeC == Type::S32 ? w.in<int32_t>(place)[lane]
                                          : halfToFloat(w.in<uint16_t>(place)[2 * lane + half]);
  });
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < depth; ++k)
      for (int column = 0; column < columns; ++column)
        c[row][column] += a[row][k] * b[k][column];
  eachOfC([&](int r, int lane, int row, int column, int half) {
    double value = c[row][column];
    if (typeC == Type::F32)
      w.reg<float>(places[r])[lane] = truncated(value);
    else if (typeC == Type::S32) // wraps, unless .satfinite
      w.reg<uint32_t>(places[r])[lane] =
          in.target ? int32_t(std::clamp(value, -0x1p31, 0x1p31 - 1)) : uint32_t(int64_t(value));
    else
      w.reg<uint16_t>(places[r])[2 * lane + half] = floatToHalf(value);
  });
}

Type typeNamed(const std::string &name) { return ptx::typeOf(name); }

void decodeMultiply(Decoder &d) {
  // mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  const auto &parts = d.statement().parts;
  size_t n = parts.size();
  if (n < 10 || d.numOperands() != 4 || parts[4] != "row" || parts[5] != "col" || d.has("sp"))
    d.unknown();
  Type typeD = typeNamed(parts[n - 4]), typeA = typeNamed(parts[n - 3]),
       typeB = typeNamed(parts[n - 2]), typeC = typeNamed(parts[n - 1]);
  int depth = parts[3].rfind("m16n8k", 0) == 0 ? std::atoi(parts[3].c_str() + 6) : 0;
  bool integers =
      (typeA == Type::S8 || typeA == Type::U8) && (typeB == Type::S8 || typeB == Type::U8);
  bool floats =
      (typeA == Type::F16 || typeA == Type::BF16 || typeA == Type::TF32) && typeA == typeB;
  int e = elementsOf(typeA), depthRegisters = depth / (4 * e);
  if (typeC != typeD || depth % (4 * e) || depthRegisters < 1 || depthRegisters > 2 ||
      !(integers ? typeC == Type::S32
                 : floats && (typeC == Type::F32 || (typeC == Type::F16 && typeA == Type::F16))))
    d.unknown();
  size_t counts[] = {typeC == Type::F16 ? 2u : 4u, size_t(2 * depthRegisters),
                     size_t(depthRegisters), typeC == Type::F16 ? 2u : 4u};
  std::vector<Place> places;
  Place begins[4];
  for (size_t i = 0; i < 4; ++i) {
    const ptx::Operand &operand = d.operand(i);
    std::vector<ptx::Operand> elements = operand.elements;
    if (operand.kind != ptx::Operand::Vector)
      elements = {operand};
    if (elements.size() != counts[i])
      d.fail(text("operand %d: expected %d registers, found %d", (int)i, (int)counts[i],
                  (int)elements.size()));
    begins[i] = places.size();
    for (const ptx::Operand &one : elements)
      places.push_back(i == 0 ? d.destination(one, 4) : d.source(one, 4));
  }
  Instruction &in = d.add(multiply, {begins[1], begins[2], begins[3]});
  d.list(in, places);
  in.variant = uint8_t(typeA);
  in.variant2 = uint8_t(typeB);
  in.immediate = int64_t(typeC) | depth << 8;
  in.target = d.has("satfinite");
}

// Lane 8 * m + r names row r of matrix m: 16 bytes.
template <bool store> void matrices(Warp &w, const Instruction &in, Mask mask) {
  if (!w.converged(in, mask, allLanes))
    return;
  if (mask != allLanes)
    throw Fault{Result::LaunchFailed, "executed by a part of a warp", std::countr_zero(mask)};
  const Place *places = &w.block->launch->kernel->places[in.list];
  for (int m = 0; m < in.count; ++m) {
    std::byte *row[8];
    for (int r = 0; r < 8; ++r) {
      int lane = 8 * m + r;
      uint64_t address =
          in.variant2 == 4 ? w.in<uint32_t>(in.op[4])[lane] : w.in<uint64_t>(in.op[4])[lane];
      address = sharedAddress(address, in.immediate);
      row[r] = store ? writeShared(w, lane, address, 16)
                     : const_cast<std::byte *>(readShared(w, lane, address, 16));
    }
    uint16_t *registers =
        store ? const_cast<uint16_t *>(w.in<uint16_t>(places[m])) : w.reg<uint16_t>(places[m]);
    for (int lane = 0; lane < lanes; ++lane)
      for (int i = 0; i < 2; ++i) {
        int r = lane / 4, column = lane % 4 * 2 + i;
        if (in.variant)
          std::swap(r, column);
        if (store)
          std::memcpy(row[r] + 2 * column, &registers[2 * lane + i], 2);
        else
          std::memcpy(&registers[2 * lane + i], row[r] + 2 * column, 2);
      }
  }
}

template <bool store> void decodeMatrices(Decoder &d) {
  const ptx::Operand &data = d.operand(store ? 1 : 0);
  size_t count = d.has("x4") ? 4 : d.has("x2") ? 2 : d.has("x1") ? 1 : 0;
  if (!d.has("m8n8") || d.type() != Type::B16 || !count)
    d.unknown();
  std::vector<ptx::Operand> elements = data.elements;
  if (data.kind != ptx::Operand::Vector)
    elements = {data};
  if (elements.size() != count)
    d.fail(text("expected %d registers, found %d", (int)count, (int)elements.size()));
  std::vector<Place> places;
  for (const ptx::Operand &one : elements)
    places.push_back(store ? d.source(one, 4) : d.destination(one, 4));
  Decoder::Address address = d.address(d.operand(store ? 0 : 1), Space::Shared);
  Instruction &in = d.add(matrices<store>);
  in.op[4] = address.base;
  in.variant = d.has("trans");
  in.variant2 = address.baseBytes;
  in.immediate = address.offset;
  d.list(in, places);
}

} // namespace

void addMatrix(Table &table) {
  table["mma"] = decodeMultiply;
  table["ldmatrix"] = decodeMatrices<false>;
  table["stmatrix"] = decodeMatrices<true>;
}

} // namespace emulator
