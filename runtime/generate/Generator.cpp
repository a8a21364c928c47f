//===- Generator.cpp - a program's own text -------------------------------===//
#include "runtime/generate/Generator.h"

#include "runtime/base/Error.h"
#include "runtime/generate/BeamSearch.h"
#include "runtime/generate/PageCache.h"
#include "runtime/generate/SampleSearch.h"
#include "runtime/generate/Sources.h"
#include "runtime/generate/TokenInputs.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

const EntryInfo &findStep(const Module &module) {
  if (const EntryInfo *entry = module.description().findEntry("step"))
    return *entry;
  fail("{}: no entry point \"step\": expected a decoder or an encoder-decoder with a language "
       "modelling head",
       module.path());
}

int64_t vocabularyOf(const EntryInfo &entry) {
  for (const OutputInfo &output : entry.outputs)
    if (output.name == "logits" && output.shape.size() == 2 && output.shape[1].name.empty())
      return output.shape[1].size;
  fail("entry point \"{}\": expected an output logits [batch, vocabulary]", entry.name);
}

/// What the names of inputs begin with that are about the tokens that are generated.
std::string prefixOf(const EntryInfo &step) {
  return step.findInput("decoder_input_ids") ? "decoder_" : "";
}

/// The model's side of a search: the rows' keys and values, and calls that add tokens to them.
class Rows {
public:
  Rows(Program &program, const EntryInfo &entry, int64_t numPages)
      : cache(program.module().description(), entry, numPages), program(program), entry(entry),
        prefix(prefixOf(entry)) {}

  /// `rowsOf` rows of no tokens for each prompt, which lie together; behind them a row for the
  /// source of each, if there are any.
  void begin(std::span<const Prompt> prompts, int64_t rowsOf, const Sources &sources) {
    int64_t numPrompts = int64_t(prompts.size()), numRows = numPrompts * rowsOf;
    cache.begin(numRows + (sources.exist() ? numPrompts : 0));
    if (!sources.exist())
      return;
    std::vector<const Prompt *> all;
    std::vector<int64_t> rows;
    for (const Prompt &prompt : prompts) {
      rows.push_back(numRows + int64_t(rows.size()));
      all.push_back(&prompt);
    }
    sources.encode(cache, all, rows);
    for (int64_t row = 0; row < numRows; ++row)
      sourceOf.push_back(numRows + row / rowsOf);
  }

  /// For when the last row of a prompt, of which one is given, has ended.
  void releaseSource(int64_t row) {
    if (!sourceOf.empty())
      cache.release(sourceOf[size_t(row)]);
  }

  /// Adds tokens to rows and writes the scores behind the last of them, `[vocabulary]` a row, into
  /// `scores` at the row's place.
  void feed(std::span<const int64_t> rows, std::span<const std::span<const int64_t>> tokens,
            std::span<float> scores, int64_t vocabulary) {
    std::vector<int64_t> starts, sources;
    for (size_t i = 0; i < rows.size(); ++i) {
      starts.push_back(cache.length(rows[i]));
      if (!sourceOf.empty())
        sources.push_back(sourceOf[size_t(rows[i])]);
      cache.extend(rows[i], int64_t(tokens[i].size()));
    }
    TensorMap inputs;
    addTokens(inputs, entry, prefix, tokens, starts);
    inputs.emplace("page_table", cache.table(rows));
    inputs.emplace("key_lengths", cache.lengths(rows));
    if (!sources.empty())
      Sources::addInputs(inputs, cache, sources);
    Tensor logits =
        std::move(program.run(entry.name, std::move(inputs), &cache.state()).at("logits"));
    for (size_t i = 0; i < rows.size(); ++i)
      std::copy_n(logits.data<float>() + int64_t(i) * vocabulary, vocabulary,
                  scores.data() + rows[i] * vocabulary);
  }

  PageCache cache;

private:
  Program &program;
  const EntryInfo &entry;
  std::string prefix;
  std::vector<int64_t> sourceOf; // of each row, the row of its source; empty: there are none
};

} // namespace

Generator::Generator(Program &program, GenerationConfig config, TokenBytes bytes)
    : program(program), entry(findStep(program.module())), processors(config, vocabularyOf(entry)),
      stopping(config, std::move(bytes)) {}

int64_t Generator::sourceVocabulary() const {
  return Sources(program).vocabulary().value_or(vocabulary());
}

bool Generator::hasSource(const Module &module) { return Sources::exist(module); }

