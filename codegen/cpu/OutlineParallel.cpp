//===- OutlineParallel.cpp - scf.forall to tr_parallel_for ----------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/kernels/KernelDialect.h"
#include "codegen/module/Descriptor.h"
#include "codegen/module/HostCalls.h"
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

/// The last two arguments of tr_parallel_for.
struct WorkPointers {
  Value description, amounts;
};

/// The constant tr_work that stands for `op`.
Value describeWork(ImplicitLocOpBuilder &b, ModuleOp module, kernel::WorkOp op, unsigned number) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto list = LLVM::LLVMArrayType::get(i64, TR_MAX_AMOUNTS);
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                               {pointer, pointer, pointer, i64, list, list, i64});
  std::string name = "transformer.work" + std::to_string(number);
  emitConstant(b, module, name, type, LLVM::Linkage::Internal, [&](Value value) {
    auto set = [&](Value field, ArrayRef<int64_t> position) {
      value = LLVM::InsertValueOp::create(b, value, field, position);
    };
    auto constant = [&](int64_t v) {
      return LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(v));
    };
    set(stringPointer(b, op.getLabel()), {0});
    set(op.getLayer() ? stringPointer(b, *op.getLayer())
                      : LLVM::ZeroOp::create(b, pointer).getResult(),
        {1});
    set(stringPointer(b, op.getShape()), {2});
    int64_t amounts = op.getAmounts().size();
    set(constant(amounts), {3});
    for (int64_t i = 0; i < TR_MAX_AMOUNTS; ++i) {
      set(constant(i < amounts ? op.getFlops()[i] : 0), {4, i});
      set(constant(i < amounts ? op.getBytes()[i] : 0), {5, i});
    }
    set(constant(op.getFixedBytes()), {6});
    return value;
  });
  return LLVM::AddressOfOp::create(b, pointer, name);
}

/// Takes what the loop says about itself out of its body.
WorkPointers takeWork(ImplicitLocOpBuilder &b, scf::ForallOp loop, unsigned number) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value none = LLVM::ZeroOp::create(b, pointer);
  auto works = loop.getBody()->getOps<kernel::WorkOp>();
  if (works.empty())
    return {none, none};
  kernel::WorkOp op = *works.begin();
  WorkPointers result{describeWork(b, loop->getParentOfType<ModuleOp>(), op, number), none};
  if (!op.getAmounts().empty()) {
    auto list = LLVM::LLVMArrayType::get(b.getI64Type(), op.getAmounts().size());
    result.amounts = stackSlot(b, loop->getParentOfType<func::FuncOp>(), list);
    for (auto [i, amount] : llvm::enumerate(op.getAmounts())) {
      Value place = LLVM::GEPOp::create(b, pointer, list, result.amounts,
                                        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
      LLVM::StoreOp::create(b, arith::IndexCastOp::create(b, b.getI64Type(), amount), place);
    }
  }
  op.erase();
  return result;
}

LogicalResult outline(scf::ForallOp loop, unsigned number) {
  auto module = loop->getParentOfType<ModuleOp>();
  auto parent = loop->getParentOfType<func::FuncOp>();
  if (loop.getNumResults())
    return loop.emitOpError("must be bufferised before it is outlined");
  if (loop->getParentOfType<scf::ForallOp>())
    return loop.emitOpError("stands inside another scf.forall; tasks do not nest");
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  MLIRContext *context = b.getContext();
  LLVMTypeConverter converter(context);
  auto pointer = LLVM::LLVMPointerType::get(context);

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
  SmallVector<Value> values;
  SmallVector<Operation *> constants;
  SmallVector<Type> types;
  for (Value v : captured) {
    if (Operation *op = v.getDefiningOp(); op && op->hasTrait<OpTrait::ConstantLike>()) {
      constants.push_back(op);
      continue;
    }
    values.push_back(v);
    types.push_back(converter.convertType(v.getType()));
  }
  auto capture = LLVM::LLVMStructType::getLiteral(context, types);

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
    Value fields = LLVM::LoadOp::create(b, capture, entry->getArgument(0));
    for (auto [i, v] : llvm::enumerate(values)) {
      Value field = LLVM::ExtractValueOp::create(b, fields, ArrayRef<int64_t>{(int64_t)i});
      map.map(v, UnrealizedConversionCastOp::create(b, TypeRange{v.getType()}, ValueRange{field})
                     .getResult(0));
    }
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
  Value fields = LLVM::PoisonOp::create(b, capture);
  for (auto [i, v] : llvm::enumerate(values)) {
    Value field =
        UnrealizedConversionCastOp::create(b, TypeRange{types[i]}, ValueRange{v}).getResult(0);
    fields = LLVM::InsertValueOp::create(b, fields, field, ArrayRef<int64_t>{(int64_t)i});
  }
  Value slot = stackSlot(b, parent, capture);
  LLVM::StoreOp::create(b, fields, slot);
  Value task = func::ConstantOp::create(b, b.getFunctionType({pointer, b.getI64Type()}, {}),
                                        FlatSymbolRefAttr::get(context, name));
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
