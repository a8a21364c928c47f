//===- State.cpp - what a program keeps from call to call -----------------===//
#include "runtime/execute/State.h"

#include "runtime/base/Error.h"
#include "runtime/files/Safetensors.h"

#include <cstring>

namespace transformer::runtime {

State::State(const Description &description, const NamedSizes &sizes) {
  std::vector<std::pair<DataType, std::vector<int64_t>>> tensors;
  for (const StateInfo &info : description.states) {
    std::vector<int64_t> shape;
    for (const Dimension &dimension : info.shape) {
      auto size = sizes.find(dimension.name);
      if (!dimension.name.empty() && size == sizes.end())
        fail("state \"{}\": nobody says how large \"{}\" is", info.name, dimension.name);
      if (!dimension.name.empty() && size->second < 1)
        fail("state \"{}\": {} is {}, expected 1 or more", info.name, dimension.name, size->second);
      shape.push_back(dimension.name.empty() ? dimension.size : size->second);
      if (!dimension.name.empty())
        named.insert(*size);
    }
    tensors.emplace_back(info.dtype, std::move(shape));
  }
  touched.assign(tensors.size(), false);
  std::vector<Tensor> zeros = Tensor::zeros(tensors);
  for (size_t i = 0; i < zeros.size(); ++i)
    order.push_back(&(values[description.states[i].name] = std::move(zeros[i])));
}

State State::restore(const Description &description, const std::string &path) {
  TensorMap found = readSafetensors(path);
  NamedSizes sizes;
  for (const StateInfo &info : description.states) {
    auto tensor = found.find(info.name);
    if (tensor == found.end())
      fail("{}: missing state \"{}\"", path, info.name);
    const std::vector<int64_t> &shape = tensor->second.shape();
    for (size_t d = 0; d < info.shape.size() && d < shape.size(); ++d)
      if (!info.shape[d].name.empty())
        sizes.emplace(info.shape[d].name, shape[d]);
  }
  for (const auto &[name, tensor] : found) {
    auto known = [&](const StateInfo &info) { return info.name == name; };
    if (std::none_of(description.states.begin(), description.states.end(), known))
      fail("{}: the program keeps no state \"{}\"", path, printable(name));
  }
  State state(description, sizes);
  for (auto &[name, tensor] : state.values) {
    Tensor &given = found.at(name);
    if (given.dtype() != tensor.dtype() || given.shape() != tensor.shape())
      fail("{}: state \"{}\": expected {} {}, found {} {}", path, name,
           safetensorsName(tensor.dtype()), shapeText(tensor.shape()),
           safetensorsName(given.dtype()), shapeText(given.shape()));
    tensor = std::move(given);
  }
  state.touched.assign(state.touched.size(), true);
  return state;
}

void State::reset() {
  for (auto &[name, tensor] : values)
    std::memset(tensor.data<char>(), 0, static_cast<size_t>(tensor.bytes()));
  touched.assign(order.size(), false);
  for (Place &place : places)
    place.newest = false;
}

void State::save(const std::string &path) const { writeSafetensors(path, tensors()); }

void State::fetch(size_t index) const {
  if (!isOnDevice(index))
    return;
  Place &place = places[index];
  Tensor &tensor = *order[index];
  place.device->download(tensor.data<char>(), place.memory.data(), size_t(tensor.bytes()));
  place.newest = false;
}

const TensorMap &State::tensors() const {
  for (size_t i = 0; i < places.size(); ++i)
    fetch(i);
  return values;
}

Tensor &State::tensor(size_t index) {
  fetch(index);
  touched[index] = true;
  return *order[index];
}

void *State::onDevice(size_t index, const std::shared_ptr<Device> &device) {
  places.resize(order.size());
  Place &place = places[index];
  const Tensor &tensor = *order[index];
  auto bytes = static_cast<size_t>(tensor.bytes());
  if (!place.memory.data()) {
    place.device = device;
    place.memory = DeviceMemory(device, bytes, "a program's state");
  }
  if (!place.newest && touched[index])
    device->upload(place.memory.data(), tensor.data<char>(), bytes);
  else if (!place.newest)
    device->zero(place.memory.data(), bytes);
  place.newest = true;
  touched[index] = true; // once it is fetched again
  return place.memory.data();
}

bool State::zeroOnDevice(size_t index) {
  if (!isOnDevice(index))
    return false;
  places[index].device->zero(places[index].memory.data(), size_t(order[index]->bytes()));
  return true;
}

void State::copyOnDevice(size_t index, size_t to, size_t from, size_t bytes) {
  char *data = places[index].memory.data();
  places[index].device->copy(data + to, data + from, bytes);
}

} // namespace transformer::runtime
