//===- AttentionMask.cpp - which keys a query sees, and their bias --------===//
//
// What an op does not ask for leaves nothing in its nest: without a window no
// row has a first key, without other sequences for the keys no row a shift.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/AttentionNest.h"
#include <limits>

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

Values AttentionNest::addRelative(Values scores, Place &place, Tile &tile, Value firstKey) {
  Value key = b.add(place.keyRow, firstKey);
  Value lastKey = b.sub(b.sub(place.keys, b.index(1)), firstKey);
  for (int64_t j = 0; j < vectors; ++j)
    for (int64_t i = 0; i < tile.rows; ++i) {
      Value first = b.index(j * b.lanes()),
            distance = b.sub(firstKey, position(place, tile.row[i]));
      ScoresAt at = {b.add(place.queryRow, tile.row[i]),
                     place.head,
                     place.kvHead,
                     b.add(key, first),
                     b.sub(lastKey, first),
                     b.add(distance, first)};
      Value &s = scores[i * vectors + j];
      s = addRelativeScores(b, s, relative, at, place.factor);
    }
  return scores;
}
