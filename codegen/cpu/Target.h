//===- Target.h - the CPUs that code is made for --------------------------===//
#ifndef CODEGEN_CPU_TARGET_H
#define CODEGEN_CPU_TARGET_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "llvm/Support/Error.h"

namespace mlir::transformer {

/// The description of `arch`: "native", an x86-64 level ("x86-64", "x86-64-v2",
/// "x86-64-v3", "x86-64-v4"), "aarch64", or an LLVM CPU name of this machine's
/// architecture; behind each, "/native": with tiles for this machine's caches
/// and pipes, "/winograd" or "/no-winograd": all linear layers by Winograd's inner
/// product or by multiply-adds alone, whatever the CPU, "/no-amx": without matrix registers. Error:
/// an unknown name.
llvm::Expected<cpu::TargetAttr> cpuTarget(MLIRContext *context, llvm::StringRef name);

} // namespace mlir::transformer

#endif // CODEGEN_CPU_TARGET_H
