//===- AttentionMask.cpp - which keys a query sees, and their bias --------===//
//
// What an op does not ask for leaves nothing in its nest: without a window no
// row has a first key, without other sequences for the keys no row a shift.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionNest.h"
#include "codegen/cpu/nests/Rows.h"
#include "codegen/math/VectorMath.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::transformer;

Value AttentionNest::firstKey(Place &place, Value row) {
  return b.notNegative(b.sub(position(place, row), b.index(window - 1)));
}

Value AttentionNest::endOfKeys(Place &place, Value row) {
  if (causal)
    return b.add(position(place, row), 1);
  if (window) // not below zero, so that the smaller one is right
    return b.min(b.add(position(place, row), window), place.keys);
  return place.keys;
}

Value AttentionNest::blindQueries(Place &place) {
  return b.notNegative(b.sub(b.index(causal ? 0 : 1 - window), place.shift));
}

/// Minus infinity where a row has no key: behind the sequence and, causal,
/// behind the row's own position; with a window, far from it.
Values AttentionNest::maskScores(Values scores, Place &place, Tile &tile, Value firstKey,
                                 Value keysLeft) {
  auto end = [&](Value row) { return b.sub(endOfKeys(place, row), firstKey); };
  // To the tile's first row, and from its last one.
  Value visible = seesAll() ? keysLeft : end(tile.start);
  Value needed = b.compare(arith::CmpIPredicate::slt, visible, b.index(panelColumns));
  if (window)
    needed = b.either(needed, b.lt(firstKey, this->firstKey(place, tile.row.back())));
  SmallVector<Type> types(scores.size(), b.vectorType());
  return b.ifElse(
      needed, types,
      [&] {
        Value nothing = b.splat(-std::numeric_limits<float>::infinity());
        Values masked(scores);
        for (int64_t j = 0; j < vectors; ++j) {
          Value inside = b.lanesBelow(visible, j * b.lanes());
          for (int64_t i = 0; i < tile.rows; ++i) {
            if (!seesAll())
              inside = b.lanesBelow(end(tile.row[i]), j * b.lanes());
            if (window) {
              Value first = b.sub(this->firstKey(place, tile.row[i]), firstKey);
              Value outside = b.lanesBelow(first, j * b.lanes());
              inside = arith::AndIOp::create(
                  b, inside, arith::XOrIOp::create(b, outside, b.lanesBelow(b.lanes())));
            }
            Value &s = masked[i * vectors + j];
            s = b.select(inside, s, nothing);
          }
        }
        return masked;
      },
      [&] { return scores; });
}

/// 0, 1, 2, ... and a number in every lane.
static Value steps(Emit &b) {
  SmallVector<int32_t> values(b.lanes());
  std::iota(values.begin(), values.end(), 0);
  auto type = VectorType::get({b.lanes()}, b.getI32Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(values)));
}
static Value everywhere(Emit &b, int32_t value) {
  auto type = VectorType::get({b.lanes()}, b.getI32Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
}
static Value everywhere(Emit &b, Value index) {
  Value narrow = arith::IndexCastOp::create(b, b.getI32Type(), index);
  return vector::BroadcastOp::create(b, VectorType::get({b.lanes()}, b.getI32Type()), narrow);
}
static Value clampToReach(Emit &b, Value distances, int32_t reach) {
  distances = arith::MaxSIOp::create(b, distances, everywhere(b, -reach));
  return arith::MinSIOp::create(b, distances, everywhere(b, reach));
}

Value transformer::addPositionBias(Emit &b, Value score, Value bias, Value head, Value distance) {
  constexpr double log2e = 1.4426950408889634; // scores are logarithms to the base of 2
  auto type = cast<MemRefType>(bias.getType());
  Value lanes = b.add(everywhere(b, distance), steps(b));
  if (type.getRank() == 1) { // a slope
    Value length = arith::MaxSIOp::create(b, lanes, b.sub(everywhere(b, 0), lanes));
    Value slope = b.mulf(b.load(bias, head), b.scalar(-log2e));
    return emitFma(b, arith::SIToFPOp::create(b, b.vectorType(), length), b.broadcast(slope),
                   score);
  }
  auto reach = static_cast<int32_t>(type.getDimSize(1) / 2);
  lanes = clampToReach(b, lanes, reach);
  Value values = vector::GatherOp::create(b, b.vectorType(), bias, ValueRange{head, b.index(reach)},
                                          lanes, b.lanesBelow(b.lanes()), b.splat(0));
  return emitFma(b, values, b.splat(log2e), score);
}

Values AttentionNest::addBias(Values scores, Place &place, Tile &tile, Value firstKey) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    Value distance = b.sub(firstKey, position(place, tile.row[i]));
    for (int64_t j = 0; j < vectors; ++j) {
      Value &s = scores[i * vectors + j];
      s = addPositionBias(b, s, bias, place.head, b.add(distance, j * b.lanes()));
    }
  }
  return scores;
}

/// A key behind the sequence's last one, whose score is masked, is that one again.
Values AttentionNest::addRelative(Values scores, Place &place, Tile &tile, Value firstKey) {
  auto reach = static_cast<int32_t>(cast<MemRefType>(scoreColumns.getType()).getDimSize(0) / 2);
  Value all = b.lanesBelow(b.lanes()), key = b.add(place.keyRow, firstKey);
  Value lastKey = everywhere(b, b.sub(b.sub(place.keys, b.index(1)), firstKey));
  auto gather = [&](Type element, Value buffer, ValueRange at, Value offsets) -> Value {
    auto type = VectorType::get({b.lanes()}, element);
    Value nothing = arith::ConstantOp::create(b, b.getZeroAttr(type));
    return vector::GatherOp::create(b, type, buffer, at, offsets, all, nothing);
  };
  auto headColumn = [&](Value buffer, Value head, int64_t count) {
    return b.mul(head, rowWidth(buffer) / count);
  };
  for (int64_t j = 0; j < vectors; ++j) {
    // Keys, counted from the panel's first one.
    Value lanes = b.add(everywhere(b, b.index(j * b.lanes())), steps(b));
    lanes = arith::MinSIOp::create(b, lanes, lastKey);
    for (int64_t i = 0; i < tile.rows; ++i) {
      Value distance = everywhere(b, b.sub(firstKey, position(place, tile.row[i])));
      Value column = gather(b.getI32Type(), scoreColumns, b.index(reach),
                            clampToReach(b, b.add(distance, lanes), reach));
      Value &s = scores[i * vectors + j];
      if (queryScores) {
        Value at = headColumn(queryScores, place.head, heads);
        Value row = b.add(place.queryRow, tile.row[i]);
        s = emitFma(b, gather(b.getF32Type(), queryScores, {row, at}, column), place.factor, s);
      }
      if (keyScores) {
        Value at = headColumn(keyScores, place.kvHead, kvHeads);
        auto width = static_cast<int32_t>(rowWidth(keyScores));
        Value offsets = b.add(arith::MulIOp::create(b, lanes, everywhere(b, width)), column);
        s = emitFma(b, gather(b.getF32Type(), keyScores, {key, at}, offsets), place.factor, s);
      }
    }
  }
  return scores;
}
