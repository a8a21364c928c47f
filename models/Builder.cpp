//===- Builder.cpp - builds the module of a model -------------------------===//
#include "models/Builder.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::transformer;

SmallVector<std::string> AliasRule::aliases(StringRef name) const {
  SmallVector<std::string> names = {name.str()};
  if (!prefix.empty() && !prefixed)
    names.push_back(prefix + name.str());
  else if (!prefix.empty() && name.starts_with(prefix))
    names.push_back(name.drop_front(prefix.size()).str());
  for (const auto &[ending, other] : endings)
    for (size_t i = 0, count = names.size(); name.ends_with(ending) && i < count; ++i)
      names.push_back(StringRef(names[i]).drop_back(ending.size()).str() + other);
  names.erase(names.begin());
  return names;
}

ModelBuilder::ModelBuilder(MLIRContext &context, StringRef modelType) : context(&context) {
  OpBuilder builder(&context);
  Location loc = NameLoc::get(builder.getStringAttr(modelType));
  module = ModuleOp::create(loc);
  setAttribute(attr::modelType, builder.getStringAttr(modelType));
  builder.setInsertionPointToEnd(module->getBody());
  forward = func::FuncOp::create(builder, loc, "forward", builder.getFunctionType({}, {}));
  forward->setAttr(attr::entry, builder.getUnitAttr());
  firstFunction = forward;
  entryBody = std::make_unique<Body>(forward.addEntryBlock(), InitScheme{},
                                     [this](StringRef name, RankedTensorType type, InitAttr init) {
                                       return readParameter(name, type, init);
                                     });
}

void ModelBuilder::declare(StringRef name, RankedTensorType type, InitAttr init,
                           ArrayRef<std::string> otherNames) {
  if (!declared.insert(name).second)
    return;
  OpBuilder builder(firstFunction);
  SmallVector<std::string> names = aliases.aliases(name);
  for (const std::string &other : otherNames)
    if (!llvm::is_contained(names, other))
      names.push_back(other);
  SmallVector<StringRef> list(names.begin(), names.end());
  ParameterOp::create(builder, entryBody->named(name), name, type, init,
                      list.empty() ? ArrayAttr() : builder.getStrArrayAttr(list));
}

Value ModelBuilder::readParameter(StringRef name, RankedTensorType type, InitAttr init) {
  declare(name, type, init);
  return GetParameterOp::create(entryBody->builder, entryBody->named(name), type, name);
}

DefaultAttr ModelBuilder::missing(DefaultKind kind, StringRef input, int64_t value) {
  return DefaultAttr::get(context, kind,
                          input.empty() ? StringAttr() : StringAttr::get(context, input), value);
}

Value ModelBuilder::input(const Input &input) {
  Builder builder(context);
  NamedAttrList attributes;
  attributes.set(attr::name, builder.getStringAttr(input.name));
  if (input.missing)
    attributes.set(attr::defaultValue, input.missing);
  if (input.high)
    attributes.set(attr::range, builder.getDenseI64ArrayAttr({0, input.high}));
  if (input.maxLength)
    attributes.set(attr::maxLength, builder.getI64IntegerAttr(input.maxLength));
  if (input.decoder)
    attributes.set(attr::dims, builder.getStrArrayAttr({"batch", "decoder_sequence"}));
  auto type =
      RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic}, builder.getI64Type());
  unsigned index = forward.getNumArguments();
  [[maybe_unused]] LogicalResult inserted = forward.insertArgument(
      index, type, attributes.getDictionary(context), entryBody->named(input.name));
  assert(succeeded(inserted));
  return forward.getArgument(index);
}

void ModelBuilder::output(StringRef name, Value value, ArrayRef<StringRef> dims) {
  Builder builder(context);
  NamedAttrList attributes;
  attributes.set(attr::name, builder.getStringAttr(name));
  if (!dims.empty())
    attributes.set(attr::dims, builder.getStrArrayAttr(dims));
  outputs.push_back(value);
  outputAttributes.push_back(attributes.getDictionary(context));
}

SmallVector<Value> ModelBuilder::pack(ArrayRef<Value> inputs, Value mask, StringRef side) {
  OpBuilder &builder = entryBody->builder;
  SmallVector<Type> types(inputs.size(),
                          RankedTensorType::get({ShapedType::kDynamic}, builder.getI64Type()));
  auto op = PackTokensOp::create(builder, entryBody->named((side + "packed").str()), types,
                                 sequencesType(), inputs, mask);
  return op.getResults();
}

Layer ModelBuilder::layer(StringRef name, ArrayRef<Argument> arguments, InitScheme init,
                          llvm::function_ref<Value(Body &, ValueRange)> write) {
  OpBuilder builder(forward);
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (auto [argument, type] : arguments) {
    types.push_back(type);
    locations.push_back(entryBody->named(argument));
  }
  Layer layer;
  layer.function = func::FuncOp::create(builder, entryBody->named(name), name,
                                        builder.getFunctionType(types, types.front()));
  layer.function.setPrivate();
  if (firstFunction == forward)
    firstFunction = layer.function;
  Block *block = new Block;
  layer.function.getBody().push_back(block);
  block->addArguments(types, locations);

  Body body(block, init, [&](StringRef weight, RankedTensorType type, InitAttr init) -> Value {
    layer.weights.push_back({weight.str(), type, init});
    unsigned index = layer.function.getNumArguments();
    [[maybe_unused]] LogicalResult inserted =
        layer.function.insertArgument(index, type, {}, entryBody->named(weight));
    assert(succeeded(inserted));
    return layer.function.getArgument(index);
  });
  SmallVector<Value> own(block->args_begin(), block->args_end());
  Value result = write(body, own);
  func::ReturnOp::create(body.builder, result.getLoc(), result);
  return layer;
}

Value ModelBuilder::call(const Layer &layer, StringRef scope, ValueRange arguments,
                         StringRef name) {
  SmallVector<Value> operands(arguments);
  for (const Layer::Weight &weight : layer.weights)
    operands.push_back(readParameter((scope + "." + weight.name).str(), weight.type, weight.init));
  auto call =
      func::CallOp::create(entryBody->builder, entryBody->named(name), layer.function, operands);
  call->setAttr(attr::scope, entryBody->builder.getStringAttr(scope));
  return call.getResult(0);
}

OwningOpRef<ModuleOp> ModelBuilder::finish(std::string &error) {
  func::ReturnOp::create(entryBody->builder, forward.getLoc(), outputs);
  SmallVector<Type> types(ValueRange(outputs).getTypes());
  forward.setFunctionType(FunctionType::get(context, forward.getArgumentTypes(), types));
  forward.setAllResultAttrs(outputAttributes);

  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
  });
  if (failed(verify(*module)))
    return nullptr;
  return std::move(module);
}
