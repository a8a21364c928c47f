//===- HostInputs.cpp - inputs that sizes depend on, on the host, too -----===//
#include "codegen/gpu/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/module/Description.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      WalkResult result = function.walk([&](kernel::CountTokensOp op) {
        std::optional<unsigned> place = inputOf(function, op.getMask());
        if (!place) {
          op.emitOpError("depends on what the device computes: expected an entry point's input");
          return WalkResult::interrupt();
        }
        op.getMaskMutable().assign(hostCopy(function, op.getMask(), *place));
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }
};

} // namespace
