//===- Context.h - an MLIR context for fuzz targets -------------*- C++ -*-===//
#ifndef TRANSFORMER_TEST_FUZZ_CONTEXT_H
#define TRANSFORMER_TEST_FUZZ_CONTEXT_H

#include "mlir/IR/MLIRContext.h"
#include "models/Import.h"
#include "test/fuzz/Fuzz.h"

#include <memory>

namespace transformer::fuzz {

/// To make one takes longer than most inputs; but it keeps every type and attribute.
inline mlir::MLIRContext &context() {
  static std::unique_ptr<mlir::MLIRContext> current;
  static int uses = 0;
  if (uses++ % 256 == 0) {
    mlir::DialectRegistry registry;
    mlir::transformer::registerImportDialects(registry);
    current = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  }
  return *current;
}

} // namespace transformer::fuzz

#endif // TRANSFORMER_TEST_FUZZ_CONTEXT_H
