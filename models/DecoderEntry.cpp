//===- DecoderEntry.cpp - the entry points of decoder models --------------===//
#include "models/DecoderEntry.h"

using namespace mlir;
using namespace mlir::transformer;

/// Positions of a page: a multiple of what any target's tiles take at a time.
/// Attention rescales its sums once a page; a sequence's last page is half empty.
static constexpr int64_t pagePositions = 64;

Value LayerCache::attend(Body &body, ArrayRef<Value> qkv, Value sequences,
                         const AttentionOptions &options, double scale) {
  if (!cache)
    return body.attention(qkv, sequences, options, scale);
  OpBuilder &b = body.builder;
  auto heads = static_cast<uint64_t>(options.heads);
  auto kvHeads = options.kvHeads ? static_cast<uint64_t>(options.kvHeads) : heads;
  cache = AppendPagesOp::create(b, body.named("cache"), cache.getType(), qkv[1], qkv[2], cache,
                                sequences, table, lengths, kvHeads);
  auto which = AttentionOptionsAttr::get(b.getContext(), options.causal, options.window);
  return PagedAttentionOp::create(b, body.named("attention"), qkv[0].getType(), qkv[0], cache,
                                  sequences, table, lengths, options.scaleFactor,
                                  options.positionBias, heads, kvHeads, APFloat(scale), which);
}

static std::string nameOf(size_t layer) { return "cache." + std::to_string(layer); }

DecoderEntry::DecoderEntry(Import &import, bool step, int64_t layers, int64_t width)
    : import(import), model(import.model), step(step) {
  if (!step)
    return;
  cacheType = RankedTensorType::get({ShapedType::kDynamic, 2 * pagePositions, width},
                                    Float32Type::get(model.getContext()));
  Input pages, keys;
  pages.name = "page_table";
  pages.dims = {"batch", "pages_of_sequence"};
  pages.below = "pages";
  table = model.input(pages);
  keys.name = "key_lengths";
  keys.dims = {"batch"};
  lengths = model.input(keys);
  for (int64_t i = 0; i < layers; ++i)
    caches.push_back(model.state(nameOf(i), cacheType, "pages"));
}

Layer DecoderEntry::layer(const std::string &name, ArrayRef<ModelBuilder::Argument> arguments,
                          InitScheme init,
                          llvm::function_ref<Value(Body &, ValueRange, LayerCache &)> write) {
  SmallVector<ModelBuilder::Argument> all(arguments);
  if (step)
    all.append({{"page_table", table.getType()},
                {"key_lengths", lengths.getType()},
                {"cache", cacheType, /*isState=*/true}});
  return model.statefulLayer(
      step ? "step_" + name : name, all, init, [&](Body &body, ValueRange own) {
        ValueRange last = own.take_back(3);
        LayerCache cache = step ? LayerCache{last[2], last[0], last[1]} : LayerCache();
        SmallVector<Value> results = {write(body, own, cache)};
        if (step)
          results.push_back(cache.cache);
        return results;
      });
}

Value DecoderEntry::call(const Layer &layer, int64_t i, StringRef scope,
                         ArrayRef<Value> arguments) {
  SmallVector<Value> all(arguments);
  if (step)
    all.append({table, lengths, caches[i]});
  ValueRange results = model.callAll(layer, scope, all);
  if (step)
    caches[i] = results[1];
  return results[0];
}

void DecoderEntry::output(const DecoderOutput &output, Value hidden, Value sequences) {
  for (auto [i, cache] : llvm::enumerate(caches))
    model.outputState(nameOf(i), cache);
  if (step)
    output.buildLast(import, hidden, sequences);
  else
    output.build(import, hidden, sequences);
}

void transformer::buildDecoderEntries(Import &import, llvm::function_ref<void(bool)> build) {
  build(false);
  if (import.head == "Model")
    return;
  import.model.beginEntry("step");
  build(true);
}
