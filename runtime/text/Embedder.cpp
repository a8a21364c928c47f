//===- Embedder.cpp - sentence vectors ------------------------------------===//
#include "runtime/text/Embedder.h"

#include "runtime/base/Error.h"
#include "runtime/profile/Profile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace transformer::runtime {
namespace {

constexpr size_t batchSize = 32;

} // namespace

Embedder::Embedder(Program &program, const Tokenizer &tokenizer)
    : program(program), tokenizer(tokenizer), entry(program.module().entry("forward")) {
  const Description &description = program.module().description();
  if (description.embedding)
    info = *description.embedding;
  const InputInfo *ids = entry.findInput("input_ids");
  size_t index = 0;
  while (index < entry.outputs.size() && entry.outputs[index].name != "last_hidden_state")
    ++index;
  if (!ids || index == entry.outputs.size() || entry.outputs[index].shape.size() != 3 ||
      entry.outputs[index].dtype != DataType::F32)
    fail("{}: embed needs an encoder with input_ids and last_hidden_state [batch, sequence, width]",
         program.module().path());
  output = index;
  if (!info.maxLength)
    info.maxLength = tokenizer.maxLength();
  if (ids->maxLength)
    info.maxLength = std::min(info.maxLength.value_or(*ids->maxLength), *ids->maxLength);
}

std::vector<Encoding> Embedder::encode(const std::vector<std::string> &texts) const {
  ProfileScope scope("tokenize");
  std::vector<Encoding> encodings;
  for (const std::string &text : texts) {
    encodings.push_back(tokenizer.encode(text, info.maxLength));
    if (encodings.back().ids.empty())
      fail("text {} has no tokens: \"{}\"", encodings.size(), printable(text, 40));
  }
  return encodings;
}

Tensor Embedder::embed(const std::vector<std::string> &texts) {
  std::vector<Encoding> encodings = encode(texts);
  const Dimension &width = entry.outputs[output].shape[2];
  if (!width.name.empty())
    fail("{}: the width of last_hidden_state is not static", program.module().path());
  Tensor result(DataType::F32, {static_cast<int64_t>(texts.size()), width.size});
  // Texts of similar length go together; the longest first, so that the arena grows once.
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return encodings[a].ids.size() > encodings[b].ids.size();
  });
  for (size_t start = 0; start < order.size(); start += batchSize)
    embedBatch(encodings, &order[start], std::min(batchSize, order.size() - start), result);
  return result;
}

void Embedder::embedBatch(const std::vector<Encoding> &encodings, const size_t *order, size_t count,
                          Tensor &result) {
  auto rows = static_cast<int64_t>(count);
  auto columns = static_cast<int64_t>(encodings[order[0]].ids.size());
  Tensor ids(DataType::I64, {rows, columns}), mask(DataType::I64, {rows, columns}),
      types(DataType::I64, {rows, columns});
  for (int64_t row = 0; row < rows; ++row) {
    const Encoding &encoding = encodings[order[row]];
    tokenCount += static_cast<int64_t>(encoding.ids.size());
    for (int64_t column = 0; column < columns; ++column) {
      int64_t at = row * columns + column;
      auto from = static_cast<size_t>(column);
      bool real = from < encoding.ids.size();
      ids.data<int64_t>()[at] = real ? encoding.ids[from] : tokenizer.padId();
      types.data<int64_t>()[at] = real ? encoding.types[from] : 0;
      mask.data<int64_t>()[at] = real;
    }
  }
  TensorMap inputs;
  inputs["input_ids"] = std::move(ids);
  if (entry.findInput("attention_mask"))
    inputs["attention_mask"] = std::move(mask);
  if (entry.findInput("token_type_ids"))
    inputs["token_type_ids"] = std::move(types);
  Call call = program.prepare(entry.name, std::move(inputs));
  program.execute(call);
  ProfileScope scope("pool");
  const Tensor &hidden = call.outputs[output];
  int64_t width = hidden.shape()[2];
  for (int64_t row = 0; row < rows; ++row)
    pool(hidden.data<float>() + row * columns * width,
         static_cast<int64_t>(encodings[order[row]].ids.size()), width,
         result.data<float>() + static_cast<int64_t>(order[row]) * width);
}

/// One vector from the [length, width] hidden states of a text's tokens.
void Embedder::pool(const float *hidden, int64_t length, int64_t width, float *result) const {
  std::vector<double> sums(hidden, hidden + width);
  if (info.pooling != EmbeddingInfo::Cls)
    for (int64_t token = 1; token < length; ++token)
      for (int64_t i = 0; i < width; ++i) {
        double value = hidden[token * width + i];
        double &sum = sums[static_cast<size_t>(i)];
        sum = info.pooling == EmbeddingInfo::Mean ? sum + value : std::max(sum, value);
      }
  double scale = info.pooling == EmbeddingInfo::Mean ? 1.0 / static_cast<double>(length) : 1.0;
  if (info.normalize) {
    double squares = 0;
    for (double sum : sums)
      squares += sum * sum * scale * scale;
    scale /= std::max(std::sqrt(squares), 1e-12);
  }
  for (int64_t i = 0; i < width; ++i)
    result[i] = static_cast<float>(sums[static_cast<size_t>(i)] * scale);
}

std::vector<Match> rank(const Tensor &vectors, const float *query, size_t count) {
  int64_t width = vectors.shape()[1];
  auto dot = [width](const float *a, const float *b) {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += double(a[i]) * double(b[i]);
    return sum;
  };
  std::vector<Match> matches;
  double length = std::sqrt(dot(query, query));
  for (int64_t row = 0; row < vectors.shape()[0]; ++row) {
    const float *vector = vectors.data<float>() + row * width;
    double norms = std::max(std::sqrt(dot(vector, vector)) * length, 1e-30);
    matches.push_back({static_cast<size_t>(row), static_cast<float>(dot(vector, query) / norms)});
  }
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match &a, const Match &b) { return a.score > b.score; });
  matches.resize(std::min(count, matches.size()));
  return matches;
}

} // namespace transformer::runtime
