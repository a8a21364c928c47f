//===- OutlineEpilogues.cpp - long epilogues as functions -----------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_MARKEPILOGUES
#define GEN_PASS_DEF_OUTLINEEPILOGUES
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

/// A place `row + others` becomes `row + their sum`, made in front of the loop: how many loops
/// count the others depends on the tile's height.
void addFirstRow(scf::ForOp loop) {
  Value row = loop.getInductionVar();
  for (auto place : llvm::make_early_inc_range(loop.getBody()->getOps<affine::AffineApplyOp>())) {
    AffineMap map = place.getAffineMap();
    SmallVector<Value> operands(place.getMapOperands());
    affine::canonicalizeMapAndOperands(&map, &operands);
    auto found = llvm::find(operands, row);
    if (found == operands.end() || llvm::any_of(operands, [&](Value operand) {
          return operand != row && !loop.isDefinedOutsideOfLoop(operand);
        }))
      continue;
    MLIRContext *context = loop.getContext();
    unsigned at = found - operands.begin(), dims = map.getNumDims();
    AffineExpr iv =
        at < dims ? getAffineDimExpr(at, context) : getAffineSymbolExpr(at - dims, context);
    AffineExpr sum = map.getResult(0), first = sum.replace(iv, getAffineConstantExpr(0, context));
    if (simplifyAffineExpr(sum - first, dims, map.getNumSymbols()) != iv)
      continue;
    ImplicitLocOpBuilder b(place.getLoc(), loop);
    *found = arith::ConstantIndexOp::create(b, 0);
    Value others = affine::makeComposedAffineApply(b, b.getLoc(),
                                                   AffineMap::get(dims, map.getNumSymbols(), first),
                                                   getAsOpFoldResult(operands));
    b.setInsertionPoint(place);
    Value here = arith::AddIOp::create(b, others, row);
    place.replaceAllUsesWith(here);
    place.erase();
  }
}

/// What a tile's rows are in: its height is the loop's business.
Value withoutHeight(ImplicitLocOpBuilder &b, Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type || !isa_and_nonnull<memref::SubViewOp, memref::AllocaOp>(value.getDefiningOp()) ||
      type.isDynamicDim(0))
    return value;
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = ShapedType::kDynamic;
  return memref::CastOp::create(
      b, MemRefType::get(shape, type.getElementType(), type.getLayout(), type.getMemorySpace()),
      value);
}

class Outliner {
public:
  explicit Outliner(ModuleOp module) : symbols(module) {}

  void outline(scf::ForOp loop) {
    auto parent = loop->getParentOfType<func::FuncOp>();
    addFirstRow(loop);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(loop.getRegion(), captured);
    captured.insert(loop.getLowerBound());
    captured.insert(loop.getStep());
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    SmallVector<Value> values, operands = {loop.getUpperBound()};
    for (Value value : captured)
      if (!isConstant(value)) {
        values.push_back(value);
        operands.push_back(withoutHeight(b, value));
      }
    func::FuncOp made = func::FuncOp::create(
        loop.getLoc(), (parent.getName() + ".epilogue").str(),
        FunctionType::get(b.getContext(), ValueRange(operands).getTypes(), {}));
    made.setPrivate();
    made->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
    b.setInsertionPointToStart(made.addEntryBlock());
    IRMapping map;
    for (auto [value, argument] : llvm::zip_equal(values, made.getArguments().drop_front()))
      map.map(value, argument);
    for (Value value : captured)
      if (isConstant(value))
        b.clone(*value.getDefiningOp(), map);
    auto rows = scf::ForOp::create(b, map.lookup(loop.getLowerBound()), made.getArgument(0),
                                   map.lookup(loop.getStep()));
    map.map(loop.getInductionVar(), rows.getInductionVar());
    b.setInsertionPointToStart(rows.getBody());
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, map);
    b.setInsertionPointAfter(rows);
    func::ReturnOp::create(b);
    b.setInsertionPoint(loop);
    func::CallOp::create(b, functionLike(made, parent), operands);
    loop.erase();
  }

private:
  /// The first one that does the same; `made` itself, in front of `parent`.
  func::FuncOp functionLike(func::FuncOp made, func::FuncOp parent) {
    for (func::FuncOp other : outlined)
      if (other.getFunctionType() == made.getFunctionType() &&
          OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &made.getBody(),
                                                     OperationEquivalence::IgnoreLocations)) {
        made.erase();
        return other;
      }
    symbols.insert(made, Block::iterator(parent));
    outlined.push_back(made);
    return made;
  }

  SymbolTable symbols;
  SmallVector<func::FuncOp> outlined;
};

struct MarkEpiloguesPass : mlir::transformer::impl::MarkEpiloguesBase<MarkEpiloguesPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([&](scf::ForOp product) {
      if (isPart(product, LinearPart::Loop))
        for (Operation *op = throughK(product)->getNextNode(); op; op = op->getNextNode())
          if (auto rows = dyn_cast<scf::ForOp>(op);
              rows && !rows.getBody()->getOps<ActivationGradientOp>().empty())
            markPart(rows, LinearPart::Rows);
    });
  }
};

struct OutlineEpiloguesPass : mlir::transformer::impl::OutlineEpiloguesBase<OutlineEpiloguesPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (isPart(loop, LinearPart::Rows))
        loops.push_back(loop);
    });
    Outliner outliner(getOperation());
    for (scf::ForOp loop : loops)
      outliner.outline(loop);
  }
};

} // namespace
