//===- Verify.h - the compiled program beside the specification -*- C++ -*-===//
#ifndef TOOLS_VERIFY_H
#define TOOLS_VERIFY_H

#include "mlir/IR/BuiltinOps.h"
#include "tools/CompiledProgram.h"

namespace mlir::transformer {

struct VerifyOptions {
  std::vector<std::string> entries = {"forward"};
  double bound = 1e-4;    // error of an element over the tensor's largest magnitude
  double floor = 0;       // over the largest of all outputs: what counts as none
  CompileOptions compile; // arch, dtypes and program count
};

/// Compares the outputs of the compiled program's entries with the reference
/// interpreter's, on the weights that the program multiplies by: rounded with a
/// `dtypes`, of which the error is then told beside that of float32, and for
/// a language model the perplexity of the inputs. Where they differ, finds the first layer and op
/// that do: the entry is compiled again and again with one more output, the value of an op, by
/// bisection; a call that differs is inlined and searched in turn. Writes a report to `out`;
/// returns whether all outputs of all entries agree. Error: what does not compile or run.
llvm::Expected<bool> verifyProgram(ModuleOp module, const RunData &data,
                                   const VerifyOptions &options, llvm::raw_ostream &out);

} // namespace mlir::transformer

#endif // TOOLS_VERIFY_H
