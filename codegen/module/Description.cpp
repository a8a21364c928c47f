//===- Description.cpp - a module's description of itself -----------------===//
#include "codegen/module/Description.h"
#include "codegen/analysis/Flops.h"
#include "dialect/State.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::transformer;
namespace json = llvm::json;

json::Value mlir::transformer::attributeToJson(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, json::Value>(attribute)
      .Case<StringAttr>([](auto a) { return json::Value(a.getValue()); })
      .Case<BoolAttr>([](auto a) { return json::Value(a.getValue()); })
      .Case<IntegerAttr>([](auto a) { return json::Value(a.getInt()); })
      .Case<FloatAttr>([](auto a) { return json::Value(a.getValueAsDouble()); })
      .Case<ArrayAttr>([](ArrayAttr a) {
        json::Array array;
        for (Attribute element : a)
          array.push_back(attributeToJson(element));
        return json::Value(std::move(array));
      })
      .Case<DictionaryAttr>([](DictionaryAttr a) {
        json::Object object;
        for (NamedAttribute element : a)
          object[element.getName().strref()] = attributeToJson(element.getValue());
        return json::Value(std::move(object));
      })
      .Default([](Attribute) { return json::Value(nullptr); });
}

json::Object mlir::transformer::describeTarget(ModuleOp module, cpu::TargetAttr target,
                                               StringRef deviceArch) {
  bool usesMatrices = module
                          ->walk([](Operation *op) {
                            return op->hasTrait<cpu::OnMatrixRegisters>() ? WalkResult::interrupt()
                                                                          : WalkResult::advance();
                          })
                          .wasInterrupted();
  json::Array features;
  for (StringAttr feature : target.getRequired().getAsRange<StringAttr>())
    if (usesMatrices || !feature.getValue().starts_with("amx-"))
      features.push_back(feature.getValue());
  json::Object object{
      {"arch", target.getArch()}, {"cpu", target.getCpu()}, {"features", std::move(features)}};
  if (!deviceArch.empty()) {
    object["kind"] = "cuda";
    object["arch"] = deviceArch;
  }
  return object;
}

static json::Object describeInit(InitAttr init) {
  json::Object object{{"kind", stringifyInitKind(init.getKind())}};
  if (FloatAttr value = init.getValue())
    object["value"] = value.getValueAsDouble();
  if (auto row = init.getZeroRow())
    object["zero_row"] = *row;
  return object;
}

json::Object mlir::transformer::describeLora(LoraAttr lora) {
  json::Array targets;
  for (StringAttr target : lora.getTargets())
    targets.push_back(target.getValue());
  return json::Object{{"rank", lora.getRank()},
                      {"alpha", lora.getAlpha().convertToDouble()},
                      {"dropout", lora.getDropout().convertToDouble()},
                      {"targets", std::move(targets)}};
}

