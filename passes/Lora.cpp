//===- Lora.cpp - what the passes on low-rank adapters share --------------===//
#include "passes/Lora.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/ParameterAnalysis.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

constexpr StringLiteral kDown = ".lora_A.weight", kUp = ".lora_B.weight";

LoraAttr mlir::transformer::loraOf(ModuleOp module) {
  return module->getAttrOfType<LoraAttr>(attr::lora);
}

Adapter mlir::transformer::declareAdapter(SymbolTable &symbols, ParameterOp parameter,
                                          WeightLayout layout, int64_t rank) {
  StringRef module = parameter.getSymName();
  module.consume_back(".weight");
  OpBuilder b(parameter.getContext());
  b.setInsertionPointAfter(parameter);
  auto declare = [&](StringRef suffix, ArrayRef<int64_t> shape, InitAttr init) {
    std::string name = (module + suffix).str();
    if (auto made = symbols.lookup<ParameterOp>(name))
      return made;
    auto type = RankedTensorType::get(shape, b.getF32Type());
    auto made = ParameterOp::create(b, parameter.getLoc(), name, type, init,
                                    b.getStrArrayAttr({"base_model.model." + name}));
    symbols.insert(made);
    return made;
  };
  auto shape = cast<RankedTensorType>(parameter.getType()).getShape();
  bool isInOut = layout == WeightLayout::InOut;
  int64_t in = shape[isInOut ? 0 : 1], out = shape[isInOut ? 1 : 0];
  auto uniform = InitAttr::get(b.getContext(), InitKind::KaimingUniform,
                               b.getF64FloatAttr(std::sqrt(5.0)), {});
  auto zeros = InitAttr::get(b.getContext(), InitKind::Zeros, {}, {});
  return {declare(kDown, {rank, in}, uniform), declare(kUp, {out, rank}, zeros)};
}

Value mlir::transformer::scaleAdapter(OpBuilder &b, Location loc, LoraAttr lora, Value matrix) {
  double scale = lora.getAlpha().convertToDouble() / static_cast<double>(lora.getRank());
  if (scale == 1)
    return matrix;
  auto type = cast<RankedTensorType>(matrix.getType());
  auto factor =
      DenseElementsAttr::get(type, Attribute(b.getF32FloatAttr(static_cast<float>(scale))));
  return arith::MulFOp::create(b, loc, matrix, arith::ConstantOp::create(b, loc, factor));
}

void mlir::transformer::WeightReaders::add(const SymbolTable &symbols, Value weight) {
  for (OpOperand &use : weight.getUses()) {
    Operation *reader = use.getOwner();
    if (auto linear = dyn_cast<LinearOp>(reader); linear && linear.getWeight() == weight) {
      layout = linear.getLayout();
      continue;
    }
    auto call = dyn_cast<func::CallOp>(reader);
    auto callee = call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
    if (callee && !callee.isExternal())
      add(symbols, callee.getArgument(use.getOperandNumber()));
    else
      other = reader;
  }
}

LogicalResult mlir::transformer::checkReaders(ModuleOp module, LoraAttr lora) {
  SymbolTable symbols(module);
  llvm::StringMap<WeightReaders> readers;
  for (auto function : module.getOps<func::FuncOp>())
    if (isEntry(function))
      for (auto read : function.getOps<GetParameterOp>())
        if (lora.adapts(read.getName()))
          readers[read.getName()].add(symbols, read);
  for (auto parameter : module.getOps<ParameterOp>()) {
    WeightReaders found = readers.lookup(parameter.getSymName());
    if (found.layout && found.other)
      return module.emitError() << "transformer.lora: target " << parameter.getSymName()
                                << " is the weight of a linear layer, and read by "
                                << found.other->getName()
                                << ", too; expected targets that are not shared";
  }
  return success();
}

LogicalResult mlir::transformer::checkTargets(ModuleOp module, LoraAttr lora) {
  llvm::StringSet<> adapted, others;
  for (auto parameter : module.getOps<ParameterOp>()) {
    StringRef name = parameter.getSymName();
    if (name.consume_back(kDown))
      adapted.insert(name);
    else if (!name.ends_with(kUp) && cast<RankedTensorType>(parameter.getType()).getRank() == 2 &&
             name.consume_back(".weight"))
      others.insert(name.rsplit('.').second.empty() ? name : name.rsplit('.').second);
  }
  for (StringAttr target : lora.getTargets()) {
    auto isOf = [&](StringRef found) {
      return found.consume_back(target.getValue()) && (found.empty() || found.ends_with("."));
    };
    if (llvm::any_of(adapted.keys(), isOf))
      continue;
    auto names = llvm::to_vector(others.keys());
    llvm::sort(names);
    return module.emitError() << "transformer.lora: target " << target
                              << " names no linear layer; its matrices are of "
                              << llvm::join(names, ", ");
  }
  return success();
}
