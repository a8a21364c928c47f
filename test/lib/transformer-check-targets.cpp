//===- transformer-check-targets.cpp - what each target must lower --------===//
//
// A test tool. Walks the registered kernels and names those that one target's code generation takes
// and the other's does not. With --ops it lists the ops of the dialect that compute something, for
// tests that want each of them.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/nests/NestEmitters.h"
#include "codegen/gpu/nests/Kernels.h"
#include "codegen/kernels/KernelDialect.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

struct Targets {
  llvm::StringSet<> cpu, gpu;
};

template <typename OpTy> void look(Targets &targets) {
  if constexpr (requires(Emit &b, OpTy op) { emitNest(b, op); })
    targets.cpu.insert(OpTy::getOperationName());
  if constexpr (requires(simt::Loops &b, OpTy op) { simt::emitKernel(b, op); })
    targets.gpu.insert(OpTy::getOperationName());
}

template <typename... OpTys> Targets lookAtAll() {
  Targets targets;
  (look<OpTys>(targets), ...);
  return targets;
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<kernel::KernelDialect>();
  MLIRContext context(registry);
  context.loadDialect<kernel::KernelDialect>();
  if (argc > 1 && StringRef(argv[1]) == "--ops") {
    for (RegisteredOperationName name : context.getRegisteredOperations())
      if (name.getDialectNamespace() == TransformerDialect::getDialectNamespace() &&
          !name.hasTrait<OpTrait::ZeroResults>())
        llvm::outs() << name << '\n';
    return 0;
  }
  Targets targets = lookAtAll<
#define GET_OP_LIST
#include "codegen/kernels/KernelOps.cpp.inc"
      >();
  unsigned count = 0, missing = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != kernel::KernelDialect::getDialectNamespace())
      continue;
    StringRef text = name.getStringRef();
    bool cpu = targets.cpu.contains(text), gpu = targets.gpu.contains(text);
    count += cpu;
    if (cpu == gpu)
      continue;
    ++missing;
    llvm::outs() << text << " has "
                 << (cpu ? "a nest on a CPU and no kernel on a GPU\n"
                         : "a kernel on a GPU and no nest on a CPU\n");
  }
  llvm::outs() << count << " kernels\n";
  return missing || !count;
}
