//===- OutlineParallel.cpp - scf.forall to tr_parallel_for ----------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/module/Descriptor.h"
#include "codegen/module/HostCalls.h"
#include "codegen/module/Works.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"
#include "runtime/abi/ModuleAbi.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_OUTLINEPARALLEL
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Splits a flat task index into the loop's induction variables, row major.
void mapInductionVariables(ImplicitLocOpBuilder &b, scf::ForallOp loop, Value flat,
                           ValueRange lower, ValueRange step, ValueRange trips, IRMapping &map) {
  for (int64_t d = loop.getRank() - 1; d >= 0; --d) {
    Value i = flat;
    if (d) {
      i = arith::RemUIOp::create(b, flat, trips[d]);
      flat = arith::DivUIOp::create(b, flat, trips[d]);
    }
    Value offset = arith::MulIOp::create(b, i, step[d]);
    map.map(loop.getInductionVar(d), arith::AddIOp::create(b, lower[d], offset).getResult());
  }
}

/// Takes what the loop says about itself out of its body.
WorkPointers takeWork(ImplicitLocOpBuilder &b, scf::ForallOp loop, unsigned number) {
  auto works = loop.getBody()->getOps<kernel::WorkOp>();
  kernel::WorkOp op = works.empty() ? kernel::WorkOp() : *works.begin();
  WorkPointers pointers = lowerWork(b, loop->getParentOfType<func::FuncOp>(), op, number);
  if (op)
    op.erase();
  return pointers;
}

/// What a value travels in: a buffer in its pointer and sizes.
SmallVector<Value> fieldsOf(ImplicitLocOpBuilder &b, Value value) {
  if (isPointerAndSizes(value.getType()))
    return pointerAndSizes(b, value);
  Type type = LLVMTypeConverter(b.getContext()).convertType(value.getType());
  return {UnrealizedConversionCastOp::create(b, type, value).getResult(0)};
}

/// A value of `type` of its fields, which `next` gives.
Value fromFields(ImplicitLocOpBuilder &b, Type type, function_ref<Value()> next) {
  Value first = next();
  if (!isPointerAndSizes(type))
    return UnrealizedConversionCastOp::create(b, type, first).getResult(0);
  auto memref = cast<MemRefType>(type);
  SmallVector<Value> sizes(memref.getNumDynamicDims());
  for (Value &size : sizes)
    size = next();
  return memrefFromPointer(b, first, memref, sizes);
}

LogicalResult outline(scf::ForallOp loop, unsigned number) {
  auto module = loop->getParentOfType<ModuleOp>();
  auto parent = loop->getParentOfType<func::FuncOp>();
  if (loop.getNumResults())
    return loop.emitOpError("must be bufferised before it is outlined");
  if (loop->getParentOfType<scf::ForallOp>())
    return loop.emitOpError("stands inside another scf.forall; tasks do not nest");
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());

  SmallVector<Value> lower = loop.getLowerBound(b), step = loop.getStep(b),
                     upper = loop.getUpperBound(b), trips;
  Value total;
  for (auto [l, u, s] : llvm::zip(lower, upper, step)) {
    trips.push_back(arith::CeilDivUIOp::create(b, arith::SubIOp::create(b, u, l), s));
    total = total ? arith::MulIOp::create(b, total, trips.back()).getResult() : trips.back();
  }

  WorkPointers work = takeWork(b, loop, number);

  // What the body captures: constants are cloned, the rest goes into a struct.
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(loop.getRegion(), captured);
  for (Value v : llvm::concat<Value>(lower, step, trips))
    captured.insert(v);
  SmallVector<Value> values, fields;
  SmallVector<Operation *> constants;
  for (Value v : captured) {
    if (Operation *op = v.getDefiningOp(); op && op->hasTrait<OpTrait::ConstantLike>()) {
      constants.push_back(op);
      continue;
    }
    values.push_back(v);
    llvm::append_range(fields, fieldsOf(b, v));
  }
  SmallVector<Type> types = llvm::to_vector(TypeRange(ValueRange(fields)));
  auto capture = LLVM::LLVMStructType::getLiteral(b.getContext(), types);

  // The task.
  std::string name = (parent.getName() + ".task" + llvm::Twine(number)).str();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(parent);
    auto task = func::FuncOp::create(b, name, b.getFunctionType({pointer, b.getI64Type()}, {}));
    task.setPrivate();
    Block *entry = task.addEntryBlock();
    b.setInsertionPointToStart(entry);
    IRMapping map;
    Value context = LLVM::LoadOp::create(b, capture, entry->getArgument(0));
    int64_t next = 0;
    auto field = [&]() -> Value {
      return LLVM::ExtractValueOp::create(b, context, ArrayRef<int64_t>{next++});
    };
    for (Value v : values)
      map.map(v, fromFields(b, v.getType(), field));
    for (Operation *op : constants)
      b.clone(*op, map);
    auto mapped = [&](ValueRange range) {
      return llvm::map_to_vector(range, [&](Value v) { return map.lookup(v); });
    };
    Value flat = arith::IndexCastOp::create(b, b.getIndexType(), entry->getArgument(1));
    mapInductionVariables(b, loop, flat, mapped(lower), mapped(step), mapped(trips), map);
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, map);
    func::ReturnOp::create(b);
  }

  // The call.
  Value context = LLVM::PoisonOp::create(b, capture);
  for (auto [i, field] : llvm::enumerate(fields))
    context = LLVM::InsertValueOp::create(b, context, field, ArrayRef<int64_t>{(int64_t)i});
  Value slot = stackSlot(b, parent, capture);
  LLVM::StoreOp::create(b, context, slot);
  Value task = func::ConstantOp::create(b, b.getFunctionType({pointer, b.getI64Type()}, {}),
                                        FlatSymbolRefAttr::get(b.getContext(), name));
  task = UnrealizedConversionCastOp::create(b, TypeRange{pointer}, ValueRange{task}).getResult(0);
  Value count = arith::IndexCastOp::create(b, b.getI64Type(), total);
  declareHostFunction(module, "tr_parallel_for",
                      {pointer, pointer, b.getI64Type(), pointer, pointer});
  func::CallOp::create(b, "tr_parallel_for", TypeRange{},
                       ValueRange{task, slot, count, work.description, work.amounts});
  loop.erase();
  return success();
}

struct OutlineParallelPass : mlir::transformer::impl::OutlineParallelBase<OutlineParallelPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    getOperation().walk([&](scf::ForallOp loop) { loops.push_back(loop); });
    for (auto [i, loop] : llvm::enumerate(loops))
      if (failed(outline(loop, i)))
        return signalPassFailure();
    emitScopes(getOperation());
  }
};

} // namespace
