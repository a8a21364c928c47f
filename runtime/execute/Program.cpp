//===- Program.cpp - a module with its weights, ready to run --------------===//
#include "runtime/execute/Program.h"

#include "runtime/base/Error.h"
#include "runtime/execute/Inputs.h"
#include "runtime/profile/Profile.h"

namespace transformer::runtime {

Program::Program(const Module &module, Checkpoint weights, const std::string &packedWeights,
                 std::optional<Seed> seed)
    : code(&module),
      parameters((module.checkCpu(), module), std::move(weights), seed, arena, packedWeights) {}

Call Program::prepare(const std::string &entry, TensorMap inputs, State *state) const {
  const EntryInfo &info = code->entry(entry);
  const std::vector<StateInfo> &states = code->description().states;
  if (!info.states.empty() && (!state || state->tensors().size() != states.size()))
    fail("{}: entry {} needs a state of this module: it updates \"{}\"", code->path(), entry,
         states[info.states.front()].name);
  return prepareCall(info, std::move(inputs), code->description(), state);
}

void Program::execute(Call &call) {
  ProfileScope scope("call", call.entry->name.c_str());
  std::vector<tr_tensor> io;
  auto add = [&](Tensor &tensor) { io.push_back(tensorAt(tensor.data<void>(), tensor.shape())); };
  for (Tensor &tensor : call.inputs)
    add(tensor);
  for (size_t index : call.entry->states) {
    const StateInfo &info = code->description().states[index];
    for (const Dimension &dimension : info.shape) // outputs were made for it
      if (!dimension.name.empty() &&
          call.state->sizes().at(dimension.name) != call.dimensions.at(dimension.name))
        fail("state \"{}\" has another {} than when the call was prepared", info.name,
             dimension.name);
    add(call.state->tensor(index));
  }
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

TensorMap Program::run(const std::string &entry, TensorMap inputs, State *state) {
  return run(prepare(entry, std::move(inputs), state));
}

TensorMap Program::run(Call call) {
  execute(call);
  TensorMap outputs;
  for (size_t i = 0; i < call.outputs.size(); ++i)
    outputs[call.entry->outputs[i].name] = std::move(call.outputs[i]);
  return outputs;
}

} // namespace transformer::runtime
