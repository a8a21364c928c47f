//===- Module.h - a compiled module and a program made from it --*- C++ -*-===//
//
//   Module module = Module::open("bert.so");          // or Module(transformer_module, "bert")
//   Program program(module, Checkpoint::open("model.safetensors"));
//   TensorMap outputs = program.run("forward", std::move(inputs));
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_MODULE_H
#define TRANSFORMER_RUNTIME_MODULE_H

#include "runtime/Checkpoint.h"
#include "runtime/Description.h"
#include "runtime/ModuleAbi.h"
#include "runtime/Parameters.h"
#include "runtime/Tensor.h"

#include <string>
#include <vector>

namespace transformer::runtime {

/// A checked description and the functions that it describes. Never runs code of the module.
class Module {
public:
  /// Checks magic, version, hash and description of `abi`, which must outlive the object. `path` is
  /// what messages call it, and where embedded weights are looked for. Throws Error.
  Module(const tr_module &abi, std::string path);

  /// Loads a shared object and its symbol `transformer_module`; it stays loaded for good. The
  /// process must export tr_parallel_for and tr_scope (-rdynamic). Throws Error.
  static Module open(const std::string &path);

  /// Only the first half of open: the symbol, with pointers that can be followed.
  static const tr_module &openAbi(const std::string &path);

  /// `abi`, once its magic and version are right and what it points to lies in the loaded file that
  /// it is in itself. Throws Error.
  static const tr_module &checkAbi(const tr_module &abi, const std::string &path);

  const std::string &path() const { return file; }
  const Description &description() const { return info; }
  const tr_function *functions() const { return abi->functions; }

  /// The entry of that name; throws Error that lists those there are.
  const EntryInfo &entry(const std::string &name) const;

  /// Throws Error that names the features this CPU lacks. To be called before any code runs.
  void checkCpu() const;

private:
  const tr_module *abi;
  std::string file;
  Description info;
};

/// Inputs and outputs of one call of an entry point, checked and complete; may be run again.
struct Call {
  const EntryInfo *entry = nullptr;
  std::map<std::string, int64_t> dimensions; // the dynamic ones, by name
  std::vector<Tensor> inputs;                // in the entry's order, defaults made
  std::vector<Tensor> outputs;               // in the entry's order
};

/// A module with its weights bound, ready to run. Not thread-safe: one call at a time.
class Program {
public:
  /// Checks the CPU, binds every parameter and runs the prepare functions, or takes what they made
  /// from `packedWeights`, the path of a file that is made if need be (empty: none). `module` must
  /// outlive the program. Throws Error.
  Program(const Module &module, Checkpoint weights, const std::string &packedWeights = {});

  const Module &module() const { return *code; }
  const Checkpoint &weights() const { return parameters.checkpoint(); }

  /// A line for the user on the file of packed weights; empty when there is nothing to say.
  const std::string &notice() const { return parameters.notice(); }

  /// Checks `inputs` (names, types, shapes, every value), makes the missing ones and allocates
  /// outputs. Throws Error that names the input.
  Call prepare(const std::string &entry, TensorMap inputs) const;

  /// Runs a prepared call; its outputs are overwritten. Throws Error when the files of the weights
  /// have been written to since they were opened: nobody knows what of them was read.
  void execute(Call &call);

  /// prepare and execute; the outputs by name.
  TensorMap run(const std::string &entry, TensorMap inputs);

private:
  const Module *code;
  Arena arena;
  Parameters parameters;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_MODULE_H
