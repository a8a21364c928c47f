//===- FamilyTokens.cpp - tokens that a shortened config.json leaves out --===//
#include "runtime/generate/FamilyTokens.h"

namespace transformer::runtime {
namespace {

constexpr int none = -1;

struct Tokens {
  const char *modelType;
  int bos, eos, pad, decoderStart, forcedEos;
};

constexpr Tokens families[] = {
    {"bart", 0, 2, 1, 2, 2},
    {"mbart", 0, 2, 1, none, 2},
    {"marian", none, 0, 58100, 58100, 0},
    {"pegasus", none, 1, 0, 0, 1},
    {"blenderbot", 1, 2, 0, 1, 2},
    {"blenderbot-small", 1, 2, 0, 1, 2},
    {"t5", none, 1, 0, 0, none}, // transformers has no start; all checkpoints begin with padding
};

} // namespace

Json familyTokens(const std::string &modelType) {
  Json result = Json::object();
  auto add = [&](const char *field, int token) {
    if (token != none)
      result[field] = token;
  };
  for (const Tokens &tokens : families)
    if (modelType == tokens.modelType) {
      add("bos_token_id", tokens.bos);
      add("eos_token_id", tokens.eos);
      add("pad_token_id", tokens.pad);
      add("decoder_start_token_id", tokens.decoderStart);
      add("forced_eos_token_id", tokens.forcedEos);
    }
  return result;
}

} // namespace transformer::runtime
