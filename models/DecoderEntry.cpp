//===- DecoderEntry.cpp - the entry points of decoder models --------------===//
#include "models/DecoderEntry.h"

using namespace mlir;
using namespace mlir::transformer;

/// Positions of a page: a multiple of what any target's tiles take at a time.
/// Attention rescales its sums once a page; a sequence's last page is half empty.
static constexpr int64_t pagePositions = 64;

static Value readPages(Body &body, Value q, Value cache, Value sequences, Value table,
                       Value lengths, const AttentionOptions &options, double scale) {
  auto heads = static_cast<uint64_t>(options.heads);
  auto kvHeads = options.kvHeads ? static_cast<uint64_t>(options.kvHeads) : heads;
  auto which = AttentionOptionsAttr::get(body.builder.getContext(), options.causal, options.window);
  return PagedAttentionOp::create(body.builder, body.named("attention"), q.getType(), q, cache,
                                  sequences, table, lengths, options.scaleFactor,
                                  options.positionBias, heads, kvHeads, APFloat(scale), which);
}

static Value appendPages(Body &body, Value k, Value v, Value cache, Value sequences, Value table,
                         Value lengths, int64_t heads) {
  return AppendPagesOp::create(body.builder, body.named("cache"), cache.getType(), k, v, cache,
                               sequences, table, lengths, static_cast<uint64_t>(heads));
}

Value LayerCache::attend(Body &body, ArrayRef<Value> qkv, Value sequences,
                         const AttentionOptions &options, double scale) {
  if (!cache)
    return body.attention(qkv, sequences, options, scale);
  cache = appendPages(body, qkv[1], qkv[2], cache, sequences, table, lengths,
                      options.kvHeads ? options.kvHeads : options.heads);
  return readPages(body, qkv[0], cache, sequences, table, lengths, options, scale);
}

Value LayerCache::attendSource(Body &body, Value q, Value sequences,
                               const AttentionOptions &options, double scale) const {
  return readPages(body, q, cache, sequences, sourceTable, sourceLengths, options, scale);
}

static std::string nameOf(size_t layer) { return "cache." + std::to_string(layer); }

/// Which pages hold the positions of sequences, and how many they have (`positions`; 0: any
/// number).
static std::pair<Value, Value> readTable(ModelBuilder &model, const char *table,
                                         const char *lengths, const char *size,
                                         int64_t positions = 0) {
  Input pages, keys;
  pages.name = table;
  pages.dims = {"batch", size};
  pages.below = "pages";
  keys.name = lengths;
  keys.dims = {"batch"};
  if (positions) {
    keys.low = positions;
    keys.high = positions + 1;
  }
  Value pagesOf = model.input(pages);
  return {pagesOf, model.input(keys)};
}

DecoderEntry::DecoderEntry(Import &import, bool step, int64_t layers, int64_t width, bool hasSource,
                           int64_t positions)
    : import(import), model(import.model), step(step) {
  if (!step)
    return;
  cacheType = RankedTensorType::get({ShapedType::kDynamic, 2 * pagePositions, width},
                                    Float32Type::get(model.getContext()));
  std::tie(table, lengths) =
      readTable(model, "page_table", "key_lengths", "pages_of_sequence", positions);
  if (hasSource)
    std::tie(sourceTable, sourceLengths) =
        readTable(model, "source_page_table", "source_lengths", "pages_of_source");
  for (int64_t i = 0; i < layers; ++i)
    caches.push_back(model.state(nameOf(i), cacheType, "pages"));
}

SmallVector<ModelBuilder::Argument> DecoderEntry::cacheArguments() const {
  SmallVector<ModelBuilder::Argument> arguments = {{"page_table", table.getType()},
                                                   {"key_lengths", lengths.getType()}};
  if (sourceTable)
    arguments.append({{"source_page_table", sourceTable.getType()},
                      {"source_lengths", sourceLengths.getType()}});
  arguments.push_back({"cache", cacheType, /*isState=*/true});
  return arguments;
}

SmallVector<Value> DecoderEntry::cacheOperands(int64_t layer) const {
  if (sourceTable)
    return {table, lengths, sourceTable, sourceLengths, caches[layer]};
  return {table, lengths, caches[layer]};
}

Layer DecoderEntry::layer(const std::string &name, ArrayRef<ModelBuilder::Argument> arguments,
                          InitScheme init,
                          llvm::function_ref<Value(Body &, ValueRange, LayerCache &)> write) {
  SmallVector<ModelBuilder::Argument> all(arguments);
  if (step)
    llvm::append_range(all, cacheArguments());
  return model.statefulLayer(step ? "step_" + name : name, all, init,
                             [&](Body &body, ValueRange own) {
                               LayerCache cache;
                               if (step) {
                                 ValueRange behind = own.drop_front(arguments.size());
                                 cache = {behind.back(), behind[0], behind[1]};
                                 if (sourceTable) {
                                   cache.sourceTable = behind[2];
                                   cache.sourceLengths = behind[3];
                                 }
                               }
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
    llvm::append_range(all, cacheOperands(i));
  ValueRange results = model.callAll(layer, scope, all);
  if (step)
    caches[i] = results[1];
  return results[0];
}

Value DecoderEntry::callInTurn(const Layer &layer, int64_t count, StringRef scope, Value x,
                               ArrayRef<Value> others) {
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> arguments = {x};
    llvm::append_range(arguments, others);
    x = call(layer, i, (scope + "." + Twine(i)).str(), arguments);
  }
  return x;
}

void DecoderEntry::encode(StringRef scope, Value memory, Value sequences, int64_t heads,
                          InitScheme init,
                          llvm::function_ref<std::pair<Value, Value>(Body &, Value)> project) {
  SmallVector<ModelBuilder::Argument> arguments = {{"memory", memory.getType()},
                                                   {"sequences", sequences.getType()}};
  llvm::append_range(arguments, cacheArguments());
  Layer layer =
      model.statefulLayer("encode_decoder_layer", arguments, init, [&](Body &body, ValueRange own) {
        auto [k, v] = project(body, own[0]);
        return SmallVector<Value>{appendPages(body, k, v, own[4], own[1], own[2], own[3], heads)};
      });
  for (size_t i = 0; i < caches.size(); ++i) {
    SmallVector<Value> operands = {memory, sequences};
    llvm::append_range(operands, cacheOperands(i));
    caches[i] = model.call(layer, (scope + "." + Twine(i)).str(), operands, "cache");
  }
  outputCaches();
}

void DecoderEntry::outputCaches() {
  for (auto [i, cache] : llvm::enumerate(caches))
    model.outputState(nameOf(i), cache);
}

void DecoderEntry::output(const DecoderOutput &output, Value hidden, Value sequences) {
  outputCaches();
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
