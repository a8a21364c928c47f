//===- TextData.cpp - data that is a file of text -------------------------===//
#include "runtime/train/TextData.h"

#include "runtime/base/Error.h"

#include <limits>

namespace transformer::runtime {
namespace {

constexpr int64_t usualIgnored = -100; // PyTorch's

/// A batch full of a value: [rows, the longest one's length].
Tensor gridOf(const TokenRows &tokens, const std::vector<uint32_t> &rows, int64_t fill) {
  size_t width = 0;
  for (uint32_t row : rows)
    width = std::max(width, tokens[row].size());
  Tensor result(DataType::I64, {int64_t(rows.size()), int64_t(width)});
  std::fill_n(result.data<int64_t>(), result.count(), fill);
  return result;
}

/// A row of a grid.
int64_t *rowOf(Tensor &grid, size_t row) {
  return grid.data<int64_t>() + int64_t(row) * grid.shape()[1];
}

/// Rows of a batch beside each other.
Tensor padded(const TokenRows &tokens, const std::vector<uint32_t> &rows, int64_t fill) {
  Tensor result = gridOf(tokens, rows, fill);
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy(tokens[rows[i]].begin(), tokens[rows[i]].end(), rowOf(result, i));
  return result;
}

/// 1 where `padded` has a token.
Tensor maskOf(const TokenRows &tokens, const std::vector<uint32_t> &rows) {
  Tensor result = gridOf(tokens, rows, 0);
  for (size_t i = 0; i < rows.size(); ++i)
    std::fill_n(rowOf(result, i), tokens[rows[i]].size(), 1);
  return result;
}

} // namespace

TextData::TextData(const std::string &path, TextObjective objective,
                   const std::vector<const InputInfo *> &inputs, const TextModel &model,
                   const TextOptions &options, const LoadProgress &progress)
    : objective(objective), wanted(inputs), pad(model.tokenizer.padId()) {
  ExampleMaker maker(model, objective, inputs, options.maxLength, options.blockSize.has_value());
  for (const InputInfo *input : inputs) {
    if (input->name == "labels")
      labels = input;
    hasTypes |= input->name == "token_type_ids";
    if (input->name != "input_ids")
      continue;
    if (options.blockSize && input->maxLength && *options.blockSize > *input->maxLength)
      fail("--block-size {}: this model takes at most {} tokens", *options.blockSize,
           *input->maxLength);
    if (objective == TextObjective::MaskedToken)
      masked.emplace(model.tokenizer, input->range ? input->range->high : 0,
                     options.maskProbability, options.batching.seed);
  }
  ignored = labels->ignored.value_or(usualIgnored);
  decoderStart = maker.decoderStart();
  examples = readExamples(path, [&](std::string_view line) { return maker.make(line); }, progress);
  if (options.blockSize) {
    examples.ids.cut(size_t(*options.blockSize));
    examples.types.cut(size_t(*options.blockSize));
  }
  size_t count = examples.ids.count();
  if (count == 0 || count > std::numeric_limits<uint32_t>::max())
    fail("{}: expected lines of text, found {}", path, count == 0 ? "none" : "too many");
  std::vector<uint32_t> lengths(count);
  for (size_t row = 0; row < count; ++row) {
    lengths[row] = uint32_t(examples.ids[row].size());
    if (objective == TextObjective::TargetToken)
      lengths[row] += uint32_t(examples.targets[row].size());
  }
  plan.emplace(std::move(lengths), options.batching);
  text = formatted("{}: {} rows, {} tokens, {} steps", path, count,
                   examples.ids.tokens() + examples.targets.tokens(), plan->steps());
  if (examples.numCut > 0)
    text += formatted("; {} rows were too long and have been cut{}", examples.numCut,
                      maker.maxLength() ? formatted(" to {} tokens", *maker.maxLength()) : "");
}

void TextData::addTokens(TensorMap &all, const std::vector<uint32_t> &rows, int64_t epoch) const {
  Tensor ids = padded(examples.ids, rows, pad);
  if (objective == TextObjective::NextToken)
    all["labels"] = padded(examples.ids, rows, ignored);
  if (objective == TextObjective::MaskedToken) {
    Tensor chosen = gridOf(examples.ids, rows, ignored);
    for (size_t i = 0; i < rows.size(); ++i) {
      size_t length = examples.ids[rows[i]].size();
      masked->apply({rowOf(ids, i), length}, {rowOf(chosen, i), length}, epoch, rows[i]);
    }
    all["labels"] = std::move(chosen);
  }
  all["input_ids"] = std::move(ids);
  all["attention_mask"] = maskOf(examples.ids, rows);
  if (hasTypes)
    all["token_type_ids"] = padded(examples.types, rows, 0);
}

void TextData::addTargets(TensorMap &all, const std::vector<uint32_t> &rows) const {
  all["labels"] = padded(examples.targets, rows, ignored);
  all["decoder_attention_mask"] = maskOf(examples.targets, rows);
  Tensor ids = padded(examples.targets, rows, pad);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::span<const int32_t> target = examples.targets[rows[i]];
    *rowOf(ids, i) = decoderStart;
    std::copy(target.begin(), target.end() - 1, rowOf(ids, i) + 1);
  }
  all["decoder_input_ids"] = std::move(ids);
}

/// [rows], or [rows, 1] where the program takes that.
Tensor TextData::labelsOf(const std::vector<uint32_t> &rows) const {
  std::vector<int64_t> shape(std::max<size_t>(1, labels->shape.size()), 1);
  shape[0] = int64_t(rows.size());
  bool isNumber = objective == TextObjective::Regression;
  Tensor result(isNumber ? DataType::F32 : DataType::I64, shape);
  for (size_t i = 0; i < rows.size(); ++i) {
    double label = examples.labels[rows[i]];
    if (isNumber)
      result.data<float>()[i] = float(label);
    else
      result.data<int64_t>()[i] = int64_t(label);
  }
  return result;
}

TensorMap TextData::inputs(int64_t index) const {
  const std::vector<uint32_t> &rows = plan->rows(index);
  TensorMap all, result;
  addTokens(all, rows, plan->epochOf(index));
  if (objective == TextObjective::TargetToken)
    addTargets(all, rows);
  if (!labelsTokens(objective))
    all["labels"] = labelsOf(rows);
  for (const InputInfo *input : wanted)
    if (auto found = all.find(input->name); found != all.end())
      result.insert(all.extract(found));
  return result;
}

} // namespace transformer::runtime
