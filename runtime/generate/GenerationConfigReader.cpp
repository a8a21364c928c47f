//===- GenerationConfigReader.cpp - generation_config.json ----------------===//
#include "runtime/base/Error.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Path.h"
#include "runtime/generate/FamilyTokens.h"
#include "runtime/generate/GenerationConfig.h"

#include <algorithm>
#include <functional>
#include <map>

namespace transformer::runtime {
namespace {

/// A value of a field, not null, with its place for messages.
struct Value {
  const Json &json;
  const std::string &where; // "generation_config.json: top_k"

  [[noreturn]] void expected(const char *what) const {
    fail("{}: expected {}, found {}", where, what, describe(json));
  }
  int64_t integer() const {
    if (!json.is_number_integer() ||
        (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t(INT64_MAX)))
      expected("an integer");
    return json.get<int64_t>();
  }
  int64_t size() const {
    if (!json.is_number_integer() || integer() < 0)
      expected("an integer of 0 or more");
    return integer();
  }
  double number() const {
    if (!json.is_number())
      expected("a number");
    return json.get<double>();
  }
  bool boolean() const {
    if (!json.is_boolean())
      expected("true or false");
    return json.get<bool>();
  }
  std::string string() const {
    if (!json.is_string())
      expected("a string");
    return json.get<std::string>();
  }
  /// The elements of a list, each read by read(Value).
  template <typename Read> auto list(Read read) const {
    if (!json.is_array())
      expected("a list");
    std::vector<decltype(read(*this))> result;
    for (const Json &item : json)
      result.push_back(read(Value{item, where}));
    return result;
  }
  std::vector<int64_t> tokens() const {
    return list([](const Value &item) { return item.integer(); });
  }
  std::vector<int64_t> tokenOrTokens() const {
    return json.is_array() ? tokens() : std::vector<int64_t>{integer()};
  }
  /// Token ids that must be ids.
  std::vector<int64_t> sequence() const {
    return list([](const Value &item) { return item.size(); });
  }
};

using Reader = std::function<void(GenerationConfig &, const Value &)>;

EarlyStopping readEarlyStopping(const Value &value) {
  if (value.json.is_string() && value.string() == "never")
    return EarlyStopping::Never;
  if (!value.json.is_boolean())
    value.expected("true, false or \"never\"");
  return value.boolean() ? EarlyStopping::Yes : EarlyStopping::No;
}

/// [[[ids], bias], ...]; of equal sequences the last counts.
std::vector<SequenceBias> readSequenceBias(const Value &value) {
  std::vector<SequenceBias> result;
  value.list([&](const Value &item) {
    if (!item.json.is_array() || item.json.size() != 2)
      item.expected("a list of [[token, ...], bias]");
    SequenceBias bias{Value{item.json[0], item.where}.sequence(),
                      float(Value{item.json[1], item.where}.number())};
    if (bias.tokens.empty())
      item.expected("a token that has the bias");
    auto known = std::find_if(result.begin(), result.end(),
                              [&](const SequenceBias &one) { return one.tokens == bias.tokens; });
    if (known == result.end())
      result.push_back(std::move(bias));
    else
      known->bias = bias.bias;
    return 0;
  });
  return result;
}

GenerationConfig::LengthDecay readLengthDecay(const Value &value) {
  if (!value.json.is_array() || value.json.size() != 2)
    value.expected("[new tokens, factor]");
  return {Value{value.json[0], value.where}.size(), Value{value.json[1], value.where}.number()};
}

std::pair<int64_t, std::optional<int64_t>> readForcedDecoderId(const Value &value) {
  if (!value.json.is_array() || value.json.size() != 2)
    value.expected("a list of [position, token]");
  std::optional<int64_t> token;
  if (!value.json[1].is_null())
    token = Value{value.json[1], value.where}.size();
  return {Value{value.json[0], value.where}.size(), token};
}

/// A field that would change what comes out and that is not supported: only its neutral values.
Reader only(std::vector<Json> neutral, const char *supported) {
  return [=](GenerationConfig &, const Value &value) {
    if (std::find(neutral.begin(), neutral.end(), value.json) == neutral.end())
      fail("{}: {} is not supported, expected {}", value.where, describe(value.json), supported);
  };
}

/// Fields that say how transformers computes or what it returns besides tokens.
const char *const withoutEffect[] = {"use_cache",
                                     "cache_config",
                                     "max_cache_len",
                                     "prefill_chunk_size",
                                     "compile_config",
                                     "disable_compile",
                                     "output_attentions",
                                     "output_hidden_states",
                                     "output_scores",
                                     "output_logits",
                                     "return_dict_in_generate",
                                     "num_assistant_tokens",
                                     "num_assistant_tokens_schedule",
                                     "assistant_confidence_threshold",
                                     "max_matching_ngram_size",
                                     "assistant_lookbehind",
                                     "target_lookbehind",
                                     "continuous_batching_config",
                                     "transformers_version"};

#define READ(FIELD, HOW)                                                                           \
  [](GenerationConfig &config, const Value &value) { config.FIELD = value.HOW(); }

std::map<std::string, Reader> makeReaders() {
  std::map<std::string, Reader> readers = {
      {"max_length", READ(maxLength, size)},
      {"max_new_tokens", READ(maxNewTokens, size)},
      {"min_length", READ(minLength, size)},
      {"min_new_tokens", READ(minNewTokens, size)},
      {"do_sample", READ(doSample, boolean)},
      {"num_beams", READ(numBeams, size)},
      {"num_return_sequences", READ(numReturnSequences, size)},
      {"length_penalty", READ(lengthPenalty, number)},
      {"seed", READ(seed, size)},
      {"encoder_repetition_penalty", READ(encoderRepetitionPenalty, number)},
      {"repetition_penalty", READ(repetitionPenalty, number)},
      {"no_repeat_ngram_size", READ(noRepeatNgramSize, size)},
      {"encoder_no_repeat_ngram_size", READ(encoderNoRepeatNgramSize, size)},
      {"forced_bos_token_id", READ(forcedBosTokenId, size)},
      {"forced_eos_token_id", READ(forcedEosTokenId, tokenOrTokens)},
      {"remove_invalid_values", READ(removeInvalidValues, boolean)},
      {"suppress_tokens", READ(suppressTokens, tokens)},
      {"begin_suppress_tokens", READ(beginSuppressTokens, tokens)},
      {"temperature", READ(temperature, number)},
      {"top_h", READ(topH, number)},
      {"top_k", READ(topK, integer)},
      {"top_p", READ(topP, number)},
      {"min_p", READ(minP, number)},
      {"typical_p", READ(typicalP, number)},
      {"epsilon_cutoff", READ(epsilonCutoff, number)},
      {"eta_cutoff", READ(etaCutoff, number)},
      {"renormalize_logits", READ(renormalizeLogits, boolean)},
      {"bos_token_id", READ(bosTokenId, integer)},
      {"pad_token_id", READ(padTokenId, integer)},
      {"decoder_start_token_id", READ(decoderStartTokenId, integer)},
      {"eos_token_id", READ(eosTokenId, tokenOrTokens)},
      {"early_stopping",
       [](auto &config, const Value &value) { config.earlyStopping = readEarlyStopping(value); }},
      {"sequence_bias",
       [](auto &config, const Value &value) { config.sequenceBias = readSequenceBias(value); }},
      {"bad_words_ids",
       [](auto &config, const Value &value) {
         config.badWordsIds = value.list([](const Value &item) { return item.sequence(); });
       }},
      {"exponential_decay_length_penalty",
       [](auto &config, const Value &value) {
         config.exponentialDecayLengthPenalty = readLengthDecay(value);
       }},
      {"stop_strings",
       [](auto &config, const Value &value) {
         auto read = [](const Value &item) { return item.string(); };
         config.stopStrings =
             value.json.is_array() ? value.list(read) : std::vector<std::string>{read(value)};
         if (std::count(config.stopStrings.begin(), config.stopStrings.end(), ""))
           value.expected("strings that are not empty");
       }},
      {"forced_decoder_ids",
       [](auto &config, const Value &value) {
         config.forcedDecoderIds = value.list(readForcedDecoderId);
       }},
      {"penalty_alpha", only({0}, "0 (no contrastive search)")},
      {"dola_layers", only({}, "none (no contrast of layers)")},
      {"constraints", only({}, "none (no constrained beam search)")},
      {"force_words_ids", only({}, "none (no constrained beam search)")},
      {"num_beam_groups", only({0, 1}, "1 (no diverse beam search)")},
      {"diversity_penalty", only({0}, "0 (no diverse beam search)")},
      {"guidance_scale", only({1}, "1 (no classifier-free guidance)")},
      {"watermarking_config", only({}, "none (no watermark)")},
      {"token_healing", only({false}, "false")},
      {"low_memory", only({false}, "false")},
      {"max_time", only({}, "none (no limit of time)")},
      {"use_mtp", only({false}, "false (no prediction of several tokens)")},
      {"is_assistant", only({false}, "false (no assisted generation)")},
      {"prompt_lookup_num_tokens", only({}, "none (no assisted generation)")},
      {"assistant_early_exit", only({}, "none (no assisted generation)")},
      {"assistant_ensemble_weight", only({}, "none (no assisted generation)")},
      {"speculation_type", only({}, "none (no assisted generation)")},
      {"cache_implementation",
       only({"dynamic", "static", "offloaded", "offloaded_static", "sliding_window", "hybrid",
             "hybrid_chunked", "offloaded_hybrid", "offloaded_hybrid_chunked"},
            "one that keeps what it is given, like \"dynamic\"")},
  };
  for (const char *name : withoutEffect)
    readers.emplace(name, [](auto &, const Value &) {});
  return readers;
}
#undef READ

const std::map<std::string, Reader> &readers() {
  static const std::map<std::string, Reader> all = makeReaders();
  return all;
}

void read(GenerationConfig &config, const std::string &where, const std::string &field,
          const Json &value) {
  auto found = readers().find(field);
  if (found != readers().end() && !value.is_null())
    found->second(config, {value, where + ": " + field});
}

Json parseObject(const std::string &name, const std::string &text) {
  Json root = parseJson(name, text);
  if (!root.is_object())
    fail("{}: expected an object, found {}", name, root.type_name());
  return root;
}

} // namespace

void GenerationConfig::set(const std::string &where, const std::string &field, const Json &value) {
  auto found = readers().find(field);
  if (found == readers().end())
    fail("{}: no field \"{}\" of a generation_config.json", where, printable(field));
  if (!value.is_null())
    found->second(*this, {value, where});
}

GenerationConfig GenerationConfig::parse(const std::string &name, const std::string &text) {
  Json root = parseObject(name, text);
  GenerationConfig result;
  for (const auto &[field, value] : root.items())
    read(result, name, field, value);
  return result;
}

GenerationConfig GenerationConfig::parseModelConfig(const std::string &name,
                                                    const std::string &text) {
  Json root = parseObject(name, text), fields = Json::object();
  // What the decoder's part says counts where the whole says nothing.
  for (const char *part : {"decoder", "generator", "text_config"})
    if (root.contains(part) && root[part].is_object() && !root[part].empty()) {
      fields = root[part];
      break;
    }
  for (const auto &[field, value] : root.items())
    if (!value.is_null())
      fields[field] = value;
  for (const auto &[own, field] :
       {std::pair("trg_sos_idx", "bos_token_id"), std::pair("trg_eos_idx", "eos_token_id"),
        std::pair("trg_pad_idx", "pad_token_id")})
    if (root.contains(own) && !fields.contains(field)) // of annotated_transformer
      fields[field] = root[own];
  // transformers fails here: sequences could not begin.
  if (!fields.contains("decoder_start_token_id") && !fields.contains("bos_token_id") &&
      root.contains("model_type") && root["model_type"].is_string()) {
    Json family = familyTokens(root["model_type"].get<std::string>());
    for (const auto &[field, value] : family.items())
      if (!root.contains(field) && !fields.contains(field))
        fields[field] = value;
  }
  GenerationConfig result;
  for (const auto &[field, value] : fields.items())
    read(result, name, field, value);
  if (root.contains("force_bos_token_to_be_generated") &&
      root["force_bos_token_to_be_generated"] == true)
    result.forcedBosTokenId = result.bosTokenId;
  return result;
}

GenerationConfig GenerationConfig::parseFile(const std::string &file, const std::string &name,
                                             const std::string &text) {
  return file == "config.json" ? parseModelConfig(name, text) : parse(name, text);
}

std::optional<GenerationConfig> GenerationConfig::find(const std::string &folder) {
  for (const char *file : {"generation_config.json", "config.json"})
    if (std::string path = folder + "/" + file; isFile(path))
      return parseFile(file, path, std::string(MappedFile(path).text()));
  return {};
}

} // namespace transformer::runtime
