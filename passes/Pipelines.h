//===- Pipelines.h - named pipelines on the dialect -----------------------===//
#ifndef PASSES_PIPELINES_H
#define PASSES_PIPELINES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::transformer {

/// The numbers that linear layers multiply, by the names of the command line; f32: as they are.
struct LinearDtypes {
  std::string weights = "f32"; // bf16, f16, int8, int4
  /// bf16 or f16 with such weights, tf32 with f32, int8 with int8 or int4.
  std::string activations = "f32";
  /// Attention multiplies, and sums over rows add, bf16 or f16, too, where activations are that.
  bool attention = false;
  /// Attention does so in programs that keep no state.
  bool encoders = false;

  bool areRounded() const { return weights != "f32" || activations != "f32"; }
  /// Names the option, what was expected and what was found.
  llvm::Error check() const;
};

/// Rounds what linear layers, and attention as far as `dtypes` says, multiply.
void addRounding(OpPassManager &manager, const LinearDtypes &dtypes);

/// What a program is for, by the names of the command line.
struct Purpose {
  std::string mode = "inference";
  std::string recompute = "none";    // of the forward, in training: one of recomputeNames
  std::string dropout;               // a rate, in training; empty: those of the definition
  std::vector<std::string> frozen;   // globs of parameters that are not trained
  std::string optimizer = "adamw";   // in training: one of optimizerNames
  bool accumulate = false;           // in training: a step may be divided
  std::string mixedPrecision = "no"; // or bf16, f16, tf32, in training: what products multiply
  bool deferUpdate = false;          // in training: the next step's forward hides the update
  bool sumsTables = false;      // in training: what is added to a table's gradient sums its squares
  bool dropsUnlabelled = false; // in training: tokens without a label have no scores
  int64_t rowsOfScores = 0;     // of a vocabulary, at a time in training; 0: as many as for a CPU

  bool trains() const { return mode == "train"; }
  /// Names the option, what was expected and what was found.
  llvm::Error check() const;
};

/// `transformer-fuse`: from a model as written to fused core ops, each distinct
/// layer once, its linear layers on numbers of `dtypes`; one that trains becomes `@train_step`.
/// `manager` runs on a module.
void buildFusionPipeline(OpPassManager &manager, const LinearDtypes &dtypes = {},
                         const Purpose &purpose = {});

/// What makes a step of gradients: the names that `optimizer` may be.
llvm::SmallVector<llvm::StringRef> optimizerNames();

/// What the backward may compute again instead of keeping it.
llvm::SmallVector<llvm::StringRef> recomputeNames();

/// "a, b or c".
std::string listOf(llvm::ArrayRef<llvm::StringRef> names);

/// Registers every pass of passes/ for textual use.
void registerTransformerPasses();

} // namespace mlir::transformer

#endif // PASSES_PIPELINES_H
