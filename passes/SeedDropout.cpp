//===- SeedDropout.cpp - keys for what a training step drops --------------===//
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SEEDDROPOUTPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

class Seeder {
public:
  explicit Seeder(ModuleOp module) : symbols(module) {}

  LogicalResult run(func::FuncOp entry) {
    if (failed(countSites(entry)))
      return failure();
    if (sitesOf[entry] == 0)
      return success();
    OpBuilder b(entry.getContext());
    auto name = b.getNamedAttr(attr::name, b.getStringAttr("dropout_seed"));
    auto type = RankedTensorType::get({}, b.getI64Type());
    unsigned index = entry.getNumArguments();
    if (failed(entry.insertArgument(index, type, b.getDictionaryAttr(name), entry.getLoc())))
      return failure();
    b.setInsertionPointToStart(&entry.front());
    Value key =
        tensor::ExtractOp::create(b, entry.getLoc(), entry.getArgument(index), ValueRange());
    seed(entry, key);
    return success();
  }

private:
  static double rateOf(Operation *op) {
    if (auto dropout = dyn_cast<DropoutOp>(op))
      return dropout.getKey() ? 0 : dropout.getRate().convertToDouble();
    if (auto attention = dyn_cast<AttentionOp>(op))
      return attention.getDropoutKey() ? 0 : attention.getOptions().getDropout().convertToDouble();
    return 0;
  }

  LogicalResult countSites(func::FuncOp function) {
    int64_t sites = sitesOf[function] = 0; // what it calls may call it again
    for (Operation &op : function.front()) {
      sites += rateOf(&op) > 0;
      auto call = dyn_cast<func::CallOp>(op);
      if (!call)
        continue;
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee || callee.isExternal())
        return call.emitOpError() << "calls a function without a body";
      if (!sitesOf.contains(callee) && failed(countSites(callee)))
        return failure();
      sites += sitesOf[callee];
    }
    sitesOf[function] = sites;
    return success();
  }

  /// Gives each site of a function, in their order, a key of its own: `key` and those behind it.
  void seed(func::FuncOp function, Value key) {
    int64_t site = 0;
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      ImplicitLocOpBuilder b(op.getLoc(), &op);
      auto next = [&](int64_t count) -> Value {
        int64_t number = site;
        site += count;
        if (number == 0)
          return key;
        return arith::AddIOp::create(b, key, arith::ConstantIntOp::create(b, number, 64));
      };
      if (auto call = dyn_cast<func::CallOp>(op)) {
        auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        if (int64_t sites = sitesOf[callee])
          replaceCall(b, call, seededOf(callee), next(sites));
      } else if (rateOf(&op) > 0) {
        Value own = next(1);
        if (auto dropout = dyn_cast<DropoutOp>(op))
          dropout.getKeyMutable().assign(own);
        else
          cast<AttentionOp>(op).getDropoutKeyMutable().assign(own);
      }
    }
  }

  static void replaceCall(ImplicitLocOpBuilder &b, func::CallOp call, func::FuncOp callee,
                          Value key) {
    SmallVector<Value> operands(call.getOperands());
    operands.push_back(key);
    auto seeded = func::CallOp::create(b, callee, operands);
    seeded->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    call.replaceAllUsesWith(seeded.getResults());
    call.erase();
  }

  /// A copy of a layer that takes a key; others may call the layer without one.
  func::FuncOp seededOf(func::FuncOp layer) {
    if (func::FuncOp made = seeded.lookup(layer))
      return made;
    func::FuncOp made = layer.clone();
    made.setName((layer.getName() + "_dropout").str());
    symbols.insert(made, std::next(Block::iterator(layer)));
    unsigned index = made.getNumArguments();
    Location key = NameLoc::get(StringAttr::get(layer.getContext(), "key"));
    (void)made.insertArgument(index, IntegerType::get(layer.getContext(), 64), {}, key);
    seeded[layer] = made;
    seed(made, made.getArgument(index));
    return made;
  }

  SymbolTable symbols;
  DenseMap<Operation *, int64_t> sitesOf;
  DenseMap<Operation *, func::FuncOp> seeded;
};

struct SeedDropout : transformer::impl::SeedDropoutPassBase<SeedDropout> {
  using Base::Base;
  void runOnOperation() override {
    auto entry = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!entry || entry.isExternal()) {
      getOperation().emitError() << "has no function @" << function << " with a body";
      return signalPassFailure();
    }
    auto other = getOperation()->getAttrOfType<StringAttr>(attr::otherDropping);
    if (rate < 0 && other) {
      getOperation().emitError() << "drops in training what its field '" << other.getValue()
                                 << "' says, which is not supported; expected a rate, --dropout "
                                    "RATE, in place of all that the definition drops";
      return signalPassFailure();
    }
    if (rate >= 0 && failed(setRates()))
      return signalPassFailure();
    if (failed(Seeder(getOperation()).run(entry)))
      signalPassFailure();
  }

private:
  /// All rates but those of 0, where a definition has no dropout.
  LogicalResult setRates() {
    llvm::APFloat value(rate.getValue());
    if (failed(verifyDropout([&] { return getOperation().emitError(); }, value)))
      return failure();
    getOperation().walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](DropoutOp op) { op.setRate(value); })
          .Case([&](AttentionOp op) {
            AttentionOptionsAttr old = op.getOptions();
            if (!old.getDropout().isZero())
              op.setOptionsAttr(old.withDropout(rate));
          });
    });
    return success();
  }
};

} // namespace
