//===- Batcher.cpp - many requests, one batch -----------------------------===//
#include "runtime/generate/Batcher.h"

#include "runtime/base/Error.h"
#include "runtime/generate/BeamSearch.h"
#include "runtime/generate/SampleSearch.h"

#include <algorithm>

namespace transformer::runtime {
int64_t Batcher::pagesFor(const StepModel &model, const GenerationConfig &config,
                          const Prompt &prompt, int64_t number) {
  auto length = int64_t(prompt.tokens.size());
  if (length == 0)
    fail("prompt {}: expected a token, found none", number + 1);
  std::optional<int64_t> most = model.maxPositions();
  int64_t end = maxLengthOf(prompt, config, most);
  // The last token is not fed again, so a sequence may be one longer than there are positions.
  if (most && end - 1 > *most)
    fail("prompt {}: {} tokens and {} new ones: expected at most {} positions", number + 1, length,
         end - length, *most);
  int64_t positions = model.pagePositions(), rows = config.rowsPerPrompt();
  int64_t source = 0;
  if (model.sources().exist())
    source = model.sources().pagesFor(prompt, number, positions);
  end = std::min(end, int64_t(1) << 40);
  if (rows == 1)
    return source + (end + positions - 1) / positions;
  // Full pages of the prompt are all rows'; one more of each row may be on its way to a copy.
  int64_t shared = length / positions;
  return source + shared + rows * (end / positions + 2 - shared);
}

Batcher::Batcher(StepModel &model, LogitsProcessors &processors, const Stopping &stopping,
                 BatchLimits limits, PageCache cache, Events events)
    : model(model), processors(processors), stopping(stopping), limits(limits),
      events(std::move(events)), cache(std::move(cache)) {}

int64_t Batcher::add(Prompt prompt) {
  int64_t number = numRequests;
  int64_t pages = pagesFor(model, processors.config(), prompt, number);
  if (pages > limits.pages)
    fail("prompt {}: its keys and values need {} pages, expected at most {}", number + 1, pages,
         limits.pages);
  if (!prompt.number)
    prompt.number = uint64_t(number);
  Request &request = waiting.emplace_back();
  request.number = number;
  request.prompt = std::move(prompt);
  request.pages = pages;
  return numRequests++;
}

void Batcher::admit() {
  int64_t rows = processors.config().rowsPerPrompt();
  size_t first = running.size();
  while (!waiting.empty() && (running.empty() || rowsInUse + rows <= limits.rows) &&
         pagesInUse + waiting.front().pages <= limits.pages) {
    running.push_back(std::move(waiting.front()));
    waiting.pop_front();
    rowsInUse += rows;
    pagesInUse += running.back().pages;
    running.back().rows = {cache.open()};
  }
  if (model.sources().exist() && first < running.size())
    encodeSources(first);
}

/// Of the requests from the first on.
void Batcher::encodeSources(size_t first) {
  std::vector<const Prompt *> prompts;
  std::vector<int64_t> rows;
  for (size_t i = first; i < running.size(); ++i) {
    prompts.push_back(&running[i].prompt);
    rows.push_back(running[i].source = cache.open());
  }
  model.sources().encode(cache, prompts, rows);
}

/// The shortest rest first, so that what it does not need is the others'.
void Batcher::addPromptParts(int64_t budget) {
  std::vector<Request *> readers;
  for (Request &request : running)
    if (request.read < request.prompt.tokens.size())
      readers.push_back(&request);
  auto rest = [](const Request *request) { return request->prompt.tokens.size() - request->read; };
  std::stable_sort(readers.begin(), readers.end(),
                   [&](Request *a, Request *b) { return rest(a) < rest(b); });
  size_t left = size_t(std::max<int64_t>(budget, 1));
  for (size_t i = 0; i < readers.size() && left; ++i) {
    Request &request = *readers[i];
    size_t others = readers.size() - i;
    size_t count = std::min(rest(&request), (left + others - 1) / others);
    request.firstFeed = feeds.size();
    request.numFeeds = 1;
    feeds.push_back(
        {request.rows[0], {request.prompt.tokens.data() + request.read, count}, request.source});
    request.read += count;
    left -= count;
  }
}

void Batcher::collectFeeds() {
  feeds.clear();
  for (Request &request : running) {
    request.firstFeed = feeds.size();
    for (size_t row = 0; row < request.next.size(); ++row)
      if (request.rows[row] >= 0)
        feeds.push_back({request.rows[row], {&request.next[row], 1}, request.source});
    request.numFeeds = feeds.size() - request.firstFeed;
  }
  addPromptParts(limits.tokens - int64_t(feeds.size()));
}

/// The search starts behind the prompt, from which all of its rows go on.
void Batcher::begin(Request &request) {
  const GenerationConfig &config = processors.config();
  if (config.numBeams > 1)
    request.search = std::make_unique<BeamSearch>(processors, stopping);
  else
    request.search = std::make_unique<SampleSearch>(processors, stopping);
  request.search->begin({&request.prompt, 1}, model.maxPositions());
  while (int64_t(request.rows.size()) < request.search->rows())
    request.rows.push_back(cache.fork(request.rows[0]));
  request.next.resize(request.rows.size());
}

/// Scores of all of a request's rows, in their order: behind the prompt all have the same.
float *Batcher::scoresOfRows(const Request &request, float *scores, bool behindPrompt) {
  if (request.numFeeds == request.rows.size())
    return scores;
  auto width = size_t(model.vocabulary());
  rowScores.resize(std::max(rowScores.size(), request.rows.size() * width));
  size_t feed = 0;
  for (size_t row = 0; row < request.rows.size(); ++row)
    if (request.rows[row] >= 0)
      std::copy_n(scores + (behindPrompt ? 0 : feed++) * width, width, &rowScores[row * width]);
  return rowScores.data();
}

void Batcher::advance(Request &request, float *scores) {
  bool behindPrompt = !request.search;
  if (behindPrompt)
    begin(request);
  scores = scoresOfRows(request, scores, behindPrompt);
  Search &search = *request.search;
  std::span<const Step> steps = search.advance(scores);
  std::vector<int64_t> which, parents;
  for (size_t row = 0; row < request.rows.size(); ++row) {
    if (request.rows[row] < 0)
      continue;
    if (events.token && processors.config().numBeams == 1)
      events.token(request.number, int64_t(row), steps[row].token);
    request.next[row] = steps[row].token;
    which.push_back(request.rows[row]);
    parents.push_back(steps[row].parent);
  }
  if (processors.config().numBeams > 1)
    cache.reorder(which, parents);
  for (size_t row = 0; row < request.rows.size(); ++row)
    if (request.rows[row] >= 0 && !search.active(int64_t(row))) {
      cache.close(request.rows[row]);
      request.rows[row] = -1;
    }
}

bool Batcher::step() {
  admit();
  if (running.empty())
    return false;
  collectFeeds();
  std::span<float> scores = model.step(cache, feeds);
  for (Request &request : running)
    if (request.numFeeds && request.read == request.prompt.tokens.size())
      advance(request, scores.data() + request.firstFeed * size_t(model.vocabulary()));
  std::erase_if(running, [&](Request &request) {
    if (!request.search || !request.search->finished())
      return false;
    rowsInUse -= int64_t(request.rows.size());
    pagesInUse -= request.pages;
    if (request.source >= 0)
      cache.close(request.source);
    if (events.done)
      events.done(request.number, request.search->results(0));
    return true;
  });
  return true;
}

} // namespace transformer::runtime
