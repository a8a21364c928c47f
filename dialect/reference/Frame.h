//===- Frame.h - the values of one function call ----------------*- C++ -*-===//
#ifndef DIALECT_REFERENCE_FRAME_H
#define DIALECT_REFERENCE_FRAME_H

#include "dialect/reference/Interpreter.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"
#include <memory>

namespace mlir::transformer::reference {

/// What an SSA value holds. Shared, so that passing weights copies nothing.
struct Datum {
  std::shared_ptr<const Tensor> tensor; // null for sequences
  std::shared_ptr<const Sequences> sequences;
};

class Interpreter;

/// The values of one call of a function.
class Frame {
public:
  explicit Frame(Interpreter &interpreter) : interpreter(interpreter) {}

  const Datum &get(Value value) const { return values.find(value)->second; }
  const Tensor &tensor(Value value) const { return *get(value).tensor; }
  const Sequences &sequences(Value value) const { return *get(value).sequences; }
  /// Null for an operand that is not there.
  const Tensor *optional(Value value) const { return value ? &tensor(value) : nullptr; }

  void set(Value value, Datum datum) { values[value] = std::move(datum); }
  void set(Value value, Tensor tensor) {
    values[value] = {std::make_shared<const Tensor>(std::move(tensor)), nullptr};
  }
  void set(Value value, Sequences sequences) {
    values[value] = {nullptr, std::make_shared<const Sequences>(std::move(sequences))};
  }

  /// Reports `message` with the op, its scope and its location.
  LogicalResult fail(Operation *op, const llvm::Twine &message);

  Interpreter &interpreter;

private:
  llvm::DenseMap<Value, Datum> values;
};

/// What all frames of an evaluation share.
class Interpreter {
public:
  Interpreter(ModuleOp module, ParameterSource parameters, std::string &error, Observer *observer)
      : module(module), parameters(parameters), error(error), observer(observer) {}

  /// Calls a function; results in order.
  FailureOr<llvm::SmallVector<Datum>> call(Operation *function, llvm::ArrayRef<Datum> arguments);

  /// The tensor of a `parameter`, or of a `prepared` (its function is evaluated).
  FailureOr<Datum> parameter(Operation *user, llvm::StringRef name);

  LogicalResult fail(Operation *op, const llvm::Twine &message);

  /// Evaluates one op, setting its results in the frame.
  LogicalResult evaluate(Operation *op, Frame &frame);

  ModuleOp module;
  llvm::SmallVector<std::string> scopes; // of the calls around, outermost first

private:
  ParameterSource parameters;
  std::string &error;
  Observer *observer;
  llvm::DenseMap<Operation *, Datum> loaded;
};

inline LogicalResult Frame::fail(Operation *op, const llvm::Twine &message) {
  return interpreter.fail(op, message);
}

/// "[2, 128]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace mlir::transformer::reference

#endif // DIALECT_REFERENCE_FRAME_H
