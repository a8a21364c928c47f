//===- Interpreter.cpp - the executable specification ---------------------===//
#include "dialect/reference/Evaluate.h"
#include "dialect/reference/Operations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

std::string reference::shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << '[';
  llvm::interleaveComma(shape, out);
  out << ']';
  return text;
}

LogicalResult Interpreter::fail(Operation *op, const Twine &message) {
  llvm::raw_string_ostream out(error);
  for (const std::string &scope : scopes)
    out << scope << ": ";
  out << '\'' << op->getName() << "' at " << op->getLoc() << ": " << message;
  return failure();
}

FailureOr<Datum> Interpreter::parameter(Operation *user, StringRef name) {
  Operation *symbol = SymbolTable::lookupSymbolIn(module, name);
  if (!symbol)
    return fail(user, "unknown parameter '" + name + "'");
  if (auto known = loaded.find(symbol); known != loaded.end())
    return known->second;

  Datum datum;
  RankedTensorType type;
  if (auto parameter = dyn_cast<ParameterOp>(symbol)) {
    FailureOr<Tensor> value = parameters(parameter);
    if (failed(value))
      return fail(user, "no value for parameter '" + name + "'");
    datum.tensor = std::make_shared<const Tensor>(std::move(*value));
    type = cast<RankedTensorType>(parameter.getType());
  } else if (auto prepared = dyn_cast<PreparedOp>(symbol)) {
    SmallVector<Datum> sources;
    for (auto source : prepared.getSources().getAsRange<FlatSymbolRefAttr>()) {
      FailureOr<Datum> value = this->parameter(user, source.getValue());
      if (failed(value))
        return failure();
      sources.push_back(*value);
    }
    Operation *function = SymbolTable::lookupSymbolIn(module, prepared.getFunction());
    type = cast<RankedTensorType>(prepared.getType());
    // In destination-passing style the last argument is what the result is written to.
    if (auto callee = dyn_cast_or_null<func::FuncOp>(function);
        callee && callee.getNumArguments() == sources.size() + 1)
      sources.push_back({std::make_shared<const Tensor>(Tensor::zeros(type.getShape().vec())), {}});
    FailureOr<SmallVector<Datum>> results = call(function, sources);
    if (failed(results))
      return failure();
    if (results->size() != 1 || !results->front().tensor)
      return fail(prepared, "the interpreter needs a function that returns one tensor");
    datum = results->front();
  } else {
    return fail(user, "'" + name + "' is not a parameter");
  }
  if (datum.tensor->isInteger() || ArrayRef<int64_t>(datum.tensor->shape) != type.getShape())
    return fail(user, "the value of '" + name + "' has shape " + shapeText(datum.tensor->shape) +
                          ", expected " + shapeText(type.getShape()));
  return loaded[symbol] = datum;
}

/// The name of a call in errors and for the observer.
static std::string scopeOf(func::CallOp call) {
  auto scope = call->getAttrOfType<StringAttr>(attr::scope);
  return (scope ? scope.getValue() : call.getCallee()).str();
}

LogicalResult reference::evaluate(func::CallOp op, Frame &frame) {
  Interpreter &interpreter = frame.interpreter;
  if (interpreter.scopes.size() > 100)
    return frame.fail(op, "calls are nested too deeply");
  SmallVector<Datum> arguments;
  for (Value operand : op.getOperands())
    arguments.push_back(frame.get(operand));
  Operation *function = SymbolTable::lookupSymbolIn(interpreter.module, op.getCallee());
  interpreter.scopes.push_back(scopeOf(op));
  FailureOr<SmallVector<Datum>> results = interpreter.call(function, arguments);
  interpreter.scopes.pop_back();
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip_equal(op.getResults(), *results))
    frame.set(value, result);
  return success();
}

LogicalResult reference::evaluate(GetParameterOp op, Frame &frame) {
  FailureOr<Datum> value = frame.interpreter.parameter(op, op.getName());
  if (failed(value))
    return failure();
  frame.set(op.getResult(), *value);
  return success();
}

LogicalResult Interpreter::evaluate(Operation *op, Frame &frame) {
  auto known = dyn_cast<EvaluateOpInterface>(op);
  if (!known)
    return fail(op, "the interpreter does not know this op");
  LogicalResult result = known.evaluate(frame);
  if (failed(result) || !observer)
    return result;
  SmallVector<const Tensor *> results;
  for (Value value : op->getResults())
    results.push_back(frame.get(value).tensor.get());
  observer->observe(op, scopes, results);
  return success();
}

FailureOr<SmallVector<Datum>> Interpreter::call(Operation *callee, ArrayRef<Datum> arguments) {
  auto function = dyn_cast_or_null<func::FuncOp>(callee);
  if (!function)
    return fail(module, "a call of something that is not a function");
  if (!function.getBody().hasOneBlock())
    return fail(function, "the interpreter needs a body of one block");
  if (function.getNumArguments() != arguments.size())
    return fail(function, "called with " + Twine(arguments.size()) + " arguments");
  Frame frame(*this);
  for (auto [value, argument] : llvm::zip_equal(function.getArguments(), arguments))
    frame.set(value, argument);
  for (Operation &op : function.front().without_terminator())
    if (failed(evaluate(&op, frame)))
      return failure();
  SmallVector<Datum> results;
  for (Value value : function.front().getTerminator()->getOperands())
    results.push_back(frame.get(value));
  return results;
}

/// Whether `tensor` may be a value of `type`.
static bool fits(const Tensor &tensor, Type type) {
  if (!isa<RankedTensorType>(type))
    return type.isIntOrIndexOrFloat() && tensor.rank() == 0 &&
           tensor.isInteger() == type.isIntOrIndex();
  auto ranked = cast<RankedTensorType>(type);
  return tensor.rank() == ranked.getRank() &&
         tensor.isInteger() == ranked.getElementType().isIntOrIndex() &&
         llvm::all_of(llvm::zip(tensor.shape, ranked.getShape()), [](auto pair) {
           auto [size, expected] = pair;
           return expected == ShapedType::kDynamic || size == expected;
         });
}

FailureOr<std::vector<Tensor>> reference::run(ModuleOp module, StringRef name,
                                              ArrayRef<Tensor> inputs, ParameterSource parameters,
                                              std::string &error, Observer *observer) {
  error.clear();
  Interpreter interpreter(module, parameters, error, observer);
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return interpreter.fail(module, "there is no function '" + name + "'");
  if (function.getNumArguments() != inputs.size())
    return interpreter.fail(function, "expected " + Twine(function.getNumArguments()) +
                                          " inputs, found " + Twine(inputs.size()));
  SmallVector<Datum> arguments;
  for (auto [i, input, type] : llvm::enumerate(inputs, function.getArgumentTypes())) {
    if (!fits(input, type)) {
      std::string expected;
      llvm::raw_string_ostream(expected) << type;
      return interpreter.fail(function, "input " + Twine(i) + " of shape " +
                                            shapeText(input.shape) + " is no " + expected);
    }
    arguments.push_back({std::make_shared<const Tensor>(input), nullptr});
  }
  FailureOr<SmallVector<Datum>> results = interpreter.call(function, arguments);
  if (failed(results))
    return failure();
  std::vector<Tensor> tensors;
  for (const Datum &result : *results) {
    if (!result.tensor)
      return interpreter.fail(function, "a result is no tensor");
    tensors.push_back(*result.tensor);
  }
  return tensors;
}
