//===- GenerationCheck.cpp - choices of tokens, for a script --------------===//
//
// Answers the requests of generation_processors.py: a line of JSON each on
// stdin, a line of JSON each on stdout. The model is a table: scores [v, v, v]
// by the last token but one and the last (0 before the first).
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Error.h"
#include "runtime/files/Npy.h"
#include "runtime/generate/BeamSearch.h"
#include "runtime/generate/SampleSearch.h"

#include <iostream>

using namespace transformer::runtime;

namespace {

GenerationConfig configOf(const Json &request) {
  return GenerationConfig::parse("request", jsonText(request.at("config")));
}

/// Scores of rows that the request describes.
Json processScores(const Json &request) {
  Tensor scores = readNpy(request.at("scores"));
  auto width = size_t(scores.shape().at(1));
  LogitsProcessors processors(configOf(request), int64_t(width));
  float *row = scores.data<float>();
  for (const Json &history : request.at("rows")) {
    auto tokens = history.at("tokens").get<std::vector<int64_t>>();
    auto source = history.at("source").get<std::vector<int64_t>>();
    processors.apply({row, width}, {tokens, history.at("prompt"), history.at("max"), source});
    row += width;
  }
  writeNpy(request.at("out"), scores);
  return true;
}

std::vector<Prompt> promptsOf(const Json &request) {
  std::vector<Prompt> prompts;
  for (const Json &tokens : request.at("prompts"))
    prompts.push_back({tokens, tokens});
  if (request.contains("numbers"))
    for (size_t i = 0; i < prompts.size(); ++i)
      prompts[i].number = request.at("numbers")[i].get<uint64_t>();
  return prompts;
}

template <typename Search>
Json run(const Json &request, LogitsProcessors &processors, const Stopping &stopping) {
  Tensor table = readNpy(request.at("table"));
  auto width = size_t(table.shape().at(2));
  Search search(processors, stopping);
  std::vector<Prompt> prompts = promptsOf(request);
  search.begin(prompts);
  // What a user of a search keeps of each row: here its last two tokens.
  std::vector<std::array<size_t, 2>> last, before;
  for (int64_t row = 0; row < search.rows(); ++row) {
    std::span<const int64_t> tokens = search.tokens(row);
    last.push_back(
        {tokens.size() > 1 ? size_t(tokens[tokens.size() - 2]) : 0, size_t(tokens.back())});
  }
  std::vector<float> scores(last.size() * width);
  while (!search.finished()) {
    for (size_t row = 0; row < last.size(); ++row)
      if (search.active(int64_t(row)))
        std::copy_n(table.data<float>() + (last[row][0] * width + last[row][1]) * width, width,
                    &scores[row * width]);
    before = last;
    std::span<const Step> steps = search.advance(scores.data());
    for (size_t row = 0; row < last.size(); ++row)
      last[row] = {before[size_t(steps[row].parent)][1], size_t(steps[row].token)};
  }
  Json answer = Json::array();
  for (size_t i = 0; i < prompts.size(); ++i) {
    answer.push_back(Json::array());
    for (const Hypothesis &hypothesis : search.results(int64_t(i)))
      answer.back().push_back({{"tokens", hypothesis.tokens}, {"score", hypothesis.score}});
  }
  return answer;
}

Json generate(const Json &request) {
  GenerationConfig config = configOf(request);
  std::vector<std::string> words = request.value("words", std::vector<std::string>());
  Stopping stopping(config,
                    [=](int64_t token) -> std::string_view { return words.at(size_t(token)); });
  LogitsProcessors processors(config, readNpy(request.at("table")).shape().at(2));
  return config.numBeams > 1 ? run<BeamSearch>(request, processors, stopping)
                             : run<SampleSearch>(request, processors, stopping);
}

/// How often each token is drawn first after a prompt, by as many sequences as asked for.
Json countDraws(const Json &request) {
  Tensor scores = readNpy(request.at("scores"));
  auto width = size_t(scores.count());
  LogitsProcessors processors(configOf(request), int64_t(width));
  SampleSearch search(processors, Stopping(processors.config()));
  std::vector<int64_t> counts(width);
  std::vector<float> row(width);
  for (uint64_t number = 0; number < request.at("count").get<uint64_t>(); ++number) {
    Prompt prompt{{1}, {}, number};
    search.begin({&prompt, 1});
    std::copy_n(scores.data<float>(), width, row.begin());
    ++counts[size_t(search.advance(row.data())[0].token)];
  }
  return counts;
}

template <typename T> Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json();
}

/// Some fields of a folder's configuration, with their names there.
Json readConfig(const Json &request) {
  GenerationConfig config = GenerationConfig::find(request.at("folder")).value();
  Json early[] = {false, true, "never"};
  return {{"max_length", orNull(config.maxLength)},
          {"max_new_tokens", orNull(config.maxNewTokens)},
          {"min_length", config.minLength},
          {"do_sample", config.doSample},
          {"num_beams", config.numBeams},
          {"early_stopping", early[int(config.earlyStopping)]},
          {"length_penalty", config.lengthPenalty},
          {"no_repeat_ngram_size", config.noRepeatNgramSize},
          {"temperature", config.temperature},
          {"top_k", config.topK},
          {"top_p", config.topP},
          {"repetition_penalty", config.repetitionPenalty},
          {"bad_words_ids", config.badWordsIds},
          {"suppress_tokens", config.suppressTokens},
          {"begin_suppress_tokens", config.beginSuppressTokens},
          {"forced_bos_token_id", orNull(config.forcedBosTokenId)},
          {"forced_eos_token_id", config.forcedEosTokenId},
          {"bos_token_id", orNull(config.bosTokenId)},
          {"eos_token_id", config.eosTokenId},
          {"pad_token_id", orNull(config.padTokenId)},
          {"decoder_start_token_id", orNull(config.decoderStartTokenId)}};
}

Json answer(const Json &request) {
  std::string what = request.at("do");
  return what == "scores"   ? processScores(request)
         : what == "draws"  ? countDraws(request)
         : what == "config" ? readConfig(request)
                            : generate(request);
}

} // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    Json result;
    try {
      result = answer(parseJson("request", line));
    } catch (const std::exception &problem) {
      result = {{"error", problem.what()}};
    }
    std::cout << jsonText(result) << std::endl;
  }
}
