//===- Program.cpp - a module with its weights, ready to run --------------===//
#include "runtime/execute/Program.h"

#include "runtime/base/Error.h"
#include "runtime/execute/Inputs.h"
#include "runtime/profile/Profile.h"

namespace transformer::runtime {

Program::Program(const Module &module, Checkpoint weights, const std::string &packedWeights)
    : code(&module),
      parameters((module.checkCpu(), module), std::move(weights), arena, packedWeights) {}

Call Program::prepare(const std::string &entry, TensorMap inputs) const {
  return prepareCall(code->entry(entry), std::move(inputs));
}

void Program::execute(Call &call) {
  ProfileScope scope("call", call.entry->name.c_str());
  std::vector<tr_tensor> io;
  auto add = [&](Tensor &tensor) {
    tr_tensor item{tensor.data<void>(), {1, 1, 1, 1}};
    for (size_t d = 0; d < tensor.shape().size(); ++d)
      item.sizes[d] = tensor.shape()[d];
    io.push_back(item);
  };
  for (Tensor &tensor : call.inputs)
    add(tensor);
  for (Tensor &tensor : call.outputs)
    add(tensor);
  const tr_function &function = code->functions()[call.entry->function];
  int64_t bytes = function.arena_bytes(parameters.slots(), io.data());
  if (bytes < 0)
    fail("{}: entry {} asks for {} bytes of scratch memory", code->path(), call.entry->name, bytes);
  function.call(parameters.slots(), io.data(), arena.reserve(static_cast<size_t>(bytes)));
  tr_scope(nullptr);
  parameters.checkUnchanged();
}

TensorMap Program::run(const std::string &entry, TensorMap inputs) {
  Call call = prepare(entry, std::move(inputs));
  execute(call);
  TensorMap outputs;
  for (size_t i = 0; i < call.outputs.size(); ++i)
    outputs[call.entry->outputs[i].name] = std::move(call.outputs[i]);
  return outputs;
}

} // namespace transformer::runtime
