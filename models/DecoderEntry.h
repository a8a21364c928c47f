//===- DecoderEntry.h - the entry points of decoder models ------*- C++ -*-===//
//
// A decoder has `forward` and, with a language modelling head, `step`: new
// tokens of sequences whose earlier ones have left their keys and values in a
// cache, any number for each, give the logits of the token that follows each
// sequence's last one. A family writes both at once.
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

  /// Attention of projected rows (query, key, value) to all there are of their
  /// sequence: the rows themselves, or what the cache holds once they are in it.
  Value attend(Body &body, ArrayRef<Value> qkv, Value sequences, const AttentionOptions &options,
               double scale);
};

/// One of a decoder's entry points while it is built.
class DecoderEntry {
public:
  /// Keys and values of a layer have `width` columns each. In `step` the inputs
  /// `page_table` and `key_lengths` and the states `cache.0`, `cache.1`, ... are
  /// added to those that there are.
  DecoderEntry(Import &import, bool step, int64_t layers, int64_t width);

  /// A function for all layers of one kind.
  Layer layer(const std::string &name, ArrayRef<ModelBuilder::Argument> arguments, InitScheme init,
              llvm::function_ref<Value(Body &, ValueRange own, LayerCache &)> write);
  /// Layer `i` with the parameters behind `scope`.
  Value call(const Layer &layer, int64_t i, llvm::StringRef scope, ArrayRef<Value> arguments);
  void output(const DecoderOutput &output, Value hidden, Value sequences);

private:
  Import &import;
  ModelBuilder &model;
  RankedTensorType cacheType;
  bool step;
  Value table, lengths;
  SmallVector<Value> caches;
};

/// Calls `build` for `forward` and, where there is a head, for `step`.
void buildDecoderEntries(Import &import, llvm::function_ref<void(bool step)> build);

} // namespace mlir::transformer

#endif // MODELS_DECODERENTRY_H
