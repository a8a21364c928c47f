//===- Description.cpp - a module's description of itself -----------------===//
#include "codegen/module/Description.h"
#include "codegen/analysis/Flops.h"
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

json::Object mlir::transformer::describeTarget(cpu::TargetAttr target) {
  return json::Object{{"arch", target.getArch()},
                      {"cpu", target.getCpu()},
                      {"features", attributeToJson(target.getRequired())}};
}

static json::Object describeInit(InitAttr init) {
  json::Object object{{"kind", stringifyInitKind(init.getKind())}};
  if (FloatAttr value = init.getValue())
    object["value"] = value.getValueAsDouble();
  return object;
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

/// Shape with names for the dynamic dimensions.
static json::Array describeShape(MemRefType type, ArrayAttr names) {
  static constexpr const char *defaults[] = {"batch", "sequence"};
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
      shape.push_back(next < 2 ? defaults[next] : ("dim" + std::to_string(next)));
    ++next;
  }
  return shape;
}

static json::Object describeDefault(DefaultAttr value) {
  json::Object object{{"kind", stringifyDefaultKind(value.getKind())}};
  if (value.getInput()) {
    object["input"] = value.getInput().getValue();
    object["value"] = value.getValue();
  }
  return object;
}

json::Object mlir::transformer::describeEntry(func::FuncOp entry, unsigned firstIo,
                                              unsigned numIo) {
  json::Array inputs, outputs;
  for (unsigned i = firstIo; i < firstIo + numIo; ++i) {
    auto type = cast<MemRefType>(entry.getArgumentTypes()[i]);
    bool input = type.getElementType().isInteger(64);
    json::Object value{{"dtype", input ? "i64" : "f32"}};
    auto name = entry.getArgAttrOfType<StringAttr>(i, attr::name);
    value["name"] = name ? name.getValue().str() : "arg" + std::to_string(i - firstIo);
    value["shape"] = describeShape(type, entry.getArgAttrOfType<ArrayAttr>(i, attr::dims));
    if (auto range = entry.getArgAttrOfType<DenseI64ArrayAttr>(i, attr::range))
      value["range"] = json::Array(range.asArrayRef());
    if (auto length = entry.getArgAttrOfType<IntegerAttr>(i, attr::maxLength))
      value["max_length"] = length.getInt();
    if (auto init = entry.getArgAttrOfType<DefaultAttr>(i, attr::defaultValue))
      value["default"] = describeDefault(init);
    (input ? inputs : outputs).push_back(std::move(value));
  }
  json::Object object{{"name", entry.getName()}};
  object["inputs"] = std::move(inputs);
  object["outputs"] = std::move(outputs);
  if (auto flops = entry->getAttrOfType<DictionaryAttr>(kFlopsAttr))
    object["flops"] = attributeToJson(flops);
  return object;
}