std::optional<int64_t> Generator::maxPositions(const Program &program) {
  const EntryInfo &step = findStep(program.module());
  const InputInfo *places = step.findInput(prefixOf(step) + "position_ids");
  if (!places || !places->range)
    return std::nullopt;
  return places->range->high;
}

int64_t Generator::maxLengthFor(const Prompt &prompt) const {
  return processors.config().maxLengthFor(int64_t(prompt.tokens.size()), maxPositions(program));
}

/// The last token is not fed again, so a sequence may be one longer than there are positions.
void Generator::checkLengths(std::span<const Prompt> prompts) const {
  std::optional<int64_t> limit = maxPositions(program);
  for (size_t i = 0; i < prompts.size() && limit; ++i)
    if (int64_t end = maxLengthFor(prompts[i]); end - 1 > *limit)
      fail("prompt {}: {} tokens and {} new ones: expected at most {} positions", i + 1,
           prompts[i].tokens.size(), end - int64_t(prompts[i].tokens.size()), *limit);
}

template <typename Search>
std::vector<std::vector<Hypothesis>>
Generator::runSearch(Search &search, std::span<const Prompt> prompts, const OnToken &onToken) {
  checkLengths(prompts);
  search.begin(prompts, maxPositions(program));
  int64_t numRows = search.rows(), rowsOf = numRows / int64_t(prompts.size());
  int64_t vocabulary = processors.vocabulary();

  int64_t positions = PageCache::pagePositions(program.module().description(), entry);
  Sources sources(program);
  int64_t numPages = 0;
  for (const Prompt &prompt : prompts) {
    auto length = int64_t(prompt.tokens.size());
    int64_t end = maxLengthFor(prompt);
    // Full pages of the prompt are all rows'; one more of each row may be on its way to a copy.
    numPages += length / positions + rowsOf * (end / positions + 2 - length / positions);
    if (sources.exist())
      numPages += sources.pagesFor(prompt, &prompt - prompts.data(), positions);
  }
  Rows rows(program, entry, numPages);
  rows.begin(prompts, rowsOf, sources);
  std::vector<float> scores(size_t(numRows * vocabulary));

  std::vector<int64_t> fed, parents(size_t(numRows), 0);
  std::vector<std::span<const int64_t>> tokens;
  for (size_t i = 0; i < prompts.size(); ++i) {
    fed.push_back(int64_t(i) * rowsOf);
    tokens.emplace_back(prompts[i].tokens);
  }
  rows.feed(fed, tokens, scores, vocabulary);
  for (int64_t row = 0; row < numRows; ++row) {
    int64_t first = parents[size_t(row)] = row / rowsOf * rowsOf;
    if (row != first)
      std::copy_n(scores.data() + first * vocabulary, vocabulary, scores.data() + row * vocabulary);
  }
  rows.cache.reorder(parents);

  while (true) {
    std::vector<bool> open;
    for (int64_t row = 0; row < numRows; ++row)
      open.push_back(search.active(row));
    std::span<const Step> steps = search.advance(scores.data());
    for (int64_t row = 0; onToken && row < numRows; ++row)
      if (open[size_t(row)])
        onToken(row / rowsOf, row % rowsOf, steps[size_t(row)].token);
    if (search.finished())
      break;
    for (int64_t row = 0; row < numRows; ++row)
      parents[size_t(row)] = steps[size_t(row)].parent;
    rows.cache.reorder(parents);
    fed.clear();
    tokens.clear();
    std::vector<bool> ended(prompts.size(), true);
    for (int64_t row = 0; row < numRows; ++row)
      if (search.active(row)) {
        fed.push_back(row);
        tokens.emplace_back(&steps[size_t(row)].token, 1);
        ended[size_t(row / rowsOf)] = false;
      } else {
        rows.cache.release(row);
      }
    for (size_t i = 0; i < prompts.size(); ++i)
      if (ended[i])
        rows.releaseSource(int64_t(i) * rowsOf);
    rows.feed(fed, tokens, scores, vocabulary);
  }

  std::vector<std::vector<Hypothesis>> results;
  for (size_t i = 0; i < prompts.size(); ++i)
    results.push_back(search.results(int64_t(i)));
  return results;
}

std::vector<std::vector<Hypothesis>> Generator::generate(std::span<const Prompt> prompts,
                                                         const OnToken &onToken) {
  if (prompts.empty())
    return {};
  if (processors.config().numBeams > 1) {
    BeamSearch search(processors, stopping);
    return runSearch(search, prompts, {});
  }
  SampleSearch search(processors, stopping);
  return runSearch(search, prompts, onToken);
}

} // namespace transformer::runtime
