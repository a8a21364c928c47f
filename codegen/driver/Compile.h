//===- Compile.h - what transformer-compile does --------------------------===//
#ifndef CODEGEN_DRIVER_COMPILE_H
#define CODEGEN_DRIVER_COMPILE_H

#include "passes/Pipelines.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::transformer {

struct TargetKind;

/// Low-rank adapters, by the names of the command line.
struct Lora {
  int64_t rank;
  double alpha, dropout;
  std::vector<std::string> targets;
};

/// The options of the command line, by its names.
struct CompileOptions {
  std::string input;
  std::string output;
  std::string target = "cpu";
  std::string arch; // "": what the target is by itself
  Purpose purpose;
  std::optional<Lora> lora;
  LinearDtypes dtypes;
  std::string emit; // empty: by the output's ending
  bool embedWeights = false;
  bool timing = false;
  bool verifyStages = false;        // the IR, after each of Stages.h
  bool verifyEach = false;          // after every pass
  std::string program;              // argv[0], to find the runtime libraries
  const TargetKind *kind = nullptr; // stages of the caller's own, not those that `target` names
};

/// Compiles a model definition. The output appears only when all went well.
/// Errors name the file or option, what was expected and what was found.
llvm::Error compile(const CompileOptions &options);

} // namespace mlir::transformer

#endif // CODEGEN_DRIVER_COMPILE_H
