//===- Hash.cpp - XXH3, for what changes by accident ----------------------===//
#include "runtime/base/Hash.h"

#define XXH_INLINE_ALL // programs run where its library is not installed
#include <xxhash.h>

namespace transformer::runtime {

uint64_t hashOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

struct RunningHash::State {
  XXH3_state_t hash;
};

RunningHash::RunningHash() : state(std::make_unique<State>()) { XXH3_64bits_reset(&state->hash); }

RunningHash::~RunningHash() = default;

void RunningHash::add(std::string_view bytes) {
  XXH3_64bits_update(&state->hash, bytes.data(), bytes.size());
}

uint64_t RunningHash::value() const { return XXH3_64bits_digest(&state->hash); }

} // namespace transformer::runtime
