#include "runtime/generate/GenerationConfig.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

GenerationConfig parse(const std::string &text) { return GenerationConfig::parse("g.json", text); }

TEST(GenerationConfig, HasTransformersDefaults) {
  TemporaryFolder folder;
  EXPECT_FALSE(GenerationConfig::find(folder.path()));
  GenerationConfig config;
  EXPECT_FALSE(config.doSample);
  EXPECT_EQ(config.topK, 50);
  EXPECT_EQ(config.numBeams, 1);
  EXPECT_EQ(config.lengthPenalty, 1);
  EXPECT_EQ(config.maxLengthFor(7), 27);
  EXPECT_EQ(config.maxLengthFor(7, 16), 16);
  EXPECT_EQ(config.fillToken(), 0);
  config.maxNewTokens = INT64_MAX;
  EXPECT_EQ(config.maxLengthFor(7), INT64_MAX);
  config.maxNewTokens.reset();
  config.check();
}

TEST(GenerationConfig, ReadsEveryField) {
  GenerationConfig config = parse(R"({
    "max_length": 30, "max_new_tokens": 9, "min_length": 3, "min_new_tokens": 2, "do_sample": true,
    "num_beams": 4, "num_return_sequences": 2, "early_stopping": "never", "length_penalty": 0.8,
    "seed": 17, "temperature": 0.7, "top_k": 0, "top_p": 0.9, "min_p": 0.1, "top_h": 0.4,
    "typical_p": 0.95, "epsilon_cutoff": 0.001, "eta_cutoff": 0.002, "repetition_penalty": 1.2,
    "encoder_repetition_penalty": 1.1, "no_repeat_ngram_size": 3, "encoder_no_repeat_ngram_size": 4,
    "bad_words_ids": [[1], [2, 3]], "suppress_tokens": [5, -1], "begin_suppress_tokens": [6],
    "forced_bos_token_id": 0, "forced_eos_token_id": [2, 4], "eos_token_id": [2, 3],
    "pad_token_id": 1, "bos_token_id": 0, "decoder_start_token_id": 2,
    "forced_decoder_ids": [[1, null], [2, 50359]], "renormalize_logits": true,
    "remove_invalid_values": true, "exponential_decay_length_penalty": [15, 1.6],
    "sequence_bias": [[[4], 2], [[4, 5], -1.5], [[4], 3.5]], "stop_strings": ["\n\n", "END"],
    "transformers_version": "5.23.0", "alignment_heads": [[1, 2]], "penalty_alpha": null})");
  EXPECT_EQ(config.maxLengthFor(5), 14); // new tokens win
  EXPECT_EQ(config.minLength, 3);
  EXPECT_EQ(config.minNewTokens, 2);
  EXPECT_TRUE(config.doSample);
  EXPECT_EQ(config.numBeams, 4);
  EXPECT_EQ(config.numReturnSequences, 2);
  EXPECT_EQ(config.earlyStopping, EarlyStopping::Never);
  EXPECT_EQ(config.lengthPenalty, 0.8);
  EXPECT_EQ(config.seed, 17u);
  EXPECT_EQ(config.temperature, 0.7);
  EXPECT_EQ(config.topK, 0);
  EXPECT_EQ(config.topP, 0.9);
  EXPECT_EQ(config.minP, 0.1);
  EXPECT_EQ(config.topH, 0.4);
  EXPECT_EQ(config.typicalP, 0.95);
  EXPECT_EQ(config.epsilonCutoff, 0.001);
  EXPECT_EQ(config.etaCutoff, 0.002);
  EXPECT_EQ(config.repetitionPenalty, 1.2);
  EXPECT_EQ(config.encoderRepetitionPenalty, 1.1);
  EXPECT_EQ(config.noRepeatNgramSize, 3);
  EXPECT_EQ(config.encoderNoRepeatNgramSize, 4);
  EXPECT_EQ(config.badWordsIds, (std::vector<std::vector<int64_t>>{{1}, {2, 3}}));
  EXPECT_EQ(config.suppressTokens, (std::vector<int64_t>{5, -1}));
  EXPECT_EQ(config.beginSuppressTokens, std::vector<int64_t>{6});
  EXPECT_EQ(config.forcedBosTokenId, 0);
  EXPECT_EQ(config.forcedEosTokenId, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(config.eosTokenId, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(config.fillToken(), 1);
  config.padTokenId = 0;
  EXPECT_EQ(config.fillToken(), 2); // with beams
  config.numBeams = 1;
  EXPECT_EQ(config.fillToken(), 0);
  config.numBeams = 4;
  EXPECT_EQ(config.minTokensToKeep(), 3);
  EXPECT_EQ(config.bosTokenId, 0);
  EXPECT_EQ(config.decoderStartTokenId, 2);
  ASSERT_EQ(config.forcedDecoderIds.size(), 2u);
  EXPECT_FALSE(config.forcedDecoderIds[0].second);
  EXPECT_EQ(config.forcedDecoderIds[1].second, 50359);
  EXPECT_TRUE(config.renormalizeLogits);
  EXPECT_TRUE(config.removeInvalidValues);
  EXPECT_EQ(config.exponentialDecayLengthPenalty->start, 15);
  EXPECT_EQ(config.exponentialDecayLengthPenalty->factor, 1.6);
  ASSERT_EQ(config.sequenceBias.size(), 2u); // of equal sequences the last counts
  EXPECT_EQ(config.sequenceBias[0].bias, 3.5f);
  EXPECT_EQ(config.stopStrings, (std::vector<std::string>{"\n\n", "END"}));
  config.check();
}

// facebook/bart-large and its like have no generation_config.json.
TEST(GenerationConfig, FallsBackToTheModelsConfig) {
  TemporaryFolder folder;
  folder.write("config.json", R"({"num_beams": 4, "early_stopping": true, "eos_token_id": 2,
    "bos_token_id": 0, "force_bos_token_to_be_generated": true, "max_length": null,
    "vocab_size": 50265, "text_config": {"max_length": 62, "eos_token_id": 7, "top_k": 9}})");
  GenerationConfig config = GenerationConfig::find(folder.path()).value();
  EXPECT_EQ(config.numBeams, 4);
  EXPECT_EQ(config.earlyStopping, EarlyStopping::Yes);
  EXPECT_EQ(config.eosTokenId, std::vector<int64_t>{2});
  EXPECT_EQ(config.maxLength, 62); // of the decoder's part, where the whole says nothing
  EXPECT_EQ(config.topK, 9);
  EXPECT_EQ(config.forcedBosTokenId, 0);
  folder.write("generation_config.json", R"({"num_beams": 2})");
  config = GenerationConfig::find(folder.path()).value();
  EXPECT_EQ(config.numBeams, 2);
  EXPECT_TRUE(config.eosTokenId.empty());
}

