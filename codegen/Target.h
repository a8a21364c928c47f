//===- Target.h - what code generation knows of a machine -----------------===//
#ifndef CODEGEN_TARGET_H
#define CODEGEN_TARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::transformer {

/// The facts of a CPU that tile sizes follow from. No pass holds such a number
/// as a literal.
struct CpuTarget {
  std::string triple;                // LLVM's target triple
  std::string name;                  // as asked for: x86-64-v3, native, x86-64-v3/native, ...
  std::string arch;                  // whose code it is: x86-64-v3, native, ...
  std::string cpu;                   // LLVM's CPU name, for scheduling
  std::string features;              // LLVM's feature string
  std::vector<std::string> required; // CPU features that a program checks for
  int64_t vectorLanes = 8;           // f32 lanes of a vector register
  int64_t vectorRegisters = 16;
  int64_t l1Bytes = 32 << 10;  // data cache of a core
  int64_t l2Bytes = 512 << 10; // unified cache of a core
  bool hasFma = true;
  /// Linear layers by Winograd's inner product (Winograd.h): additions have pipes
  /// of their own beside the multiply-adds, and there are registers for it.
  bool winograd = false;
  /// Of at least so many inputs K. Shorter sums are one block of a pair's or a
  /// product's additions either way, of which those of pairs round more.
  int64_t winogradLeastK = 128;

  /// Vectors in a row of the register tile.
  int64_t tileVectors() const { return 2; }
  /// Columns of a panel.
  int64_t panelColumns() const { return vectorLanes * tileVectors(); }
  /// Rows of the register tile: accumulators, one row of the panel and a
  /// broadcast must fit the registers, without FMA also the products.
  int64_t tileRows() const { return vectorRegisters >= 32 ? 8 : hasFma ? 6 : 4; }
};

/// The description of `arch`: "native", an x86-64 level ("x86-64", "x86-64-v2",
/// "x86-64-v3", "x86-64-v4"), "aarch64", or an LLVM CPU name of this machine's
/// architecture; behind each, "/native": with tiles for this machine's caches
/// and pipes, "/winograd" or "/no-winograd": all linear layers by Winograd's inner
/// product or by multiply-adds alone, whatever the CPU. Error: an unknown name.
llvm::Expected<CpuTarget> cpuTarget(llvm::StringRef name);

} // namespace mlir::transformer

#endif // CODEGEN_TARGET_H
