//===- BeamSearch.cpp - several continuations at a time -------------------===//
#include "runtime/generate/BeamSearch.h"

#include "runtime/base/Error.h"
#include "runtime/base/Philox.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/generate/SampleSearch.h"

#include <algorithm>
#include <cmath>

namespace transformer::runtime {
namespace {

/// What transformers takes for no score at all. Sums with it are part of the algorithm, in float32:
/// where few tokens have a score, such beams live on.
constexpr float veryBad = -1.0e9f;

} // namespace

BeamSearch::BeamSearch(LogitsProcessors &processors, Stopping stopping)
    : processors(processors), config(processors.config()), stopping(std::move(stopping)),
      numBeams(size_t(config.numBeams)),
      numCandidates(std::max<size_t>(2, 1 + config.eosTokenId.size()) * numBeams) {
  if (numCandidates > numBeams * size_t(processors.vocabulary()))
    fail("eos_token_id: expected fewer than the vocabulary's {} tokens, found {}",
         processors.vocabulary(), config.eosTokenId.size());
}

void BeamSearch::begin(std::span<const Prompt> prompts, std::optional<int64_t> maxPositions) {
  searches.clear();
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Prompt &prompt = prompts[i];
    auto length = int64_t(prompt.tokens.size());
    if (length == 0)
      fail("prompt {}: expected a token, found none", i + 1);
    One search{prompt.source,
               length,
               maxLengthOf(prompt, config, maxPositions),
               prompt.number.value_or(i),
               {},
               {}};
    search.running.assign(numBeams, {prompt.tokens, veryBad});
    search.finished = search.running;
    search.running[0].score = 0; // the others are the same: only this one is continued
    for (size_t j = 0; j < numBeams; ++j) {
      auto room = size_t(std::min(search.maxLength, length + usualNewTokens));
      search.running[j].tokens.reserve(room);
      search.finished[j].tokens.reserve(room);
    }
    searches.push_back(std::move(search));
  }
  open = searches.size();
  steps.resize(searches.size() * numBeams);
  nextBeams.resize(numBeams);
}

std::span<const int64_t> BeamSearch::tokens(int64_t row) const {
  return searches[size_t(row) / numBeams].running[size_t(row) % numBeams].tokens;
}

std::span<const Step> BeamSearch::advance(float *scores) {
  size_t width = numBeams * size_t(processors.vocabulary());
  for (size_t i = 0; i < searches.size(); ++i) {
    One &search = searches[i];
    auto firstRow = int64_t(i * numBeams);
    if (search.done) {
      for (int64_t row = firstRow; row < firstRow + config.numBeams; ++row)
        steps[size_t(row)] = {row, config.fillToken()};
      continue;
    }
    std::span<float> own(scores + i * width, width);
    score(search, own);
    if (config.doSample)
      drawCandidates(search, own);
    else
      findCandidates(own);
    for (Candidate &candidate : candidates) {
      std::vector<int64_t> &tokens = search.running[candidate.parent].tokens;
      tokens.push_back(candidate.token);
      candidate.ends = stopping(tokens, search.maxLength);
      tokens.pop_back();
    }
    keepFinished(search);
    keepRunning(search, firstRow);
    checkDone(search);
    open -= search.done;
  }
  return steps;
}

/// Logits become log probabilities of whole beams.
void BeamSearch::score(One &search, std::span<float> scores) {
  size_t vocabulary = scores.size() / numBeams;
  parallelFor(config.numBeams, [&](int64_t row) {
    logSoftmax(scores.subspan(size_t(row) * vocabulary, vocabulary));
  });
  for (size_t i = 0; i < numBeams; ++i) {
    const Beam &beam = search.running[i];
    std::span<float> row = scores.subspan(i * vocabulary, vocabulary);
    processors.apply(row, {beam.tokens, search.promptLength, search.maxLength, search.source});
    for (float &score : row)
      score += beam.score;
  }
}

/// The best of all beams' continuations, in their order.
void BeamSearch::findCandidates(std::span<const float> scores) {
  size_t vocabulary = scores.size() / numBeams;
  candidates.clear();
  for (size_t i : topK(scores, numCandidates))
    candidates.push_back({scores[i], i / vocabulary, int64_t(i % vocabulary)});
}

