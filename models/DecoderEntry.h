//===- DecoderEntry.h - the entry points of decoder models ------*- C++ -*-===//
//
// A decoder has `forward` and, with a language modelling head, `step`: new
// tokens of sequences whose earlier ones have left their keys and values in a
// cache, any number for each, give the logits of the token that follows each
// sequence's last one. A family writes both at once.
//
// An encoder-decoder's layers attend to a source, too. The entry point `encode`
// leaves the source's keys and values in pages of the same cache; `step` is told
// which, and every step reads them there.
//
//===----------------------------------------------------------------------===//
#ifndef MODELS_DECODERENTRY_H
#define MODELS_DECODERENTRY_H

#include "models/DecoderOutput.h"
#include <optional>

namespace mlir::transformer {

/// The keys and values of one layer, as its function sees them; in `forward` all
/// is null.
struct LayerCache {
  Value cache, table, lengths;
  Value sourceTable = {}, sourceLengths = {}; // of an encoder-decoder

  explicit operator bool() const { return bool(cache); }

  /// Attention of projected rows (query, key, value) to all there are of their
  /// sequence: the rows themselves, or what the cache holds once they are in it.
  Value attend(Body &body, ArrayRef<Value> qkv, Value sequences, const AttentionOptions &options,
               double scale);
  /// Attention of projected queries to their source, which the cache holds.
  Value attendSource(Body &body, Value q, Value sequences, const AttentionOptions &options,
                     double scale) const;
};

/// One of a decoder's entry points while it is built.
class DecoderEntry {
public:
  /// Keys and values of a layer have `width` columns each. In `step` the inputs
  /// `page_table` and `key_lengths` and the states `cache.0`, `cache.1`, ... are
  /// added to those that there are; with a source `source_page_table` and
  /// `source_lengths`, too. `positions`: how many keys every sequence has; 0: any number.
  DecoderEntry(Import &import, bool step, int64_t layers, int64_t width, bool hasSource = false,
               int64_t positions = 0);

  /// A function for all layers of one kind.
  Layer layer(const std::string &name, ArrayRef<ModelBuilder::Argument> arguments, InitScheme init,
              llvm::function_ref<Value(Body &, ValueRange own, LayerCache &)> write);
  /// Layer `i` with the parameters behind `scope`.
  Value call(const Layer &layer, int64_t i, StringRef scope, ArrayRef<Value> arguments);
  /// x through `count` layers of one kind, with parameters behind `scope`, a point and their
  /// number; `others` are what they take besides.
  Value callInTurn(const Layer &layer, int64_t count, StringRef scope, Value x,
                   ArrayRef<Value> others);
  void output(const DecoderOutput &output, Value hidden, Value sequences);

  /// All there is to the end of `encode`: keys and values, which `project` makes of
  /// an encoder's result, for each of the decoder's layers, whose parameters are
  /// behind `scope`, a point and their number.
  void encode(StringRef scope, Value memory, Value sequences, int64_t heads, InitScheme init,
              llvm::function_ref<std::pair<Value, Value>(Body &, Value memory)> project);
  /// The states' new values; `output` calls it, too.
  void outputCaches();

private:
  /// What the functions of layers take behind arguments of their own; the cache is the last.
  SmallVector<ModelBuilder::Argument> cacheArguments() const;
  SmallVector<Value> cacheOperands(int64_t layer) const;

  Import &import;
  ModelBuilder &model;
  RankedTensorType cacheType;
  bool step;
  Value table, lengths, sourceTable, sourceLengths;
  SmallVector<Value> caches;
};

/// Calls `build` for `forward` and, where there is a head, for `step`.
void buildDecoderEntries(Import &import, llvm::function_ref<void(bool step)> build);

} // namespace mlir::transformer

#endif // MODELS_DECODERENTRY_H
