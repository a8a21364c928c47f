//===- Bufferize.cpp - one-shot bufferisation of a module -----------------===//
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "codegen/Passes.h"
#include "codegen/memory/CallGraph.h"
#include "codegen/memory/DestinationPassing.h"
#include "dialect/State.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_BUFFERIZEMODULE
#include "codegen/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The argument whose memory `value` is, seen through casts, reshapes and loops, whose turns update
/// what these began with.
BlockArgument asArgument(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      value = loop.getInitArgs()[cast<OpResult>(value).getResultNumber()];
      continue;
    }
    if (!isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

/// Results of a call are the destinations among its arguments.
void dropResults(func::CallOp call, ArrayRef<unsigned> destinations) {
  if (call.getNumResults() == 0)
    return;
  OpBuilder b(call);
  auto replacement =
      func::CallOp::create(b, call.getLoc(), call.getCallee(), TypeRange{}, call.getOperands());
  replacement->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  for (auto [argument, result] : llvm::zip_equal(destinations, call.getResults()))
    result.replaceAllUsesWith(call.getOperand(argument));
  call.erase();
}

/// Outs of an op that are one value are buffers of their own: what one fills another may not,
/// though nothing reads what is scratch.
void separateOuts(DestinationStyleOpInterface op) {
  llvm::SmallDenseSet<Value> earlier;
  for (OpOperand &out : op.getDpsInitsMutable())
    if (!earlier.insert(out.get()).second)
      if (auto empty = out.get().getDefiningOp<tensor::EmptyOp>())
        out.set(OpBuilder(op).clone(*empty)->getResult(0));
}

/// Where a state's old value is read after it has been updated, bufferisation updates a copy, or
/// copies what is read.
LogicalResult checkStateStays(func::FuncOp function) {
  auto ret = cast<func::ReturnOp>(function.front().getTerminator());
  auto refuse =
      [&](StringRef state) {
        return function.emitOpError()
               << "state \"" << state << "\" of @" << function.getName()
               << " cannot be updated in place: its old value is read after the update";
      };
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (std::optional<unsigned> argument = updatedArgument(function, i))
      if (asArgument(ret.getOperand(i)) != function.getArgument(*argument))
        return refuse(stateOfResult(function, i));
  WalkResult copied = function.walk([&](memref::CopyOp copy) {
    BlockArgument from = asArgument(copy.getSource());
    StringRef state = from && from.getOwner() == &function.front()
                          ? stateOfArgument(function, from.getArgNumber())
                          : StringRef();
    if (state.empty() || !copy.getTarget().getDefiningOp<memref::AllocOp>())
      return WalkResult::advance();
    (void)refuse(state);
    return WalkResult::interrupt();
  });
  return failure(copied.wasInterrupted());
}

/// Functions whose results are destination arguments return nothing.
LogicalResult dropResults(ModuleOp module) {
  llvm::StringMap<SmallVector<unsigned>> destinations;
  for (func::FuncOp function : calleesFirst(module)) {
    SmallVector<func::CallOp> calls;
    function.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls)
      dropResults(call, destinations.lookup(call.getCallee()));
    if (failed(checkStateStays(function)))
      return failure();
    auto ret = cast<func::ReturnOp>(function.front().getTerminator());
    for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
      BlockArgument argument = asArgument(value);
      if (!argument)
        return ret.emitOpError() << "result " << i << " of @" << function.getName()
                                 << " was not written to its destination";
      destinations[function.getName()].push_back(argument.getArgNumber());
    }
    if (function.getNumResults() == 0)
      continue;
    ret->eraseOperands(0, ret.getNumOperands());
    (void)function.eraseResults(llvm::BitVector(function.getNumResults(), true));
  }
  return success();
}

/// What nobody in the module calls gets its arguments from the runtime: inputs of
/// entry points and sources of prepare functions are the caller's, only state and
/// the destinations at the end may be written to.
SmallVector<func::FuncOp> protectInputs(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::SetVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(attr::entry))
      functions.insert(function);
  for (auto prepared : module.getOps<PreparedOp>())
    functions.insert(symbols.lookup<func::FuncOp>(prepared.getFunction()));
  for (func::FuncOp function : functions)
    for (unsigned i = 0, n = function.getNumArguments() - numDestinations(function); i < n; ++i)
      if (isa<TensorType>(function.getArgumentTypes()[i]) && stateOfArgument(function, i).empty())
        function.setArgAttr(i, bufferization::BufferizationDialect::kWritableAttrName,
                            BoolAttr::get(module.getContext(), false));
  return functions.takeVector();
}

/// The constants that bufferisation has made, in the order in which the module reads them, numbered
/// in it: upstream goes through functions in an order of addresses, which differs from run to run.
void orderConstants(ModuleOp module, const DenseSet<Operation *> &before) {
  SymbolTable symbols(module);
  llvm::SetVector<memref::GlobalOp> found;
  module.walk([&](memref::GetGlobalOp op) {
    auto global = symbols.lookup<memref::GlobalOp>(op.getName());
    if (global && !before.contains(global))
      found.insert(global);
  });
  SmallVector<memref::GlobalOp> made = llvm::to_vector(found);
  auto rename = [&](memref::GlobalOp global, const Twine &name) {
    auto attr = StringAttr::get(module.getContext(), name);
    if (failed(SymbolTable::replaceAllSymbolUses(global, attr, module)))
      llvm_unreachable("uses of a constant are symbols");
    global.setSymNameAttr(attr);
  };
  SmallVector<std::string> bases;
  for (auto [i, global] : llvm::enumerate(made)) {
    StringRef name = global.getSymName(), number = name.rsplit('_').second;
    bool isNumbered = !number.empty() && llvm::all_of(number, llvm::isDigit);
    bases.push_back((isNumbered ? name.rsplit('_').first : name).str());
    rename(global, "__ordered_" + Twine(i)); // which no constant is called
  }
  llvm::StringMap<unsigned> counts;
  for (auto [global, base] : llvm::zip_equal(made, bases)) {
    unsigned count = counts[base]++;
    rename(global, count ? base + "_" + Twine(count - 1) : Twine(base));
  }
  for (memref::GlobalOp global : llvm::reverse(made))
    global->moveBefore(&module.getBody()->front());
}

struct BufferizeModulePass : mlir::transformer::impl::BufferizeModuleBase<BufferizeModulePass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    module.walk(separateOuts);
    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.setFunctionBoundaryTypeConversion(bufferization::LayoutMapOption::IdentityLayoutMap);
    options.bufferAlignment = 64;
    bufferization::BufferizationState state;
    auto globals = module.getOps<memref::GlobalOp>();
    DenseSet<Operation *> before(globals.begin(), globals.end());
    SmallVector<func::FuncOp> entered = protectInputs(module);
    if (failed(bufferization::runOneShotModuleBufferize(module, options, state)) ||
        failed(dropResults(module)))
      return signalPassFailure();
    orderConstants(module, before);
    for (func::FuncOp function : entered)
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.removeArgAttr(i, bufferization::BufferizationDialect::kWritableAttrName);
    WalkResult left = module.walk([](Operation *op) {
      for (Type type : op->getResultTypes())
        if (isa<TensorType>(type)) {
          op->emitOpError("still makes a tensor after bufferisation");
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (left.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
