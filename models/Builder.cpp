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
  beginEntry("forward");
  firstFunction = entryFunction;
}

void ModelBuilder::beginEntry(StringRef name) {
  InitScheme init;
  if (entryFunction) {
    init = entryBody->init;
    endEntry();
  }
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module->getBody());
  entryFunction =
      func::FuncOp::create(builder, module->getLoc(), name, builder.getFunctionType({}, {}));
  entryFunction->setAttr(attr::entry, builder.getUnitAttr());
  entryBody = std::make_unique<Body>(entryFunction.addEntryBlock(), init, rates(),
                                     [this](StringRef name, RankedTensorType type, InitAttr init) {
                                       return readParameter(name, type, init);
                                     });
}

void ModelBuilder::endEntry() {
  func::ReturnOp::create(entryBody->builder, entryFunction.getLoc(), outputs);
  SmallVector<Type> types(ValueRange(outputs).getTypes());
  entryFunction.setFunctionType(
      FunctionType::get(context, entryFunction.getArgumentTypes(), types));
  entryFunction.setAllResultAttrs(outputAttributes);
  outputs.clear();
  outputAttributes.clear();
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

void ModelBuilder::declareFrozen(StringRef name, ArrayRef<int64_t> shape, InitAttr init) {
  declare(name, RankedTensorType::get(shape, Float32Type::get(context)), init);
  Operation *parameter = SymbolTable::lookupSymbolIn(firstFunction->getParentOp(), name);
  cast<ParameterOp>(parameter).setFrozen(true);
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
    attributes.set(attr::range, builder.getDenseI64ArrayAttr({input.low, input.high}));
  if (input.maxLength)
    attributes.set(attr::maxLength, builder.getI64IntegerAttr(input.maxLength));
  if (!input.below.empty())
    attributes.set(attr::below, builder.getStringAttr(input.below));
  SmallVector<StringRef> dims = input.dims;
  if (input.decoder)
    dims = {"batch", "decoder_sequence"};
  if (!dims.empty())
    attributes.set(attr::dims, builder.getStrArrayAttr(dims));
  SmallVector<int64_t> shape(dims.empty() ? 2 : dims.size(), ShapedType::kDynamic);
  if (!input.sizes.empty()) {
    shape.truncate(1);
    llvm::append_range(shape, input.sizes);
  }
  Type element = input.real ? Type(builder.getF32Type()) : Type(builder.getI64Type());
  return addArgument(input.name, RankedTensorType::get(shape, element), attributes);
}

Value ModelBuilder::addArgument(StringRef name, Type type, const NamedAttrList &attributes) {
  unsigned index = entryFunction.getNumArguments();
  [[maybe_unused]] LogicalResult inserted = entryFunction.insertArgument(
      index, type, attributes.getDictionary(context), entryBody->named(name));
  assert(succeeded(inserted));
  return entryFunction.getArgument(index);
}

Value ModelBuilder::state(StringRef name, RankedTensorType type, StringRef size) {
  Builder builder(context);
  NamedAttrList attributes;
  attributes.set(attr::state, builder.getStringAttr(name));
  attributes.set(attr::dims, builder.getStrArrayAttr({size}));
  return addArgument(name, type, attributes);
}

void ModelBuilder::outputState(StringRef name, Value value) {
  NamedAttrList attributes;
  attributes.set(attr::state, StringAttr::get(context, name));
  outputs.push_back(value);
  outputAttributes.push_back(attributes.getDictionary(context));
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

Layer ModelBuilder::statefulLayer(StringRef name, ArrayRef<Argument> arguments, InitScheme init,
                                  WriteLayer write) {
  OpBuilder builder(entryFunction);
  SmallVector<Type> types;
  SmallVector<Location> locations;
  SmallVector<unsigned> states;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    types.push_back(argument.type);
    locations.push_back(entryBody->named(argument.name));
    if (argument.isState)
      states.push_back(i);
  }
  Layer layer;
  layer.function = func::FuncOp::create(builder, entryBody->named(name), name,
                                        builder.getFunctionType(types, {}));
  layer.function.setPrivate();
  if (firstFunction == entryFunction)
    firstFunction = layer.function;
  Block *block = new Block;
  layer.function.getBody().push_back(block);
  block->addArguments(types, locations);

  Body body(block, init, rates(),
            [&](StringRef weight, RankedTensorType type, InitAttr init) -> Value {
              layer.weights.push_back({weight.str(), type, init});
              unsigned index = layer.function.getNumArguments();
              [[maybe_unused]] LogicalResult inserted =
                  layer.function.insertArgument(index, type, {}, entryBody->named(weight));
              assert(succeeded(inserted));
              return layer.function.getArgument(index);
            });
  SmallVector<Value> own(block->args_begin(), block->args_end());
  SmallVector<Value> returned = write(body, own);
  func::ReturnOp::create(body.builder, returned.front().getLoc(), returned);
  layer.function.setFunctionType(
      builder.getFunctionType(layer.function.getArgumentTypes(), TypeRange(ValueRange(returned))));
  for (auto [i, argument] : llvm::enumerate(states)) {
    StringAttr name = builder.getStringAttr(arguments[argument].name);
    layer.function.setArgAttr(argument, attr::state, name);
    layer.function.setResultAttr(returned.size() - states.size() + i, attr::state, name);
  }
  return layer;
}

ValueRange ModelBuilder::callAll(const Layer &layer, StringRef scope, ValueRange arguments,
                                 StringRef name) {
  SmallVector<Value> operands(arguments);
  for (const Layer::Weight &weight : layer.weights)
    operands.push_back(readParameter((scope + "." + weight.name).str(), weight.type, weight.init));
  auto call =
      func::CallOp::create(entryBody->builder, entryBody->named(name), layer.function, operands);
  call->setAttr(attr::scope, entryBody->builder.getStringAttr(scope));
  return call.getResults();
}

OwningOpRef<ModuleOp> ModelBuilder::finish(std::string &error) {
  endEntry();

  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
  });
  if (failed(verify(*module)))
    return nullptr;
  return std::move(module);
}