json::Array mlir::transformer::describeParameters(ModuleOp module) {
  json::Array parameters;
  for (auto op : module.getOps<ParameterOp>()) {
    json::Object parameter{{"name", op.getSymName()}, {"dtype", "f32"}};
    parameter["shape"] = json::Array(cast<RankedTensorType>(op.getType()).getShape());
    if (auto aliases = op.getAliases())
      parameter["aliases"] = attributeToJson(*aliases);
    if (auto init = op.getInit())
      parameter["init"] = describeInit(*init);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::optional<StringRef> mlir::transformer::dtypeName(Type type) {
  if (type.isInteger(1))
    return "bool";
  for (auto [width, name] :
       {std::pair<unsigned, StringRef>(8, "i8"), {16, "i16"}, {32, "i32"}, {64, "i64"}})
    if (type.isSignlessInteger(width))
      return name;
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32())
    return "f32";
  if (type.isF64())
    return "f64";
  return std::nullopt;
}

/// Shape with names for the dynamic dimensions: those of `transformer.dims`, then `defaults`.
static json::Array describeShape(MemRefType type, ArrayAttr names, ArrayRef<StringRef> defaults) {
  json::Array shape;
  unsigned next = 0;
  for (int64_t size : type.getShape()) {
    if (!ShapedType::isDynamic(size)) {
      shape.push_back(size);
      continue;
    }
    if (names && next < names.size())
      shape.push_back(cast<StringAttr>(names[next]).getValue());
    else
      shape.push_back(next < defaults.size() ? defaults[next].str() : "dim" + std::to_string(next));
    ++next;
  }
  return shape;
}

/// The type and shape of an entry point's argument.
static json::Object describeTensor(func::FuncOp entry, unsigned argument,
                                   ArrayRef<StringRef> dimensions) {
  auto type = cast<MemRefType>(entry.getArgumentTypes()[argument]);
  json::Object value{{"dtype", dtypeName(type.getElementType()).value_or("unknown")}};
  value["shape"] =
      describeShape(type, entry.getArgAttrOfType<ArrayAttr>(argument, attr::dims), dimensions);
  return value;
}

static json::Object describeDefault(DefaultAttr value) {
  json::Object object{{"kind", stringifyDefaultKind(value.getKind())}};
  if (value.getInput()) {
    object["input"] = value.getInput().getValue();
    object["value"] = value.getValue();
  }
  return object;
}

Role mlir::transformer::roleOf(func::FuncOp entry, unsigned argument) {
  if (entry.getArgAttr(argument, attr::state))
    return Role::State;
  if (entry.getArgAttr(argument, kHostInputAttr))
    return Role::HostInput;
  return entry.getArgAttr(argument, attr::output) ? Role::Output : Role::Input;
}

json::Object mlir::transformer::describeState(func::FuncOp entry, unsigned argument) {
  json::Object value = describeTensor(entry, argument, {"capacity"});
  value["name"] = stateOfArgument(entry, argument);
  return value;
}

json::Object mlir::transformer::describeEntry(func::FuncOp entry, unsigned firstIo,
                                              unsigned numIo) {
  json::Array inputs, outputs, hostInputs;
  for (unsigned i = firstIo; i < firstIo + numIo; ++i) {
    Role role = roleOf(entry, i);
    if (role == Role::HostInput)
      hostInputs.push_back(entry.getArgAttrOfType<IntegerAttr>(i, kHostInputAttr).getInt());
    if (role == Role::State || role == Role::HostInput)
      continue;
    json::Object value = describeTensor(entry, i, {"batch", "sequence"});
    auto name = entry.getArgAttrOfType<StringAttr>(i, attr::name);
    value["name"] = name ? name.getValue().str() : "arg" + std::to_string(i - firstIo);
    if (auto range = entry.getArgAttrOfType<DenseI64ArrayAttr>(i, attr::range))
      value["range"] = json::Array(range.asArrayRef());
    if (auto below = entry.getArgAttrOfType<StringAttr>(i, attr::below))
      value["below"] = below.getValue();
    if (auto ignored = entry.getArgAttrOfType<IntegerAttr>(i, attr::ignored))
      value["ignored"] = ignored.getInt();
    if (auto length = entry.getArgAttrOfType<IntegerAttr>(i, attr::maxLength))
      value["max_length"] = length.getInt();
    if (auto init = entry.getArgAttrOfType<DefaultAttr>(i, attr::defaultValue))
      value["default"] = describeDefault(init);
    (role == Role::Input ? inputs : outputs).push_back(std::move(value));
  }
  json::Object object{{"name", entry.getName()}};
  if (auto objective = entry->getAttrOfType<ObjectiveAttr>(attr::objective))
    object["objective"] = stringifyObjectiveKind(objective.getKind());
  object["inputs"] = std::move(inputs);
  object["outputs"] = std::move(outputs);
  if (!hostInputs.empty())
    object["host_inputs"] = std::move(hostInputs);
  if (auto flops = entry->getAttrOfType<DictionaryAttr>(kFlopsAttr))
    object["flops"] = attributeToJson(flops);
  return object;
}