TEST(GenerationConfig, WhatAnEncoderDecoderBeginsWith) {
  auto read = [](const char *text) { return GenerationConfig::parseModelConfig("c.json", text); };
  EXPECT_EQ(parse(R"({"decoder_start_token_id": 4, "bos_token_id": 3})").decoderStart(), 4);
  EXPECT_EQ(parse(R"({"bos_token_id": 3})").decoderStart(), 3);
  expectContains(errorOf([] { parse("{}").decoderStart(); }), {"decoder_start_token_id"});
  // A file without either is one that has been shortened, but for what it says.
  GenerationConfig config =
      read(R"({"model_type": "bart", "pad_token_id": 5, "eos_token_id": null})");
  EXPECT_EQ(config.decoderStart(), 2);
  EXPECT_EQ(config.forcedEosTokenId, std::vector<int64_t>{2});
  EXPECT_EQ(config.padTokenId, 5);
  EXPECT_TRUE(config.eosTokenId.empty());
  EXPECT_EQ(read(R"({"model_type": "mbart"})").decoderStart(), 0);
  EXPECT_EQ(read(R"({"model_type": "t5"})").eosTokenId, std::vector<int64_t>{1});
  EXPECT_TRUE(read(R"({"model_type": "mbart", "bos_token_id": 0})").eosTokenId.empty());
  EXPECT_TRUE(read(R"({"model_type": "llama"})").eosTokenId.empty());
  GenerationConfig annotated = read(
      R"({"model_type": "annotated_transformer", "trg_sos_idx": 2, "trg_eos_idx": 3, "trg_pad_idx": 1})");
  EXPECT_EQ(annotated.decoderStart(), 2);
  EXPECT_EQ(annotated.eosTokenId, std::vector<int64_t>{3});
  EXPECT_EQ(annotated.padTokenId, 1);
}

