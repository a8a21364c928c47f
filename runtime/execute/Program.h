//===- Program.h - a module with its weights, ready to run ------*- C++ -*-===//
//
//   Module module = Module::open("bert.so");          // or Module(transformer_module, "bert")
//   Program program(module, Checkpoint::open("model.safetensors"));
//   TensorMap outputs = program.run("forward", std::move(inputs));
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_PROGRAM_H
#define TRANSFORMER_RUNTIME_PROGRAM_H

#include "runtime/base/Tensor.h"
#include "runtime/cuda/Device.h"
#include "runtime/execute/Module.h"
#include "runtime/execute/Parameters.h"
#include "runtime/execute/State.h"
#include "runtime/files/Checkpoint.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transformer::runtime {

/// Inputs and outputs of one call of an entry point, checked and complete; may be run again.
struct Call {
  const EntryInfo *entry = nullptr;
  State *state = nullptr;                    // what the entry updates
  std::map<std::string, int64_t> dimensions; // the dynamic ones, by name
  std::vector<Tensor> inputs;                // in the entry's order, defaults made
  std::vector<Tensor> outputs;               // in the entry's order
};

/// A module with its weights bound, ready to run. Not thread-safe: one call at a time.
class Program {
public:
  /// Checks the CPU, opens the GPU of a module that has kernels, binds every parameter and runs the
  /// prepare functions, or takes what they made from `packedWeights`, the path of a file that is
  /// made if need be (empty: none). Parameters that the weights lack are initialised from `seed`,
  /// where there is one. `module` must outlive the program. Throws Error.
  Program(const Module &module, Checkpoint weights, const std::string &packedWeights = {},
          std::optional<Seed> seed = {});

  /// The GPU of a module that has kernels, number `gpu` as findGpu counts; null of another one.
  /// Checks the CPU, which runs the functions of every module. Throws Error.
  static std::shared_ptr<Device> openDevice(const Module &module, int gpu = 0);

  /// The same on a device that has been opened, or null.
  Program(const Module &module, std::shared_ptr<Device> device, Checkpoint weights,
          const std::string &packedWeights = {}, std::optional<Seed> seed = {});

  /// The same with all parameters initialised from `seed`, as before training. Throws Error.
  Program(const Module &module, Seed seed) : Program(module, Checkpoint(), {}, seed) {}

  const Module &module() const { return *code; }
  /// Null: the CPU.
  const std::shared_ptr<Device> &gpu() const { return device; }
  /// No files when the parameters come from a seed.
  const Checkpoint &weights() const { return parameters.checkpoint(); }

  /// Copies a parameter from the file, or makes it, to a tensor of its type and shape; `index` is
  /// the description's.
  void copyParameter(size_t index, Tensor &result) const { parameters.copyTo(index, result); }

  /// The names of parameters that were initialised from the seed.
  std::vector<std::string> initialized() const { return parameters.initialized(); }

  /// About how many bytes of states there is room for.
  uint64_t availableMemory() const;

  /// A line for the user on the file of packed weights; empty when there is nothing to say.
  const std::string &notice() const { return parameters.notice(); }

  /// Checks `inputs` (names, types, shapes, every value), makes the missing ones and allocates
  /// outputs. `state`, which must stay where it is until the call has been executed, is what the
  /// entry updates, if it does. Throws Error that names the input.
  Call prepare(const std::string &entry, TensorMap inputs, State *state = nullptr) const;

  /// Runs a prepared call; its outputs are overwritten. Throws Error when the files of the weights
  /// have been written to since they were opened: nobody knows what of them was read.
  void execute(Call &call);

  /// prepare and execute; the outputs by name.
  TensorMap run(const std::string &entry, TensorMap inputs, State *state = nullptr);
  TensorMap run(Call call);

private:
  void checkStates(const Call &call) const;
  void executeOnDevice(Call &call);

  const Module *code;
  std::shared_ptr<Device> device; // null: the CPU
  Arena arena;
  DeviceArena deviceArena, deviceTensors; // scratch memory; inputs and outputs of a call
  Parameters parameters;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PROGRAM_H
