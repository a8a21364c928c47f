//===- Import.h - fuzz targets of what the importer reads -------*- C++ -*-===//
#ifndef TRANSFORMER_TEST_FUZZ_IMPORT_H
#define TRANSFORMER_TEST_FUZZ_IMPORT_H

#include "test/fuzz/Context.h"

namespace transformer::fuzz {

/// Imports the checkpoint at `path`. Whatever fails has to say why, in one line, and never that
/// what the importer itself has made is not valid.
inline void import(const std::string &path) {
  std::string error;
  if (failed(mlir::transformer::importModel(path, context(), error)) &&
      (error.empty() || error.find('\n') != std::string::npos ||
       error.starts_with(path + "/config.json: the imported module is not valid")))
    abort();
}

} // namespace transformer::fuzz

#endif // TRANSFORMER_TEST_FUZZ_IMPORT_H
