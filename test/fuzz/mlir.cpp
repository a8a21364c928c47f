//===- mlir.cpp - fuzz target: a model's text -----------------------------===//
#include "dialect/ModelText.h"
#include "mlir/IR/Diagnostics.h"
#include "test/fuzz/Context.h"
#include "llvm/Support/raw_ostream.h"

using namespace transformer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::MemoryFile file;
  file.fill(fuzz::text(data, size));
  mlir::MLIRContext &context = fuzz::context();
  bool explained = false;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    explained |= diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    return mlir::success();
  });
  auto module = mlir::transformer::parseModel(file.path(), &context);
  if (!module && !explained)
    abort();
  if (module)
    module->print(llvm::nulls());
  return 0;
}