/// As many, drawn without replacement.
void BeamSearch::drawCandidates(One &search, std::span<float> scores) {
  size_t vocabulary = scores.size() / numBeams;
  auto position = uint32_t(int64_t(search.running[0].tokens.size()) - search.promptLength);
  probabilities.resize(scores.size());
  softmax(scores, probabilities);
  candidates.clear();
  while (candidates.size() < numCandidates) {
    double total = 0;
    for (float probability : probabilities)
      total += probability;
    // Where all that can be drawn has been, the best of the rest.
    double at = uniform(config.seed, search.number, position, uint32_t(candidates.size()));
    int64_t index = total > 0 ? drawIndex(probabilities, total, at) : argmax(scores);
    auto i = size_t(index);
    candidates.push_back({scores[i], i / vocabulary, int64_t(i % vocabulary)});
    probabilities[i] = 0;
    scores[i] = minusInfinity;
  }
}

/// Of what was finished and what just did the best stay.
void BeamSearch::keepFinished(One &search) {
  const std::vector<Beam> &finished = search.finished;
  auto newTokens = double(int64_t(search.running[0].tokens.size()) + 1 - search.promptLength);
  auto divisor = float(std::pow(newTokens, config.lengthPenalty));
  bool full =
      config.earlyStopping == EarlyStopping::Yes &&
      std::all_of(finished.begin(), finished.end(), [](const Beam &beam) { return beam.finished; });
  ranks.clear();
  for (const Beam &beam : finished)
    ranks.push_back(beam.score);
  // Only the best candidates count; the others are there to be continued.
  auto justEnded = [&](size_t i) { return candidates[i].ends && i < numBeams; };
  for (size_t i = 0; i < numCandidates; ++i) {
    float rank = candidates[i].score / divisor;
    rank += full ? veryBad : 0;
    rank += search.improvable ? 0 : veryBad;
    rank += justEnded(i) ? 0 : veryBad;
    ranks.push_back(rank);
  }
  std::span<const size_t> order = topK(ranks, numBeams);
  for (size_t i = 0; i < numBeams; ++i) {
    Beam &beam = nextBeams[i];
    bool isOld = order[i] < numBeams;
    if (isOld) {
      std::swap(beam, search.finished[order[i]]);
      continue;
    }
    const Candidate &candidate = candidates[order[i] - numBeams];
    beam.tokens = search.running[candidate.parent].tokens;
    beam.tokens.push_back(candidate.token);
    beam.score = ranks[order[i]];
    beam.finished = justEnded(order[i] - numBeams);
  }
  std::swap(search.finished, nextBeams);
}

/// The best that did not end go on.
void BeamSearch::keepRunning(One &search, int64_t firstRow) {
  ranks.clear();
  for (const Candidate &candidate : candidates)
    ranks.push_back(candidate.score + (candidate.ends ? veryBad : 0));
  std::span<const size_t> order = topK(ranks, numBeams);
  for (size_t i = 0; i < numBeams; ++i) {
    const Candidate &candidate = candidates[order[i]];
    steps[size_t(firstRow) + i] = {firstRow + int64_t(candidate.parent), candidate.token};
    nextBeams[i].tokens = search.running[candidate.parent].tokens;
    nextBeams[i].tokens.push_back(candidate.token);
    nextBeams[i].score = ranks[order[i]];
    nextBeams[i].finished = false;
  }
  std::swap(search.running, nextBeams);
}

void BeamSearch::checkDone(One &search) {
  int64_t length = config.earlyStopping == EarlyStopping::Never && config.lengthPenalty > 0
                       ? search.maxLength
                       : int64_t(search.running[0].tokens.size());
  float bestPossible = search.running[0].score /
                       float(std::pow(double(length - search.promptLength), config.lengthPenalty));
  float worst = std::min_element(search.finished.begin(), search.finished.end(),
                                 [](const Beam &a, const Beam &b) { return a.score < b.score; })
                    ->score;
  bool improves = false, allFinished = true;
  for (const Beam &beam : search.finished) {
    improves |= bestPossible > (beam.finished ? worst : veryBad);
    allFinished &= beam.finished;
  }
  search.improvable &= improves;
  bool allEnd = std::all_of(candidates.begin(), candidates.end(),
                            [](const Candidate &candidate) { return candidate.ends; });
  search.done =
      !search.improvable || allEnd || (allFinished && config.earlyStopping == EarlyStopping::Yes);
}

std::vector<Hypothesis> BeamSearch::results(int64_t prompt) const {
  std::vector<Hypothesis> found;
  for (const Beam &beam : searches[size_t(prompt)].finished)
    if (int64_t(found.size()) < config.numReturnSequences)
      found.push_back({beam.tokens, beam.score});
  return found;
}

} // namespace transformer::runtime
