//===- Parameters.h - weights bound to a module's slots ---------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PARAMETERS_H
#define TRANSFORMER_RUNTIME_PARAMETERS_H

#include "runtime/Checkpoint.h"
#include "runtime/Tensor.h"

#include <vector>

namespace transformer::runtime {

class Module;
struct ParameterInfo;

/// The pointer table of a module. A parameter of the file's own type is used where the file is
/// mapped; others are converted once; prepared tensors are made once. What only served as a source
/// does not stay in memory, so that the peak is about the size of the weights.
class Parameters {
public:
  /// Binds all parameters and runs the prepare functions with `arena` as scratch. Throws Error
  /// that names the file, the tensor, what was expected and what was found.
  Parameters(const Module &module, Checkpoint weights, Arena &arena);

  const void *const *slots() const { return table.data(); }
  const Checkpoint &checkpoint() const { return weights; }

private:
  struct Bound {
    Checkpoint::Found found;
    bool direct;       // usable where the file is mapped
    size_t uses = 0;   // prepared tensors that still need it
    bool kept = false; // a slot uses it
    Tensor converted;
  };

  void bind(const ParameterInfo &parameter);
  const void *materialize(size_t index);
  void finishUse(size_t index);
  void runPrepare(Arena &arena);

  const Module *module;
  Checkpoint weights;
  std::vector<Bound> bound;
  std::vector<char *> prepared;
  AlignedBuffer preparedMemory;
  std::vector<const void *> table;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PARAMETERS_H
