//===- ProductTiles.h - a product's operands in shared memory ---*- C++ -*-===//
#ifndef CODEGEN_GPU_NESTS_PRODUCTTILES_H
#define CODEGEN_GPU_NESTS_PRODUCTTILES_H

#include "codegen/gpu/nests/ProductOperands.h"

namespace mlir::transformer::simt {

/// A block's threads, and this one.
struct BlockThread {
  Value thread;
  int64_t count;
};

/// How a tile's lines lie in shared memory: with space between them; their pieces of 16 bytes in an
/// order that `ldmatrix` reads from all banks; with space so that lanes read the numbers of an
/// `mma.sync` of TF32 from different banks; or in that order in blocks of lines of at most 128
/// bytes, one block after the other, as `wgmma` reads them.
enum class TileLayout { Spaced, Mixed, Lanes, Blocks };

/// `rows` rows of an operand, `depth` of their numbers at once: as they lie in memory, along the
/// depth or along the rows, f32, bf16 or f16. What is outside of the operand is zero.
class ProductTileOperand {
public:
  ProductTileOperand(Loops &b, const ProductOperand &operand, const ProductTile &tile, int64_t rows,
                     TileLayout layout);

  /// What a block has of it, and how much there is.
  struct Extent {
    Value firstRow, rows, depth;
  };
  /// Of shared memory, a multiple of 16.
  int64_t bytes() const;
  /// Takes them, from the byte `first` of `memory` on.
  void place(Value memory, int64_t first, const Extent &extent);
  /// Begins to fill a stage with the `number`-th part of the depth.
  void copy(Value stage, Value number, const BlockThread &thread) const;
  /// What tells of the boxes of an operand that has some, and the copy of those of a stage from
  /// (row, depth) on by one thread, all of them or half of the rows; mbarriers count
  /// `bytesOfStage`, or half of that. Needs no extent.
  Value boxes() const;
  void copyBoxes(Value map, Value stage, Value row, Value depth, Value barrier) const;
  void copyHalf(Value map, Value half, Value stage, Value row, Value depth, Value barrier,
                bool isMulticast) const;
  /// Whether what is copied are bytes that numbers are made of, by all threads, when they are
  /// there.
  bool isPacked() const { return packed; }
  void unpack(Value stage, Value number, const BlockThread &thread) const;

  bool isAlongDepth() const { return alongDepth; }
  /// Of a line that holds the number at (row, depth), and of the number in it.
  Value memory() const { return buffer; }
  Values placeOf(Value stage, Value row, Value depth) const;
  /// In memory; of numbers that are not packed.
  int64_t lines() const { return alongDepth ? rows : depth; }
  int64_t bytesOfLine() const { return lengthInMemory() * bytesOfNumber(); }
  int64_t bytesOfStage() const { return lines() * blocks() * bytesOfLine(); }

  const int64_t rows, depth;
  const FloatType type; // of a number there

private:
  int64_t length() const { return alongDepth ? depth : rows; }
  int64_t bytesOfNumber() const { return type.getIntOrFloatBitWidth() / 8; }
  int64_t blocks() const;
  int64_t lengthInMemory() const;
  Value inLine(Value line, Value i) const;
  /// Of bytes of numbers, in lines as those.
  int64_t linesOfBytes() const { return alongDepth ? rows : depth / operand.numbersOfByte(); }
  int64_t lengthOfBytes() const { return alongDepth ? depth / operand.numbersOfByte() : rows; }
  int64_t bytesOfStages() const { return stages * linesOfBytes() * lengthOfBytes(); }
  std::pair<Value, Value> placeOfByte(Value line, Value i) const;
  /// Null: all of them are.
  Value isThere(Value row, Value depth) const;
  void copyPiece(Value stage, Value first, Value piece) const;
  void copyBytes(Value stage, Value first, Value piece) const;

  Loops &b;
  const ProductOperand &operand;
  int64_t stages;
  bool copiesAlone; // whoever copies does nothing else
  bool alongDepth, packed, async;
  TileLayout layout;
  int64_t width;             // numbers of a piece, or bytes
  Value buffer, packedBytes; // the latter's stages are made numbers in the only one of the former
  Extent extent;
};

} // namespace mlir::transformer::simt

#endif // CODEGEN_GPU_NESTS_PRODUCTTILES_H
