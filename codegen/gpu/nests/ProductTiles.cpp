//===- ProductTiles.cpp - a product's operands in shared memory -----------===//
#include "codegen/gpu/nests/ProductTiles.h"
#include "codegen/gpu/nests/Blocks.h"
#include "codegen/gpu/nests/BulkCopies.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

constexpr int64_t bytesOfPiece = 16, pieceOfHalves = 8, lineOfBanks = 8; // pieces
constexpr int64_t lengthOfBlock = pieceOfHalves * lineOfBanks;

} // namespace

ProductTileOperand::ProductTileOperand(Loops &b, const ProductOperand &operand,
                                       const ProductTile &tile, int64_t rows, TileLayout layout)
    : rows(rows), depth(tile.depth), type(operand.halfType() ?: b.getF32Type()), b(b),
      operand(operand), stages(tile.stages), copiesAlone(tile.copyThreads),
      alongDepth(operand.isAlongDepth()), layout(layout) {
  packed = !operand.isInMemory() && operand.isPacked();
  int64_t bytes = packed ? 1 : bytesOfNumber();
  Value there = packed ? operand.bytes() : operand.isInMemory() ? operand.buffer() : Value();
  width = there ? alignedNumbers(there, bytesOfPiece / bytes) : 1;
  if (packed)
    width = std::min(width, lengthOfBytes());
  async = there && width * bytes >= 4; // what the instruction copies at least
  if (packed && !async)
    width = 1;
}

int64_t ProductTileOperand::blocks() const {
  return layout == TileLayout::Blocks ? llvm::divideCeil(length(), lengthOfBlock) : 1;
}

int64_t ProductTileOperand::lengthInMemory() const {
  // Along the depth threads read different lines at once: neighbours begin in different banks. Four
  // lanes of an mma.sync have neighbours of the depth, eight of the rows.
  int64_t piece = bytesOfPiece / bytesOfNumber(), space = 0;
  if (layout == TileLayout::Spaced)
    space = alongDepth ? piece : 0;
  else if (layout == TileLayout::Lanes)
    space = alongDepth ? piece : 2 * piece;
  return length() / blocks() + space;
}

int64_t ProductTileOperand::bytes() const {
  return packed ? bytesOfStage() + llvm::alignTo(bytesOfStages(), bytesOfPiece)
                : stages * bytesOfStage();
}

void ProductTileOperand::place(Value memory, int64_t first, const Extent &there) {
  extent = there;
  int64_t held = packed ? 1 : stages;
  buffer = viewOf(b, memory, first, {held, blocks() * lines(), lengthInMemory()}, type);
  if (packed)
    packedBytes = viewOf(b, memory, first + bytesOfStage(),
                         {stages, linesOfBytes(), lengthOfBytes()}, b.getI8Type());
}

Value ProductTileOperand::inLine(Value line, Value i) const {
  if (layout == TileLayout::Spaced || layout == TileLayout::Lanes)
    return i;
  int64_t pieces = lengthInMemory() / pieceOfHalves;
  int64_t ofBanks = std::max<int64_t>(lineOfBanks / pieces, 1); // lines in as many bytes
  Value mix = b.rem(b.div(line, ofBanks), std::min(pieces, lineOfBanks));
  Value piece = arith::XOrIOp::create(b, b.div(i, pieceOfHalves), mix);
  return b.add(b.mul(piece, pieceOfHalves), b.rem(i, pieceOfHalves));
}

Values ProductTileOperand::placeOf(Value stage, Value row, Value at) const {
  Value line = alongDepth ? row : at, i = alongDepth ? at : row;
  if (blocks() > 1) {
    line = b.add(line, b.mul(b.div(i, lengthOfBlock), lines()));
    i = b.rem(i, lengthOfBlock);
  }
  return {packed ? b.index(0) : stage, line, inLine(line, i)};
}

Value ProductTileOperand::isThere(Value row, Value at) const {
  Value all;
  auto require = [&](Value below, Value count) {
    Value holds = b.less(below, count);
    all = all ? b.both(all, holds) : holds;
  };
  if (!isWhole(extent.rows, rows))
    require(row, extent.rows);
  if (!isWhole(extent.depth, depth))
    require(at, extent.depth);
  return all;
}

void ProductTileOperand::copyPiece(Value stage, Value first, Value piece) const {
  int64_t inALine = length() / width;
  Value line = b.div(piece, inALine), i = b.mul(b.rem(piece, inALine), width);
  Value row = alongDepth ? line : i, at = alongDepth ? i : line;
  Values to = placeOf(stage, row, at);
  row = b.add(extent.firstRow, row);
  at = b.add(first, at);
  Value there = isThere(row, at);
  if (async) {
    Value zero = b.index(0);
    if (there) {
      row = b.select(there, row, zero);
      at = b.select(there, at, zero);
    }
    return copyAsyncIf(b, there, operand.buffer(), operand.placeOf(b, row, at), buffer, to, width);
  }
  auto number = [&] {
    return Values{operand.halfType() ? b.load(operand.buffer(), operand.placeOf(b, row, at))
                                     : operand.number(b, row, at)};
  };
  auto zero = [&] { return Values{arith::ConstantOp::create(b, b.getFloatAttr(type, 0))}; };
  b.store(there ? b.ifElse(there, number, zero)[0] : number()[0], buffer, to);
}

/// The row, and the depth, in the tile, of a byte's first number.
std::pair<Value, Value> ProductTileOperand::placeOfByte(Value line, Value i) const {
  int64_t numbers = operand.numbersOfByte();
  return alongDepth ? std::pair(line, b.mul(i, numbers)) : std::pair(i, b.mul(line, numbers));
}

