//===- HostInputs.cpp - inputs that the host reads, on the host, too ------===//
#include "codegen/gpu/Passes.h"
#include "codegen/module/Description.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_HOSTINPUTS
#include "codegen/gpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The place of an argument among the inputs of its entry point; nothing for one that is none.
std::optional<unsigned> inputOf(func::FuncOp function, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &function.front() || !function->hasAttr(attr::entry) ||
      roleOf(function, argument.getArgNumber()) != Role::Input)
    return std::nullopt;
  unsigned place = 0;
  for (unsigned i = 0; i < argument.getArgNumber(); ++i)
    place += roleOf(function, i) == Role::Input;
  return place;
}

/// The argument that is the host's copy of input `place`, made on first use.
Value hostCopy(func::FuncOp function, Value input, unsigned place) {
  Builder b(function.getContext());
  for (BlockArgument argument : function.getArguments())
    if (auto of = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kHostInputAttr);
        of && of.getInt() == place)
      return argument;
  auto attributes = b.getDictionaryAttr(b.getNamedAttr(kHostInputAttr, b.getIndexAttr(place)));
  (void)function.insertArgument(function.getNumArguments(), input.getType(), attributes,
                                function.getLoc());
  return function.getArguments().back();
}

struct HostInputsPass : mlir::transformer::impl::HostInputsBase<HostInputsPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](memref::LoadOp op) {
        if (op->getParentOfType<scf::ParallelOp>())
          return;
        if (std::optional<unsigned> place = inputOf(function, op.getMemRef()))
          op.getMemrefMutable().assign(hostCopy(function, op.getMemRef(), *place));
      });
  }
};

} // namespace
