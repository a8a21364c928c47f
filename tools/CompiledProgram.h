//===- CompiledProgram.h - compile a module and run it here -----*- C++ -*-===//
#ifndef TOOLS_COMPILEDPROGRAM_H
#define TOOLS_COMPILEDPROGRAM_H

#include "codegen/driver/Compile.h"
#include "dialect/reference/Defaults.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir::transformer {

/// Weights and inputs of a run, read by the runtime.
class RunData {
public:
  /// `weights` is what transformer-run's --weights takes, `inputs` what its
  /// --inputs takes.
  static llvm::Expected<RunData> open(const std::string &weights,
                                      const std::vector<std::string> &inputs);

  /// The inputs by name.
  const reference::NamedTensors &inputs() const { return given; }

  /// The value of a parameter, by its name or an alias.
  FailureOr<reference::Tensor> parameter(ParameterOp op) const;

  /// Compiles `module` with `options` (its files do not count) for this machine, loads it into
  /// this process, runs `entries` and returns the outputs of each by name.
  llvm::Expected<std::vector<reference::NamedTensors>>
  runCompiled(ModuleOp module, const std::vector<std::string> &entries,
              CompileOptions options) const;

private:
  std::string weights;
  std::vector<std::string> inputFiles;
  reference::NamedTensors given;
};

} // namespace mlir::transformer

#endif // TOOLS_COMPILEDPROGRAM_H
