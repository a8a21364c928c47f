//===- State.h - what a program keeps from call to call ---------*- C++ -*-===//
//
//   State state(module.description(), {{"capacity", 512}});
//   Call call = program.prepare("step", std::move(inputs), &state);
//   program.execute(call); // updates the state where it lies
//   state.save("session.safetensors");
//
// A program may have any number of them, one for each session: its weights are
// shared.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_STATE_H
#define TRANSFORMER_RUNTIME_STATE_H

#include "runtime/abi/Description.h"
#include "runtime/base/Tensor.h"

#include <map>
#include <string>
#include <vector>

namespace transformer::runtime {

/// Sizes that have names, by their names.
using NamedSizes = std::map<std::string, int64_t>;

/// A tensor for each state of a module, in the description's order. Movable.
class State {
public:
  State() = default;

  /// Zeros. `sizes` are those that have names in the states' shapes, and may be more. Throws Error
  /// that names the state whose size is missing, not positive or too large.
  State(const Description &description, const NamedSizes &sizes = {});

  /// What `save` has written, with the sizes that it had. Throws Error that names the file and the
  /// tensor that is missing, too much or of another type or shape.
  static State restore(const Description &description, const std::string &path);

  /// Back to zeros.
  void reset();

  /// Writes a safetensors file with a tensor of its name for each state; it appears whole or not at
  /// all. Throws Error when it cannot be written.
  void save(const std::string &path) const;

  const NamedSizes &sizes() const { return named; }
  const TensorMap &tensors() const { return values; }
  Tensor &tensor(size_t index) { return *order[index]; }

private:
  TensorMap values;
  std::vector<Tensor *> order; // the description's; a map's elements stay where they are
  NamedSizes named;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_STATE_H
