//===- TextFile.h - the lines of a file as tokens ---------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TEXTFILE_H
#define TRANSFORMER_RUNTIME_TEXTFILE_H

#include "runtime/train/TokenRows.h"

#include <functional>
#include <string>
#include <string_view>

namespace transformer::runtime {

/// What a line becomes. `types`, `target` and `label` are of objectives that have them.
struct Example {
  std::vector<int64_t> ids, types, target;
  double label = 0;
  bool isCut = false; // was too long
};

/// What a file becomes: a row a line.
struct Examples {
  TokenRows ids, types, targets;
  std::vector<double> labels;
  int64_t numCut = 0;

  void add(const Example &example);
  void append(const Examples &other);
};

/// Called with the share of the work that is done, by one thread at a time.
using LoadProgress = std::function<void(double share)>;

/// Reads the lines of `path`, calling `make` on all threads for each that is not blank; an example
/// without ids is left out. Throws Error that names file and line: of what `make` throws, and of
/// what is not UTF-8.
Examples readExamples(const std::string &path,
                      const std::function<Example(std::string_view line)> &make,
                      const LoadProgress &progress);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TEXTFILE_H