void ProductTileOperand::copyBytes(Value stage, Value first, Value piece) const {
  int64_t inALine = lengthOfBytes() / width;
  Value line = b.div(piece, inALine), i = b.mul(b.rem(piece, inALine), width);
  auto [row, at] = placeOfByte(line, i);
  row = b.add(extent.firstRow, row);
  at = b.add(first, at);
  Value there = isThere(row, at);
  if (there) {
    row = b.select(there, row, b.index(0));
    at = b.select(there, at, b.index(0));
  }
  Values from = operand.placeOfByte(b, row, at), to = {stage, line, i};
  if (async)
    copyAsyncIf(b, there, operand.bytes(), from, packedBytes, to, width);
  else
    b.store(b.load(operand.bytes(), from), packedBytes, to);
}

/// Behind the operand's end numbers are those of its last row or depth: they are not written, or
/// multiplied by zeros.
void ProductTileOperand::unpack(Value stage, Value number, const BlockThread &thread) const {
  constexpr int64_t atOnce = 4; // bytes
  int64_t inALine = lengthOfBytes() / atOnce, numbers = operand.numbersOfByte();
  Value first = b.mul(number, depth), pieces = b.index(linesOfBytes() * inALine);
  auto loop = scf::ForOp::create(b, thread.thread, hidden(b, pieces), b.index(thread.count));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  Value piece = loop.getInductionVar();
  Value line = b.div(piece, inALine), i = b.mul(b.rem(piece, inALine), atOnce);
  auto [row, at] = placeOfByte(line, i);
  auto within = [&](Value place, Value count, int64_t tile) {
    return isWhole(count, tile) ? place : b.min(place, b.sub(count, b.index(1)));
  };
  SmallVector<Values> made(numbers); // of each byte's first number, and of its second
  for (auto [e, byte] : llvm::enumerate(loadVector(b, packedBytes, {stage, line, i}, atOnce)))
    for (int64_t n = 0; n < numbers; ++n) {
      auto behind = static_cast<int64_t>(e);
      Value ofRow = b.add(extent.firstRow, alongDepth ? row : b.add(row, behind));
      Value ofDepth = b.add(b.add(first, at), alongDepth ? behind * numbers + n : n);
      made[n].push_back(operand.number(b, within(ofRow, extent.rows, rows),
                                       within(ofDepth, extent.depth, depth), byte));
    }
  for (int64_t n = 0; n < numbers; ++n) {
    if (!alongDepth) {
      storeVector(b, made[n], buffer, placeOf(stage, row, b.add(at, n)));
      continue;
    }
    Values neighbours;
    for (int64_t e = n * atOnce; e < (n + 1) * atOnce; ++e)
      neighbours.push_back(made[e % numbers][e / numbers]);
    storeVector(b, neighbours, buffer, placeOf(stage, row, b.add(at, n * atOnce)));
  }
}

void ProductTileOperand::copy(Value stage, Value number, const BlockThread &thread) const {
  Value first = b.mul(number, depth);
  int64_t lines = packed ? linesOfBytes() : this->lines();
  int64_t inALine = (packed ? lengthOfBytes() : length()) / width, pieces = lines * inALine;
  int64_t steps = llvm::divideCeil(pieces, thread.count), bytes = packed ? 1 : bytesOfNumber();
  auto copyOne = [&](Value piece) {
    packed ? copyBytes(stage, first, piece) : copyPiece(stage, first, piece);
  };
  // Few steps share what they compute of places, before the loop over the depth. What many would
  // keep there needs more registers than there are: theirs is a loop of unknown length. A block of
  // warpgroups has a multiprocessor, and its registers, for itself.
  int64_t few = layout == TileLayout::Blocks || copiesAlone ? 8 : 4;
  if (width * bytes == bytesOfPiece && steps <= few && pieces % thread.count == 0) {
    for (int64_t step = 0; step < steps; ++step)
      copyOne(b.add(thread.thread, step * thread.count));
    return;
  }
  auto loop =
      scf::ForOp::create(b, thread.thread, hidden(b, b.index(pieces)), b.index(thread.count));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  copyOne(loop.getInductionVar());
}

/// Half of a stage is half of each block's lines.
Value ProductTileOperand::boxes() const { return tensorMap(b, operand.buffer(), lines() / 2); }

void ProductTileOperand::copyBoxes(Value map, Value stage, Value row, Value at,
                                   Value barrier) const {
  for (int64_t half = 0; half < 2; ++half)
    copyHalf(map, b.index(half), stage, row, at, barrier, /*isMulticast=*/false);
}

void ProductTileOperand::copyHalf(Value map, Value half, Value stage, Value row, Value at,
                                  Value barrier, bool isMulticast) const {
  assert(lengthInMemory() == lengthOfBlock && "a box is of a block's lines");
  int64_t linesOfHalf = lines() / 2, bytesOfBlock = lines() * bytesOfLine();
  Value line = b.add(alongDepth ? row : at, b.mul(half, linesOfHalf)), i = alongDepth ? at : row;
  Value to = b.add(memref::ExtractAlignedPointerAsIndexOp::create(b, buffer),
                   b.mul(stage, bytesOfStage()));
  to = b.add(to, b.mul(half, linesOfHalf * bytesOfLine()));
  for (int64_t block = 0; block < blocks(); ++block)
    copyBox(b, map, line, b.add(i, block * lengthOfBlock), b.add(to, block * bytesOfBlock), barrier,
            isMulticast);
}
