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
#include "runtime/cuda/Device.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace transformer::runtime {

/// Sizes that have names, by their names.
using NamedSizes = std::map<std::string, int64_t>;

/// A tensor for each state of a module, in the description's order. Movable. Where a program's
/// tensors lie on a device, those that a call has updated stay there until somebody looks.
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
  size_t size() const { return order.size(); }
  int64_t bytes(size_t index) const { return order[index]->bytes(); }
  const std::vector<int64_t> &shape(size_t index) const { return order[index]->shape(); }

  /// On the host; what lies on a device is copied from there.
  const TensorMap &tensors() const;
  /// The same of one, which may be written to.
  Tensor &tensor(size_t index);

  /// Memory of a device with state `index`, copied there if need be; a call may update it. All
  /// calls must be with the same device.
  void *onDevice(size_t index, const std::shared_ptr<Device> &device);

  /// Whether state `index` is on a device now.
  bool isOnDevice(size_t index) const { return index < places.size() && places[index].newest; }
  /// Sets all of it to 0 there; false where it is not on a device.
  bool zeroOnDevice(size_t index);
  /// Copies bytes from one place of it to another, on the device.
  void copyOnDevice(size_t index, size_t to, size_t from, size_t bytes);

private:
  /// A state on a device.
  struct Place {
    std::shared_ptr<Device> device;
    DeviceMemory memory;
    bool newest = false; // else the host's tensor is
  };

  void fetch(size_t index) const;

  TensorMap values;
  std::vector<Tensor *> order; // the description's; a map's elements stay where they are
  std::vector<bool> touched;   // by who had `tensor`; the others are zeros
  mutable std::vector<Place> places;
  NamedSizes named;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_STATE_H
