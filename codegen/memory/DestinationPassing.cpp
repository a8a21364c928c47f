//===- DestinationPassing.cpp - results written where the caller wants ----===//
#include "codegen/memory/DestinationPassing.h"
#include "dialect/State.h"
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mlir::transformer;

/// Emits `destination`, reshaped to the source of `reshape`, right behind it.
static Value undoReshape(func::FuncOp function, Operation *reshape, Value destination) {
  ImplicitLocOpBuilder b(function.getLoc(), function.getContext());
  b.setInsertionPointAfterValue(destination);
  auto source = cast<RankedTensorType>(reshape->getOperand(0).getType());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
    SmallVector<OpFoldResult> shape;
    for (auto [i, size] : llvm::enumerate(source.getShape())) {
      if (!ShapedType::isDynamic(size)) {
        shape.push_back(b.getIndexAttr(size));
        continue;
      }
      // Only a dimension that stands alone may be dynamic.
      unsigned group = 0;
      for (auto [g, dims] : llvm::enumerate(collapse.getReassociationIndices()))
        if (llvm::is_contained(dims, int64_t(i))) {
          if (dims.size() != 1)
            return {};
          group = g;
        }
      shape.push_back(tensor::DimOp::create(b, destination, group).getResult());
    }
    return tensor::ExpandShapeOp::create(b, source, destination, collapse.getReassociationIndices(),
                                         shape);
  }
  auto expand = cast<tensor::ExpandShapeOp>(reshape);
  return tensor::CollapseShapeOp::create(b, source, destination, expand.getReassociationIndices());
}

bool mlir::transformer::hasOneReader(Value value) {
  llvm::SmallPtrSet<Operation *, 2> readers;
  for (Operation *user : value.getUsers())
    if (!isa<tensor::DimOp>(user))
      readers.insert(user);
  return readers.size() == 1;
}

bool mlir::transformer::isView(Operation *op) {
  return isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::ExtractSliceOp>(op);
}

/// Whether no op updates the memory of `value`, however many read it.
static bool isOnlyRead(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isView(user))
      return isOnlyRead(user->getResult(0));
    if (auto call = dyn_cast<func::CallOp>(user))
      return llvm::none_of(llvm::seq(call.getNumResults()), [&](unsigned result) {
        return destinationOf(call, result) == use.getOperandNumber();
      });
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(user))
      return use.get() != insert.getDest();
    auto dps = dyn_cast<DestinationStyleOpInterface>(user);
    return !dps || !dps.isDpsInit(&use);
  });
}

bool mlir::transformer::writeInto(func::FuncOp function, OpOperand &use, Value destination) {
  Value value = use.get();
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tensor::EmptyOp, bufferization::AllocTensorOp>(op)) {
    use.set(destination);
    if (op->use_empty())
      op->erase();
    return true;
  }
  if (!op || !(hasOneReader(value) || isOnlyRead(value)))
    return false;
  if (auto call = dyn_cast<func::CallOp>(op))
    return writeInto(
        function, call->getOpOperand(destinationOf(call, cast<OpResult>(value).getResultNumber())),
        destination);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return writeInto(function, insert.getDestMutable(), destination);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return writeInto(function, loop.getInitArgsMutable()[cast<OpResult>(value).getResultNumber()],
                     destination);
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    Value reshaped = undoReshape(function, op, destination);
    if (reshaped && writeInto(function, op->getOpOperand(0), reshaped))
      return true;
    if (reshaped)
      reshaped.getDefiningOp()->erase();
    return false;
  }
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return writeInto(function, *dps.getTiedOpOperand(cast<OpResult>(value)), destination);
  return false;
}

unsigned mlir::transformer::numDestinations(func::FuncOp function) {
  unsigned count = 0;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    count += !updatedArgument(function, i);
  return count;
}

unsigned mlir::transformer::destinationOf(func::CallOp call, unsigned result) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (std::optional<unsigned> argument = updatedArgument(callee, result))
    return *argument;
  unsigned behind = 0; // destinations from this one on
  for (unsigned i = result; i < call.getNumResults(); ++i)
    behind += !updatedArgument(callee, i);
  return call.getNumOperands() - behind;
}

void mlir::transformer::addDestinations(func::FuncOp function) {
  Block &block = function.front();
  auto ret = cast<func::ReturnOp>(block.getTerminator());
  OpBuilder b(ret);
  bool entry = function->hasAttr(attr::entry);
  for (OpOperand &result : ret->getOpOperands()) {
    unsigned i = result.getOperandNumber();
    if (std::optional<unsigned> argument = updatedArgument(function, i)) {
      updateInPlace(function, result, function.getArgument(*argument));
      continue;
    }
    NamedAttrList attributes(function.getResultAttrDict(i));
    if (entry)
      attributes.set(attr::output, b.getUnitAttr());
    unsigned last = function.getNumArguments();
    (void)function.insertArgument(last, function.getResultTypes()[i],
                                  attributes.getDictionary(function.getContext()),
                                  function.getLoc());
    function.setResultAttrs(i, DictionaryAttr());
    Value destination = function.getArgument(last);
    Value value = result.get();
    bool returnedOnce = llvm::count(ret.getOperands(), value) == 1;
    if (!returnedOnce || !writeInto(function, result, destination))
      result.set(linalg::CopyOp::create(b, value.getLoc(), value, destination).getResult(0));
  }
}
