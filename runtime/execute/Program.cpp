//===- Program.cpp - a module with its weights, ready to run --------------===//
#include "runtime/execute/Program.h"

#include "runtime/base/Error.h"
#include "runtime/execute/Inputs.h"
#include "runtime/files/ElfFile.h"
#include "runtime/profile/Profile.h"

namespace transformer::runtime {

std::shared_ptr<Device> Program::openDevice(const Module &module, int gpu) {
  module.checkCpu();
  if (!module.hasDevice())
    return nullptr;
  checkInsideImage(module.deviceAbi(), module.path());
  return Device::open({module.path(), module.description().arch, module.deviceAbi().device}, gpu);
}

Program::Program(const Module &module, Checkpoint weights, const std::string &packedWeights,
                 std::optional<Seed> seed)
    : Program(module, openDevice(module), std::move(weights), packedWeights, seed) {}

Program::Program(const Module &module, std::shared_ptr<Device> opened, Checkpoint weights,
                 const std::string &packedWeights, std::optional<Seed> seed)
    : code(&module), device(std::move(opened)), deviceArena(device, "a call's scratch"),
      deviceTensors(device, "a call's inputs and outputs"),
      parameters(module, std::move(weights), seed, arena, packedWeights, device) {}

Call Program::prepare(const std::string &entry, TensorMap inputs, State *state) const {
  const EntryInfo &info = code->entry(entry);
  const std::vector<StateInfo> &states = code->description().states;
  if (!info.states.empty() && (!state || state->size() != states.size()))
    fail("{}: entry {} needs a state of this module: it updates \"{}\"", code->path(), entry,
         states[info.states.front()].name);
  return prepareCall(info, std::move(inputs), code->description(), state);
}

uint64_t Program::availableMemory() const {
  return device ? device->freeMemory() : runtime::availableMemory();
}

/// Outputs were made for the states' sizes.
void Program::checkStates(const Call &call) const {
  for (size_t index : call.entry->states) {
    const StateInfo &info = code->description().states[index];
    for (const Dimension &dimension : info.shape)
      if (!dimension.name.empty() &&
          call.state->sizes().at(dimension.name) != call.dimensions.at(dimension.name))
        fail("state \"{}\" has another {} than when the call was prepared", info.name,
             dimension.name);
  }
}

/// The bytes of scratch memory that a call asks for.
static size_t scratchBytes(const Module &module, const EntryInfo &entry, const void *const *slots,
                           const std::vector<tr_tensor> &io) {
  int64_t bytes = module.functions()[entry.function].arena_bytes(slots, io.data());
  if (bytes < 0)
    fail("{}: entry {} asks for {} bytes of scratch memory", module.path(), entry.name, bytes);
  return static_cast<size_t>(bytes);
}

void Program::execute(Call &call) {
  ProfileScope scope("call", call.entry->name.c_str());
  checkStates(call);
  if (device)
    return executeOnDevice(call);
  std::vector<tr_tensor> io;
  auto add = [&](Tensor &tensor) { io.push_back(tensorAt(tensor.data<void>(), tensor.shape())); };
  for (Tensor &tensor : call.inputs)
    add(tensor);
  for (size_t index : call.entry->states)
    add(call.state->tensor(index));
  for (Tensor &tensor : call.outputs)
    add(tensor);
  for (size_t index : call.entry->hostInputs)
    add(call.inputs[index]);
  size_t bytes = scratchBytes(*code, *call.entry, parameters.slots(), io);
  const tr_function &function = code->functions()[call.entry->function];
  function.call(parameters.slots(), io.data(), arena.reserve(bytes));
  tr_scope(nullptr);
  parameters.checkUnchanged();
}

/// Inputs go up, outputs come down; nothing is waited for in between.
void Program::executeOnDevice(Call &call) {
  size_t bytes = 0;
  for (const std::vector<Tensor> *tensors : {&call.inputs, &call.outputs})
    for (const Tensor &tensor : *tensors)
      bytes += alignUp(static_cast<size_t>(tensor.bytes()));
  char *next = deviceTensors.reserve(bytes);
  std::vector<tr_tensor> io;
  auto add = [&](const Tensor &tensor) {
    io.push_back(tensorAt(next, tensor.shape()));
    next += alignUp(static_cast<size_t>(tensor.bytes()));
    return io.back().data;
  };
  for (const Tensor &tensor : call.inputs)
    device->upload(add(tensor), tensor.data<char>(), static_cast<size_t>(tensor.bytes()));
  for (size_t index : call.entry->states)
    io.push_back(tensorAt(call.state->onDevice(index, device), call.state->shape(index)));
  std::vector<void *> results;
  for (const Tensor &tensor : call.outputs)
    results.push_back(add(tensor));
  for (size_t index : call.entry->hostInputs) {
    Tensor &tensor = call.inputs[index];
    io.push_back(tensorAt(tensor.data<void>(), tensor.shape()));
  }
  size_t scratch = scratchBytes(*code, *call.entry, parameters.slots(), io);
  device->call(code->functions()[call.entry->function], parameters.slots(), io.data(),
               deviceArena.reserve(scratch), /*again=*/true);
  tr_scope(nullptr);
  for (size_t i = 0; i < call.outputs.size(); ++i)
    device->download(call.outputs[i].data<char>(), results[i],
                     static_cast<size_t>(call.outputs[i].bytes()));
  device->wait();
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
