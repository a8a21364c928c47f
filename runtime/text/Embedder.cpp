//===- Embedder.cpp - sentence vectors ------------------------------------===//
#include "runtime/text/Embedder.h"

#include "runtime/base/Error.h"
#include "runtime/profile/Profile.h"
#include "runtime/text/TextBatches.h"

#include <algorithm>
#include <cmath>

namespace transformer::runtime {

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
  for (const Encoding &encoding : encodings)
    tokenCount += static_cast<int64_t>(encoding.ids.size());
  runInBatches(program, entry, encodings, tokenizer.padId(),
               [&](const Call &call, std::span<const size_t> rows) {
                 ProfileScope scope("pool");
                 const Tensor &hidden = call.outputs[output];
                 const float *states = hidden.data<float>();
                 for (size_t row : rows) {
                   pool(states, static_cast<int64_t>(encodings[row].ids.size()), width.size,
                        result.data<float>() + static_cast<int64_t>(row) * width.size);
                   states += hidden.shape()[1] * width.size;
                 }
               });
  return result;
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
