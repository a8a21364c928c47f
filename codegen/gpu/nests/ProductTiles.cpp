//===- ProductTiles.cpp - a product's operands in shared memory -----------===//
#include "codegen/gpu/nests/ProductTiles.h"
#include "codegen/gpu/nests/Blocks.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

namespace {

constexpr int64_t bytesOfPiece = 16, pieceOfBf16 = 8, lineOfBanks = 8; // pieces

} // namespace

ProductTileOperand::ProductTileOperand(Loops &b, const ProductOperand &operand,
                                       const ProductTile &tile, int64_t rows, bool bf16)
    : rows(rows), depth(tile.depth), b(b), operand(operand), stages(tile.stages),
      alongDepth(operand.isAlongDepth()), bf16(bf16) {
  int64_t bytes = bf16 ? 2 : 4;
  bool isSame = operand.isInMemory() && operand.isBf16() == bf16;
  width = isSame ? alignedNumbers(operand.buffer(), bytesOfPiece / bytes) : 1;
  async = isSame && width * bytes >= 4; // what the instruction copies at least
}

int64_t ProductTileOperand::lengthInMemory() const {
  // Along the depth threads read different lines at once: neighbours begin in different banks.
  int64_t space = !bf16 && alongDepth ? bytesOfPiece / 4 : 0;
  return length() + space;
}

int64_t ProductTileOperand::bytes() const {
  return stages * lines() * lengthInMemory() * (bf16 ? 2 : 4);
}

void ProductTileOperand::place(Value memory, int64_t first, const Extent &there) {
  extent = there;
  Type element = bf16 ? Type(b.getBF16Type()) : b.getF32Type();
  buffer = viewOf(b, memory, first, {stages, lines(), lengthInMemory()}, element);
}

Value ProductTileOperand::inLine(Value line, Value i) const {
  if (!bf16)
    return i;
  int64_t pieces = length() / pieceOfBf16;
  int64_t ofBanks = std::max<int64_t>(lineOfBanks / pieces, 1); // lines in as many bytes
  Value mix = b.rem(b.div(line, ofBanks), std::min(pieces, lineOfBanks));
  Value piece = arith::XOrIOp::create(b, b.div(i, pieceOfBf16), mix);
  return b.add(b.mul(piece, pieceOfBf16), b.rem(i, pieceOfBf16));
}

Values ProductTileOperand::placeOf(Value stage, Value row, Value at) const {
  Value line = alongDepth ? row : at, i = alongDepth ? at : row;
  return {stage, line, inLine(line, i)};
}

void ProductTileOperand::copyPiece(Value stage, Value first, Value piece) const {
  int64_t inALine = length() / width;
  Value line = b.div(piece, inALine), i = b.mul(b.rem(piece, inALine), width);
  Value row = alongDepth ? line : i, at = alongDepth ? i : line;
  Values to = placeOf(stage, row, at);
  row = b.add(extent.firstRow, row);
  at = b.add(first, at);
  Value isThere;
  auto require = [&](Value below, Value count) {
    Value holds = b.less(below, count);
    isThere = isThere ? b.both(isThere, holds) : holds;
  };
  if (!isWhole(extent.rows, rows))
    require(row, extent.rows);
  if (!isWhole(extent.depth, depth))
    require(at, extent.depth);
  if (async) {
    Value zero = b.index(0);
    if (isThere) {
      row = b.select(isThere, row, zero);
      at = b.select(isThere, at, zero);
    }
    return copyAsyncIf(b, isThere, operand.buffer(), operand.placeOf(b, row, at), buffer, to,
                       width);
  }
  auto number = [&] {
    return Values{bf16 ? b.load(operand.buffer(), operand.placeOf(b, row, at))
                       : operand.number(b, row, at)};
  };
  auto zero = [&] {
    if (!bf16)
      return Values{b.scalar(0)};
    return Values{arith::ConstantOp::create(b, b.getFloatAttr(b.getBF16Type(), 0))};
  };
  b.store(isThere ? b.ifElse(isThere, number, zero)[0] : number()[0], buffer, to);
}

void ProductTileOperand::copy(Value stage, Value number, const BlockThread &thread) const {
  Value first = b.mul(number, depth);
  int64_t pieces = lines() * (length() / width), steps = llvm::divideCeil(pieces, thread.count);
  // Few steps share what they compute of places, before the loop over the depth. What many would
  // keep there needs more registers than there are: theirs is a loop of unknown length.
  constexpr int64_t few = 4;
  if (width * (bf16 ? 2 : 4) == bytesOfPiece && steps <= few && pieces % thread.count == 0) {
    for (int64_t step = 0; step < steps; ++step)
      copyPiece(stage, first, b.add(thread.thread, step * thread.count));
    return;
  }
  auto loop =
      scf::ForOp::create(b, thread.thread, hidden(b, b.index(pieces)), b.index(thread.count));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  copyPiece(stage, first, loop.getInductionVar());
}
