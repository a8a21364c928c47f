//===- FamilyTokens.cpp - tokens that a shortened config.json leaves out --===//
#include "runtime/generate/FamilyTokens.h"

namespace transformer::runtime {
namespace {

constexpr int noToken = -1;

struct Family {
  const char *modelType;
  int bos, eos, pad, decoderStart, forcedEos;
};

constexpr Family families[] = {
    {"bart", 0, 2, 1, 2, 2},
    {"mbart", 0, 2, 1, noToken, 2},
    {"marian", noToken, 0, 58100, 58100, 0},
    {"pegasus", noToken, 1, 0, 0, 1},
    {"blenderbot", 1, 2, 0, 1, 2},
    {"blenderbot-small", 1, 2, 0, 1, 2},
    {"whisper", 50256, 50256, 50256, 50257, noToken},
    // transformers has no start; all checkpoints begin with padding.
    {"t5", noToken, 1, 0, 0, noToken},
};

} // namespace

Json familyTokens(const std::string &modelType) {
  Json result = Json::object();
  auto add = [&](const char *field, int token) {
    if (token != noToken)
      result[field] = token;
  };
  for (const Family &family : families)
    if (modelType == family.modelType) {
      add("bos_token_id", family.bos);
      add("eos_token_id", family.eos);
      add("pad_token_id", family.pad);
      add("decoder_start_token_id", family.decoderStart);
      add("forced_eos_token_id", family.forcedEos);
    }
  return result;
}

} // namespace transformer::runtime
