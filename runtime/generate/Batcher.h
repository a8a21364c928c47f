//===- Batcher.h - many requests, one batch ---------------------*- C++ -*-===//
//
//   Batcher batcher(model, processors, stopping, {.pages = 64}, model.makeCache(64), events);
//   batcher.add(prompt); // at any time
//   while (batcher.step()) {
//   }
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_BATCHER_H
#define TRANSFORMER_RUNTIME_BATCHER_H

#include "runtime/generate/LogitsProcessors.h"
#include "runtime/generate/Search.h"
#include "runtime/generate/StepModel.h"
#include "runtime/generate/Stopping.h"

#include <deque>
#include <functional>
#include <memory>

namespace transformer::runtime {

/// What is in work at once.
struct BatchLimits {
  int64_t rows = 16;    // sequences and beams
  int64_t tokens = 512; // new ones in a call: longer prompts are read in parts
  int64_t pages = 0;    // of keys and values
};

/// Continues prompts, many at once: a request enters as soon as there is room for it and leaves
/// when it ends (continuous batching, Orca, OSDI 2022). Each call reads a part of the prompts that
/// wait, the same number of tokens of each, and adds a token to every sequence. What a request
/// becomes does not depend on the others.
class Batcher {
public:
  struct Events {
    /// A token of a request's sequence. Not with beams, whose tokens are not certain until the end.
    std::function<void(int64_t request, int64_t sequence, int64_t token)> token = {};
    /// A request's num_return_sequences sequences, the best first.
    std::function<void(int64_t request, std::vector<Hypothesis>)> done = {};
  };

  /// What is given by reference must outlive the object. `cache` has `limits.pages` free pages, or
  /// more.
  Batcher(StepModel &model, LogitsProcessors &processors, const Stopping &stopping,
          BatchLimits limits, PageCache cache, Events events);

  /// The pages that a request may need. Throws Error when it has no token, or it or its source
  /// needs more positions than the model has.
  static int64_t pagesFor(const StepModel &model, const GenerationConfig &config,
                          const Prompt &prompt, int64_t number);

  /// Adds a request: its number. Throws Error when it can never be taken.
  int64_t add(Prompt prompt);

  /// Goes on by a call of the model; false, and nothing is done, when there are no requests left.
  bool step();

  /// The pages for another batcher: all are free again when no requests are left.
  PageCache releaseCache() && { return std::move(cache); }

private:
  struct Request {
    int64_t number = 0;
    Prompt prompt;
    std::unique_ptr<Search> search;
    int64_t pages = 0;         // that it may need
    int64_t source = -1;       // the cache's row that has it, if any
    std::vector<int64_t> rows; // of the cache, a row of the search each; -1: ended
    size_t read = 0;           // tokens of the prompt that the model has seen
    std::vector<int64_t> next; // of each row: the token that the model sees next
    size_t firstFeed = 0, numFeeds = 0;
  };

  void admit();
  void encodeSources(size_t first);
  void collectFeeds();
  void addPromptParts(int64_t budget);
  /// Goes on with the scores behind a request's feeds.
  void advance(Request &request, float *scores);
  float *scoresOfRows(const Request &request, float *scores, bool behindPrompt);
  void begin(Request &request);

  StepModel &model;
  LogitsProcessors &processors;
  Stopping stopping;
  BatchLimits limits;
  Events events;
  PageCache cache;
  std::deque<Request> waiting;
  std::vector<Request> running;
  int64_t numRequests = 0, rowsInUse = 0, pagesInUse = 0;
  std::vector<Feed> feeds;
  std::vector<float> rowScores;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BATCHER_H
