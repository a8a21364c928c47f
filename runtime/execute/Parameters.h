//===- Parameters.h - weights bound to a module's slots ---------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PARAMETERS_H
#define TRANSFORMER_RUNTIME_PARAMETERS_H

#include "runtime/base/Tensor.h"
#include "runtime/cuda/Device.h"
#include "runtime/execute/Initializer.h"
#include "runtime/files/Checkpoint.h"
#include "runtime/files/PackedWeights.h"

#include <optional>
#include <span>
#include <vector>

namespace transformer::runtime {

class Module;
class PageWork;

/// The pointer table of a module. A parameter of the file's own type is used where the file is
/// mapped; others are converted once; prepared tensors are made once. What only served as a source
/// does not stay in memory, so that the peak is about the size of the weights. Of a module for a
/// device all of it lies there.
class Parameters {
public:
  /// Binds all parameters and runs the prepare functions with `arena` as scratch. With
  /// `packedWeights`, the path of a file, prepared tensors come from that file, which is made when
  /// it does not belong to the module and the weights. Parameters that `weights` has not are
  /// initialised from `seed`, where there is one; new adapters that are trained, in any case.
  /// With `device` they are copied there, and made there. Throws Error that names the file, the
  /// tensor, what was expected and what was found, or a parameter whose initial values the module
  /// does not know.
  Parameters(const Module &module, Checkpoint weights, std::optional<Seed> seed, Arena &arena,
             const std::string &packedWeights, const std::shared_ptr<Device> &device = nullptr);

  const void *const *slots() const { return table.data(); }
  const Checkpoint &checkpoint() const { return weights; }

  /// Copies parameter `index` of the description to `result`, of its type and shape, or makes it
  /// there. The file's pages are given back: they are read again where somebody still needs them.
  void copyTo(size_t index, Tensor &result) const;

  /// Throws Error when a file that is in use has been written to since it was opened.
  void checkUnchanged() const;

  /// The names of those that were initialised.
  std::vector<std::string> initialized() const;

  /// What became of the file of packed weights: a line for the user, empty when it was used.
  const std::string &notice() const { return message; }

private:
  struct Bound {
    Checkpoint::Found found; // of one from the seed: nothing
    bool direct;             // usable where the file is mapped
    size_t uses = 0;         // prepared tensors that still need it
    bool kept = false;       // a slot uses it
    Tensor converted;
  };

  void bindAll(Arena &arena, const std::string &packedWeights);
  Bound find(const ParameterInfo &parameter) const;
  const void *materialize(size_t index);
  void finishUse(size_t index, PageWork &work);
  std::vector<size_t> orderOfPreparing() const;
  void prepareAll(Arena &arena, const std::string &packedWeights);
  void runPrepare(Arena &arena);
  void bindOnDevice(const std::shared_ptr<Device> &device);
  void uploadTo(Device &device, void *to, size_t index);

  const Module *module;
  Checkpoint weights;
  std::optional<Seed> seed; // of what the weights lack
  std::vector<Bound> bound;
  std::vector<size_t> offsets;  // of prepared tensors
  AlignedBuffer preparedMemory; // of prepared tensors made here
  DeviceMemory onDevice;        // parameters and prepared tensors
  std::optional<PackedWeights> packed;
  std::string message;
  std::vector<const void *> table;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PARAMETERS_H
