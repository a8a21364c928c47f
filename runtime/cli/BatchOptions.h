//===- BatchOptions.h - the batch on the command line -----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_BATCHOPTIONS_H
#define TRANSFORMER_RUNTIME_BATCHOPTIONS_H

#include "runtime/generate/Batcher.h"

#include <CLI/CLI.hpp>

namespace transformer::runtime {

/// --batch-size and --batch-tokens.
inline void addBatchOptions(CLI::App &app, BatchLimits &limits) {
  app.add_option("--batch-size", limits.rows, "Sequences and beams in work at once")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20));
  app.add_option("--batch-tokens", limits.tokens,
                 "New tokens at once: longer prompts are read in parts, beside which others go on")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24));
}

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_BATCHOPTIONS_H
