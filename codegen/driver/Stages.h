//===- Stages.h - from a model to a target's code -------------------------===//
//
// The one table of stages: the pipelines of transformer-opt, --emit of
// transformer-compile and its help are made from it.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_DRIVER_STAGES_H
#define CODEGEN_DRIVER_STAGES_H

#include "mlir/Support/LLVM.h"
#include "passes/Pipelines.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace mlir::transformer {

/// What stages ask of the command line, by its names.
struct StageOptions {
  std::string arch; // "": the target's own
  LinearDtypes dtypes;
  Purpose purpose;
};

/// A stage runs on the result of the one before it.
struct Stage {
  StringRef name;        // of --emit
  StringRef pipeline;    // of transformer-opt
  StringRef description; // of what there is behind it
  void (*build)(OpPassManager &manager, const StageOptions &options);
  bool asks = false; // whether it looks at the options
};

/// Where code is for: --target.
struct TargetKind {
  StringRef name;
  StringRef pipeline;        // all its stages
  ArrayRef<Stage> stages;    // on MLIR; the first ones are the same for all
  ArrayRef<StringRef> files; // that --emit writes behind them, in order
  StringRef defaultArch;
};

ArrayRef<TargetKind> targetKinds();
/// Null if there is none of that name.
const TargetKind *findTargetKind(StringRef name);

/// What a CPU's program rounds of these: where it multiplies bfloat16 in matrix registers,
/// attention of programs that keep no state does so, too.
LinearDtypes cpuDtypes(const StageOptions &options);

/// Everything that --emit can be for this target, in order: "dialect" first.
SmallVector<StringRef> emittable(const TargetKind &kind);
/// For help: the names of all targets; what --emit can be for each.
std::string targetNames();
std::string emitHelp();

/// Registers the passes of codegen/, a pipeline for each stage and one for each target.
void registerCodegenPipelines();

/// Registers every dialect and external model that the pipelines need.
void registerCodegenDialects(DialectRegistry &registry);

} // namespace mlir::transformer

#endif // CODEGEN_DRIVER_STAGES_H
