//===- MergeKernels.cpp - equal kernels once ------------------------------===//
#include "codegen/gpu/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_MERGEKERNELS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

constexpr auto noLocations = OperationEquivalence::IgnoreLocations;

/// All of a kernel's attributes but its name.
SmallVector<NamedAttribute> attributesOf(FunctionOpInterface kernel) {
  return llvm::filter_to_vector(kernel->getAttrDictionary(), [](NamedAttribute attribute) {
    return attribute.getName() != SymbolTable::getSymbolAttrName();
  });
}

/// The same for equal kernels.
unsigned hashOf(FunctionOpInterface kernel) {
  llvm::hash_code hash = hash_value(kernel.getFunctionType());
  kernel.getFunctionBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                        op, OperationEquivalence::ignoreHashValue,
                                        OperationEquivalence::ignoreHashValue, noLocations));
  });
  return static_cast<unsigned>(hash);
}

bool areEqual(FunctionOpInterface a, FunctionOpInterface b) {
  return attributesOf(a) == attributesOf(b) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getFunctionBody(), &b.getFunctionBody(),
                                                    noLocations);
}

struct MergeKernelsPass : mlir::transformer::impl::MergeKernelsBase<MergeKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    llvm::DenseMap<SymbolRefAttr, SymbolRefAttr> replaced;
    for (auto module : getOperation().getOps<mlir::gpu::GPUModuleOp>())
      merge(module, replaced);
    if (replaced.empty())
      return;
    getOperation().walk([&](mlir::gpu::LaunchFuncOp launch) {
      if (SymbolRefAttr kernel = replaced.lookup(launch.getKernelAttr()))
        launch.setKernelAttr(kernel);
    });
  }

private:
  static SymbolRefAttr nameIn(mlir::gpu::GPUModuleOp module, FunctionOpInterface kernel) {
    return SymbolRefAttr::get(module.getNameAttr(), {FlatSymbolRefAttr::get(kernel.getNameAttr())});
  }

  /// Erases what equals a kernel before it.
  static void merge(mlir::gpu::GPUModuleOp module,
                    llvm::DenseMap<SymbolRefAttr, SymbolRefAttr> &replaced) {
    llvm::DenseMap<unsigned, SmallVector<FunctionOpInterface>> kept;
    for (auto kernel : llvm::make_early_inc_range(module.getOps<FunctionOpInterface>())) {
      if (!kernel->hasAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName()))
        continue;
      SmallVector<FunctionOpInterface> &others = kept[hashOf(kernel)];
      auto equal = llvm::find_if(others, [&](auto other) { return areEqual(other, kernel); });
      if (equal == others.end()) {
        others.push_back(kernel);
        continue;
      }
      replaced[nameIn(module, kernel)] = nameIn(module, *equal);
      kernel.erase();
    }
  }
};

} // namespace
