//===- PromptBatch.cpp - prompts and sequences as tensors -----------------===//
#include "runtime/generate/PromptBatch.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <initializer_list>

namespace transformer::runtime {
namespace {

std::vector<int64_t> integers(const std::string &name, const Tensor &tensor) {
  std::vector<int64_t> values(size_t(tensor.count()));
  if (isFloat(tensor.dtype()) ||
      convertToInt64(tensor.dtype(), tensor.data<char>(), values.data(), tensor.count()) >= 0)
    fail("{}: expected integers, found {}", name, safetensorsName(tensor.dtype()));
  return values;
}

/// The pad token, if it ends no sequence.
std::optional<int64_t> paddingOf(const GenerationConfig &config) {
  const std::vector<int64_t> &eos = config.eosTokenId;
  bool ends =
      config.padTokenId && std::find(eos.begin(), eos.end(), *config.padTokenId) != eos.end();
  return ends ? std::nullopt : config.padTokenId;
}

/// Which ids are no padding.
std::vector<int64_t> maskOf(const std::vector<int64_t> &ids, std::optional<int64_t> padding) {
  std::vector<int64_t> mask(ids.size());
  std::transform(ids.begin(), ids.end(), mask.begin(), [&](int64_t id) { return id != padding; });
  return mask;
}

/// `[batch, length]` integers, not none.
std::vector<int64_t> readIds(const std::string &name, const Tensor &tensor) {
  if (tensor.shape().size() != 2 || tensor.count() == 0)
    fail("{}: expected [batch, length], neither of them 0, found {}", name,
         shapeText(tensor.shape()));
  return integers(name, tensor);
}

/// The mask of ids `[batch, length]`, given or made.
std::vector<int64_t> readMask(const TensorMap &inputs, const std::vector<int64_t> &ids,
                              const std::vector<int64_t> &shape, std::optional<int64_t> padding) {
  auto given = inputs.find("attention_mask");
  if (given == inputs.end())
    return maskOf(ids, padding);
  if (given->second.shape() != shape)
    fail("attention_mask: expected {}, the shape of input_ids, found {}", shapeText(shape),
         shapeText(given->second.shape()));
  std::vector<int64_t> mask = integers("attention_mask", given->second);
  for (int64_t at = 0; at < int64_t(mask.size()); ++at)
    if (mask[size_t(at)] != 0 && mask[size_t(at)] != 1)
      fail("attention_mask: row {}, column {}: expected 0 or 1, found {}", at / shape[1],
           at % shape[1], mask[size_t(at)]);
  return mask;
}

/// The first of `names` must be there.
void checkNames(const TensorMap &inputs, std::initializer_list<std::string> names) {
  const std::string &first = *names.begin();
  std::string expected = first;
  for (const std::string &name : std::span(names).subspan(1))
    expected += ", " + name + " (optional)";
  for (const auto &[name, tensor] : inputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("unknown input \"{}\", expected {}", printable(name, 60), expected);
  if (!inputs.contains(first))
    fail("missing input \"{}\"", first);
}

} // namespace

PromptBatch::PromptBatch(const TensorMap &inputs, const GenerationConfig &config, bool hasSource,
                         const InputInfo *features, std::optional<int64_t> sourcePadding) {
  std::optional<int64_t> padding = sourcePadding ? sourcePadding : paddingOf(config);
  if (features) {
    checkNames(inputs, {features->name, "decoder_input_ids"});
    readFeatures(inputs.at(features->name), *features);
  } else if (hasSource) {
    checkNames(inputs, {"input_ids", "attention_mask", "decoder_input_ids"});
    readSources(inputs, padding);
  } else {
    checkNames(inputs, {"input_ids", "attention_mask"});
    readSources(inputs, padding);
  }
  if (hasSource)
    readDecoderIds(inputs, config);
}

void PromptBatch::readFeatures(const Tensor &given, const InputInfo &features) {
  const std::vector<int64_t> &shape = given.shape();
  bool fits = isFloat(given.dtype()) && shape.size() == features.shape.size() && shape[0] > 0;
  std::string expected = "batch";
  for (size_t i = 1; i < features.shape.size(); ++i) {
    fits = fits && shape[i] == features.shape[i].size;
    expected += fmt::format(", {}", features.shape[i].size);
  }
  if (!fits)
    fail("{}: expected floats [{}], batch not 0, found {} {}", features.name, expected,
         safetensorsName(given.dtype()), shapeText(shape));
  std::vector<int64_t> one = shape;
  one.front() = 1;
  rows.resize(size_t(shape[0]));
  for (size_t row = 0; row < rows.size(); ++row) {
    auto own = std::make_shared<Tensor>(given.dtype(), one);
    std::copy_n(given.data<char>() + int64_t(row) * own->bytes(), own->bytes(), own->data<char>());
    rows[row].features = std::move(own);
  }
}

void PromptBatch::readSources(const TensorMap &inputs, std::optional<int64_t> padding) {
  auto given = inputs.find("input_ids");
  const std::vector<int64_t> &shape = given->second.shape();
  ids = readIds("input_ids", given->second);
  length = shape[1];
  std::vector<int64_t> mask = readMask(inputs, ids, shape, padding);
  rows.resize(size_t(shape[0]));
  for (size_t row = 0; row < rows.size(); ++row) {
    Prompt &prompt = rows[row];
    for (int64_t column = 0; column < length; ++column)
      if (size_t at = row * size_t(length) + size_t(column); mask[at]) {
        prompt.source.push_back(ids[at]);
        prompt.sourcePositions.push_back(column); // an encoder's positions count padding
      }
    if (prompt.source.empty())
      fail("attention_mask: row {}: expected a token, found only padding", row);
    prompt.tokens = prompt.source;
  }
}

void PromptBatch::readDecoderIds(const TensorMap &inputs, const GenerationConfig &config) {
  auto batch = int64_t(rows.size());
  auto given = inputs.find("decoder_input_ids");
  if (given == inputs.end()) {
    ids.assign(rows.size(), config.decoderStart());
    length = 1;
  } else {
    ids = readIds("decoder_input_ids", given->second);
    length = given->second.shape()[1];
    if (given->second.shape()[0] != batch)
      fail("decoder_input_ids: expected {} rows, as many as the encoder's input, found {}", batch,
           given->second.shape()[0]);
    // As transformers does it: in front of all rows, unless one begins with it; not for Whisper.
    int64_t start = config.decoderStart();
    bool begun = rows.front().features != nullptr;
    for (int64_t row = 0; row < batch; ++row)
      begun |= ids[size_t(row * length)] == start;
    for (int64_t row = 0; row < batch && !begun; ++row)
      ids.insert(ids.begin() + row * (length + 1), start);
    length += begun ? 0 : 1;
  }
  for (int64_t row = 0; row < batch; ++row)
    rows[size_t(row)].tokens.assign(ids.begin() + row * length, ids.begin() + (row + 1) * length);
}

GenerationConfig PromptBatch::withNewTokens(GenerationConfig config,
                                            std::optional<int64_t> maxPositions) const {
  config.maxNewTokens = config.maxLengthFor(length, maxPositions) - length;
  config.maxLength.reset();
  int64_t least = std::max(config.minNewTokens.value_or(0), config.minLength - length);
  config.minLength = 0;
  config.minNewTokens.reset();
  if (least > 0)
    config.minNewTokens = least;
  return config;
}

Tensor PromptBatch::sequences(const std::vector<std::vector<Hypothesis>> &results,
                              int64_t fillToken) const {
  size_t count = 0, longest = 0;
  for (size_t row = 0; row < results.size(); ++row)
    for (const Hypothesis &found : results[row]) {
      ++count;
      longest = std::max(longest, found.tokens.size() - rows[row].tokens.size());
    }
  Tensor sequences(DataType::I64, {int64_t(count), length + int64_t(longest)});
  auto *to = sequences.data<int64_t>();
  for (size_t row = 0; row < results.size(); ++row)
    for (const Hypothesis &found : results[row]) {
      auto *end = to + length + longest;
      to = std::copy_n(ids.begin() + std::ptrdiff_t(row) * length, length, to);
      to = std::copy(found.tokens.begin() + std::ptrdiff_t(rows[row].tokens.size()),
                     found.tokens.end(), to);
      to = std::fill_n(to, end - to, fillToken);
    }
  return sequences;
}

} // namespace transformer::runtime
