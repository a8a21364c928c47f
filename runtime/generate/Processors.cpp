//===- Processors.cpp - changes to scores by what came before -------------===//
#include "runtime/generate/Processors.h"

#include "runtime/base/Error.h"

#include <cmath>
#include <map>

namespace transformer::runtime {
namespace {

bool isIn(int64_t token, std::span<const float> scores) {
  return token >= 0 && token < int64_t(scores.size());
}

/// Whether `tokens` end with all of `prefix`.
bool endsWith(Tokens tokens, Tokens prefix) {
  return tokens.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), tokens.end() - std::ptrdiff_t(prefix.size()));
}

} // namespace

void setScores(std::span<float> scores, Tokens tokens, float score) {
  for (int64_t token : tokens)
    if (isIn(token, scores))
      scores[size_t(token)] = score;
}

void forceTokens(std::span<float> scores, Tokens tokens) {
  std::fill(scores.begin(), scores.end(), minusInfinity);
  setScores(scores, tokens, 0);
}

void penalise(std::span<float> scores, Tokens tokens, float penalty,
              std::vector<float> &originals) {
  // All are read before any is written: a token may come more than once.
  originals.clear();
  for (int64_t token : tokens)
    originals.push_back(isIn(token, scores) ? scores[size_t(token)] : 0);
  for (size_t i = 0; i < tokens.size(); ++i)
    if (isIn(tokens[i], scores))
      scores[size_t(tokens[i])] =
          originals[i] < 0 ? originals[i] * penalty : originals[i] / penalty;
}

void banNgrams(std::span<float> scores, Tokens tokens, Tokens text, int64_t size) {
  auto prefixLength = size_t(size - 1);
  if (tokens.size() < prefixLength || text.size() <= prefixLength)
    return;
  Tokens prefix = tokens.last(prefixLength);
  for (size_t i = 0; i + prefixLength < text.size(); ++i)
    if (std::equal(prefix.begin(), prefix.end(), text.begin() + std::ptrdiff_t(i)) &&
        isIn(text[i + prefixLength], scores))
      scores[size_t(text[i + prefixLength])] = minusInfinity;
}

void raiseEos(std::span<float> scores, Tokens eos, double factor, int64_t beyond) {
  auto share = float(std::pow(factor, double(beyond)) - 1);
  for (size_t i = 0; i < eos.size(); ++i) {
    bool again = std::find(eos.begin(), eos.begin() + std::ptrdiff_t(i), eos[i]) !=
                 eos.begin() + std::ptrdiff_t(i);
    if (again || !isIn(eos[i], scores))
      continue;
    float &score = scores[size_t(eos[i])];
    if (std::isfinite(score))
      score += std::abs(score) * share;
  }
}

void removeInvalid(std::span<float> scores) {
  constexpr float most = std::numeric_limits<float>::max();
  for (float &score : scores)
    score = std::isnan(score) ? 0 : std::clamp(score, -most, most);
}

SequenceBiases::SequenceBiases(const char *field, std::vector<SequenceBias> all,
                               int64_t vocabulary) {
  // Those of one token first, then groups of a length in the order in which lengths come up.
  std::map<size_t, size_t> places{{1, 0}};
  for (SequenceBias &bias : all) {
    for (int64_t token : bias.tokens)
      if (token < 0 || token >= vocabulary)
        fail("{}: expected tokens from 0 to {}, found {}", field, vocabulary - 1, token);
    if (bias.tokens.empty())
      continue;
    places.emplace(bias.tokens.size(), places.size());
    biases.push_back(std::move(bias));
  }
  std::stable_sort(biases.begin(), biases.end(), [&](const SequenceBias &a, const SequenceBias &b) {
    return places[a.tokens.size()] < places[b.tokens.size()];
  });
  sums.resize(size_t(vocabulary));
}

void SequenceBiases::apply(std::span<float> scores, Tokens tokens) {
  auto each = [&](auto visit) {
    for (const SequenceBias &bias : biases)
      if (endsWith(tokens, Tokens(bias.tokens).first(bias.tokens.size() - 1)))
        visit(size_t(bias.tokens.back()), bias.bias);
  };
  each([&](size_t token, float bias) { sums[token] += bias; });
  each([&](size_t token, float) {
    scores[token] += sums[token];
    sums[token] = 0;
  });
}

} // namespace transformer::runtime
