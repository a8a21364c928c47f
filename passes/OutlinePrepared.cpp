//===- OutlinePrepared.cpp - computations on parameters move to load time -===//
#include "mlir/IR/IRMapping.h"
#include "passes/ParameterAnalysis.h"
#include "passes/Passes.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_OUTLINEPREPAREDPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Adds prepared tensors and their functions to a module.
class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module), symbols(module) {
    for (auto prepared : module.getOps<PreparedOp>()) {
      auto function = symbols.lookup<func::FuncOp>(prepared.getFunction());
      if (!function)
        continue;
      if (!llvm::is_contained(functions, function))
        functions.push_back(function);
      tensors[{function, prepared.getSources()}] = prepared;
    }
  }

  /// The prepared tensor that holds `root`, one of `roots`. It is made from those
  /// of the other roots that it needs.
  PreparedOp prepare(Value root, const llvm::SetVector<Value> &roots) {
    auto isKnown = [&](Value value) { return value != root && roots.contains(value); };
    llvm::SetVector<Operation *> slice;
    collectSlice(root, slice, isKnown);
    DenseMap<Value, FlatSymbolRefAttr> known;
    for (Operation *op : slice)
      for (Value operand : op->getOperands())
        if (isKnown(operand) && !known.contains(operand))
          known[operand] = FlatSymbolRefAttr::get(prepare(operand, roots));
    SmallVector<Attribute> names;
    func::FuncOp function = findOrInsert(build(root, slice.getArrayRef(), known, names));
    ArrayAttr sources = ArrayAttr::get(module.getContext(), names);
    PreparedOp &prepared = tensors[{function, sources}];
    if (!prepared)
      prepared = declare(root, function, sources);
    return prepared;
  }

  /// Whether `op` reads a parameter, not a prepared tensor.
  bool readsParameter(GetParameterOp op) {
    return isa_and_nonnull<ParameterOp>(symbols.lookup(op.getNameAttr().getAttr()));
  }

private:
  /// A function, outside of the module and without a name, that computes `root`
  /// by `slice` from parameters and `known` tensors, whose references are appended
  /// to `sources`.
  func::FuncOp build(Value root, ArrayRef<Operation *> slice,
                     const DenseMap<Value, FlatSymbolRefAttr> &known,
                     SmallVectorImpl<Attribute> &sources) {
    OpBuilder builder(module.getContext());
    auto function = func::FuncOp::create(root.getLoc(), "", builder.getFunctionType({}, {}));
    function.setPrivate();
    Block *body = function.addEntryBlock();
    builder.setInsertionPointToStart(body);
    IRMapping mapping;
    auto mapToArgument = [&](Value value, FlatSymbolRefAttr name) {
      auto *source = llvm::find(sources, name);
      unsigned index = source - sources.begin();
      if (source == sources.end()) {
        sources.push_back(name);
        body->addArgument(value.getType(), value.getLoc());
      }
      mapping.map(value, body->getArgument(index));
    };
    for (Operation *op : slice) {
      for (Value operand : op->getOperands())
        if (auto name = known.lookup(operand))
          mapToArgument(operand, name);
      if (auto parameter = dyn_cast<GetParameterOp>(op))
        mapToArgument(parameter, parameter.getNameAttr());
      else
        builder.clone(*op, mapping);
    }
    func::ReturnOp::create(builder, root.getLoc(), mapping.lookup(root));
    function.setFunctionType(builder.getFunctionType(body->getArgumentTypes(), root.getType()));
    return function;
  }

  /// A prepare function of the module that equals `function`: an older one, in
  /// which case `function` is erased, or itself.
  func::FuncOp findOrInsert(func::FuncOp function) {
    for (func::FuncOp other : functions) {
      if (other.getFunctionType() != function.getFunctionType() ||
          !OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &function.getBody(),
                                                      OperationEquivalence::IgnoreLocations))
        continue;
      function.erase();
      return other;
    }
    std::string name;
    do
      name = "prepare_" + std::to_string(nextFunction++);
    while (symbols.lookup(name));
    function.setSymName(name);
    symbols.insert(function);
    functions.push_back(function);
    return function;
  }

  /// Declares the result of `function` on `sources`, after all parameters.
  PreparedOp declare(Value root, func::FuncOp function, ArrayAttr sources) {
    std::string base = sources.empty()
                           ? root.getDefiningOp()->getName().stripDialect().str()
                           : cast<FlatSymbolRefAttr>(sources[0]).getValue().str() + ".prepared";
    std::string name = base;
    for (unsigned i = 1; symbols.lookup(name); ++i)
      name = base + "." + std::to_string(i);
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    for (Operation &op : *module.getBody())
      if (isa<ParameterOp, PreparedOp>(op))
        builder.setInsertionPointAfter(&op);
    auto prepared = PreparedOp::create(builder, root.getLoc(), builder.getStringAttr(name),
                                       FlatSymbolRefAttr::get(function), sources,
                                       TypeAttr::get(root.getType()));
    symbols.insert(prepared);
    return prepared;
  }

  ModuleOp module;
  SymbolTable symbols;
  SmallVector<func::FuncOp> functions;
  DenseMap<std::pair<Operation *, ArrayAttr>, PreparedOp> tensors;
  unsigned nextFunction = 0;
};

struct OutlinePrepared : transformer::impl::OutlinePreparedPassBase<OutlinePrepared> {
  void runOnOperation() override {
    Outliner outliner(getOperation());
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (isEntry(function) && !function.isExternal() && failed(outline(function, outliner)))
        return signalPassFailure();
  }

  LogicalResult outline(func::FuncOp function, Outliner &outliner) {
    const DenseSet<Value> noArguments;
    auto isSource = [&](GetParameterOp op) { return outliner.readsParameter(op); };
    auto isExpression = [](Operation *op) { return !isa<GetParameterOp>(op); };

    ParameterAnalysis::Roots uses = ParameterAnalysis(noArguments, isSource).findRoots(function);
    llvm::SetVector<Value> roots;
    for (auto &[root, operands] : uses)
      if (isExpression(root.getDefiningOp()))
        roots.insert(root);
    for (Value root : roots) {
      PreparedOp prepared = outliner.prepare(root, roots);
      OpBuilder builder(root.getDefiningOp());
      Value value = GetParameterOp::create(builder, root.getLoc(), root.getType(),
                                           FlatSymbolRefAttr::get(prepared));
      for (OpOperand *use : uses[root])
        use->set(value);
    }
    eraseDeadOps(function);

    ParameterAnalysis analysis(noArguments, isSource);
    if (Operation *left = analysis.find(
            function, [&](Operation *op) { return isExpression(op) && analysis.mayLeave(op); }))
      return left->emitError() << left->getName() << " on parameters was not outlined from @"
                               << function.getSymName();
    return success();
  }
};

} // namespace
