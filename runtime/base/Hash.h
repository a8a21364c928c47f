//===- Hash.h - XXH3, for what changes by accident --------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_HASH_H
#define TRANSFORMER_RUNTIME_HASH_H

#include <cstdint>
#include <memory>
#include <string_view>

namespace transformer::runtime {

/// XXH3 with 64 bits and no seed, as llvm::xxh3_64bits computes it, too. It tells apart what
/// differs by accident; it does not resist an attacker.
uint64_t hashOf(std::string_view bytes);

/// The same of bytes that come in pieces.
class RunningHash {
public:
  RunningHash();
  ~RunningHash();

  void add(std::string_view bytes);

  /// Of all bytes so far.
  uint64_t value() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_HASH_H