TEST(GenerationConfig, OptionsComeAfterFiles) {
  GenerationConfig config = parse(R"({"max_length": 40, "temperature": 0.6})");
  config.set("--temperature", "temperature", 2);
  config.set("--max-new-tokens", "max_new_tokens", 3);
  config.set("--top-k", "top_k", nullptr);
  EXPECT_EQ(config.temperature, 2);
  EXPECT_EQ(config.topK, 50);
  EXPECT_EQ(config.maxLengthFor(10), 13);
  expectContains(errorOf([&] { config.set("--option", "top_q", 1); }), {"--option", "\"top_q\""});
  expectContains(errorOf([&] { config.set("--top-k", "top_k", "x"); }),
                 {"--top-k: expected an integer, found \"x\""});
}

TEST(GenerationConfig, RefusesWhatItDoesNotSupport) {
  const std::pair<const char *, const char *> cases[] = {
      {"penalty_alpha", "0.6"},      {"dola_layers", "\"high\""},
      {"constraints", "[1]"},        {"force_words_ids", "[[1]]"},
      {"num_beam_groups", "2"},      {"diversity_penalty", "0.5"},
      {"guidance_scale", "1.5"},     {"watermarking_config", "{\"bias\": 2}"},
      {"token_healing", "true"},     {"max_time", "2.5"},
      {"use_mtp", "true"},           {"prompt_lookup_num_tokens", "3"},
      {"assistant_early_exit", "2"}, {"cache_implementation", "\"quantized\""},
      {"low_memory", "true"},        {"is_assistant", "true"}};
  for (auto [field, value] : cases)
    expectContains(errorOf([&] { parse(formatted(R"({{"{}": {}}})", field, value)); }),
                   {formatted("g.json: {}: ", field), "is not supported, expected "});
  parse(
      R"({"penalty_alpha": 0.0, "num_beam_groups": 1, "diversity_penalty": 0, "guidance_scale": 1.0,
    "token_healing": false, "cache_implementation": "static", "constraints": null, "use_cache": false})");
}

TEST(GenerationConfig, NamesBadValues) {
  expectContains(errorOf([] { parse("[]"); }), {"g.json: expected an object, found array"});
  expectContains(errorOf([] { parse(R"({"num_beams": 2.5})"); }),
                 {"g.json: num_beams: expected an integer of 0 or more, found 2.5"});
  expectContains(errorOf([] { parse(R"({"early_stopping": "yes"})"); }),
                 {"early_stopping", "never"});
  expectContains(errorOf([] { parse(R"({"bad_words_ids": [[-1]]})"); }), {"bad_words_ids", "-1"});
  expectContains(errorOf([] { parse(R"({"bad_words_ids": [3]})"); }), {"bad_words_ids", "a list"});
  expectContains(errorOf([] { parse(R"({"stop_strings": ["a", ""]})"); }), {"stop_strings"});
  expectContains(errorOf([] { parse(R"({"sequence_bias": {"1": 2}})"); }), {"sequence_bias"});
  expectContains(errorOf([] { parse(R"({"sequence_bias": [[[], 2]]})"); }), {"sequence_bias"});
  expectContains(errorOf([] { parse(R"({"exponential_decay_length_penalty": [1]})"); }),
                 {"exponential_decay_length_penalty"});
  expectContains(errorOf([] { parse(R"({"decoder_start_token_id": [1, 2]})"); }),
                 {"decoder_start_token_id"});
  const char *const checked[] = {R"({"num_return_sequences": 2})",
                                 R"({"num_beams": 0})",
                                 R"({"num_beams": 1000000000000})",
                                 R"({"num_return_sequences": 3, "num_beams": 2})",
                                 R"({"max_new_tokens": 0})",
                                 R"({"repetition_penalty": 0})",
                                 R"({"encoder_repetition_penalty": -1})",
                                 R"({"exponential_decay_length_penalty": [1, 2]})",
                                 R"({"forced_bos_token_id": 2, "suppress_tokens": [2]})",
                                 R"({"forced_eos_token_id": [2, 3], "suppress_tokens": [1, 3, 2]})",
                                 R"({"do_sample": true, "temperature": 0})",
                                 R"({"do_sample": true, "top_h": 0})",
                                 R"({"do_sample": true, "top_k": -1})",
                                 R"({"do_sample": true, "top_p": -0.1})",
                                 R"({"do_sample": true, "min_p": 2})",
                                 R"({"do_sample": true, "typical_p": 0})"};
  for (const char *text : checked)
    expectContains(errorOf([&] { parse(text).check(); }), {"expected", "found"});
  parse(R"({"temperature": 0, "top_k": -1})").check(); // not in use
  expectContains(errorOf([] { parse(R"({"max_length": 4})").maxLengthFor(4); }),
                 {"max_length: expected more than the prompt's 4 tokens, found 4"});
}

} // namespace
