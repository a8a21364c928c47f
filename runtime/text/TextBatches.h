//===- TextBatches.h - texts through an encoder -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TEXTBATCHES_H
#define TRANSFORMER_RUNTIME_TEXTBATCHES_H

#include "runtime/execute/Program.h"
#include "runtime/text/Tokenizer.h"

#include <functional>
#include <span>

namespace transformer::runtime {

/// Calls `entry`, which has input_ids, with texts of similar length together, padded on the right.
/// `use` gets each finished call and which text each of its rows is.
void runInBatches(Program &program, const EntryInfo &entry, const std::vector<Encoding> &texts,
                  int64_t padId,
                  const std::function<void(const Call &call, std::span<const size_t> rows)> &use);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TEXTBATCHES_H
