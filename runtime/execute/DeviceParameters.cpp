//===- DeviceParameters.cpp - weights bound to slots on a device ----------===//
#include "runtime/base/Error.h"
#include "runtime/execute/Module.h"
#include "runtime/execute/Parameters.h"
#include "runtime/profile/Profile.h"

#include <map>

namespace transformer::runtime {
namespace {

template <typename Info> size_t bytesOf(const Info &info) {
  return static_cast<size_t>(byteSize(info.shape, byteWidth(info.dtype)));
}

} // namespace

/// The host keeps nothing of it: the file's pages are given back.
void Parameters::uploadTo(Device &device, void *to, size_t index) {
  Bound &item = bound[index];
  device.upload(to, materialize(index), bytesOf(module->description().parameters[index]));
  item.converted = Tensor();
  if (item.direct)
    releasePages(item.found.file->hugePages(*item.found.view));
}

/// What slots hold lies in one piece of memory. Other sources of prepared tensors are there while
/// they are needed.
void Parameters::bindOnDevice(const std::shared_ptr<Device> &device) {
  const Description &description = module->description();
  std::vector<size_t> places(bound.size()); // of parameters in slots
  size_t total = 0;
  auto take = [&](size_t bytes) {
    size_t place = total;
    if (__builtin_add_overflow(total, alignUp(bytes, 256), &total))
      fail("{}: parameters are too large", module->path());
    return place;
  };
  for (size_t i = 0; i < bound.size(); ++i)
    if (bound[i].kept)
      places[i] = take(bytesOf(description.parameters[i]));
  for (const PreparedInfo &item : description.prepared)
    offsets.push_back(take(bytesOf(item)));
  onDevice = DeviceMemory(device, total, "weights");
  for (size_t i = 0; i < bound.size(); ++i)
    if (bound[i].kept)
      uploadTo(*device, onDevice.data() + places[i], i);

  std::map<size_t, DeviceMemory> passing; // sources that no slot has
  DeviceArena scratch(device, "the scratch of weights that are prepared");
  auto sourceAt = [&](size_t source) -> const void * {
    if (source >= bound.size())
      return onDevice.data() + offsets[source - bound.size()];
    if (bound[source].kept)
      return onDevice.data() + places[source];
    DeviceMemory &memory = passing[source];
    if (!memory.data()) {
      const ParameterInfo &info = description.parameters[source];
      memory = DeviceMemory(device, bytesOf(info), "parameter " + info.name);
      uploadTo(*device, memory.data(), source);
    }
    return memory.data();
  };
  for (size_t i : orderOfPreparing()) {
    const PreparedInfo &item = description.prepared[i];
    std::vector<const void *> sources;
    for (size_t source : item.sources)
      sources.push_back(sourceAt(source));
    tr_tensor result = tensorAt(onDevice.data() + offsets[i], item.shape);
    const tr_function &function = module->functions()[item.function];
    int64_t bytes = function.arena_bytes(sources.data(), &result);
    if (bytes < 0)
      fail("{}: prepare function of \"{}\" asks for {} bytes of scratch memory", module->path(),
           item.name, bytes);
    tr_scope(item.name.c_str());
    device->call(function, sources.data(), &result, scratch.reserve(static_cast<size_t>(bytes)),
                 /*again=*/false);
    for (size_t source : item.sources)
      if (source < bound.size() && --bound[source].uses == 0)
        passing.erase(source);
  }
  tr_scope(nullptr);
  device->wait();
  for (const SlotInfo &slot : description.slots)
    table.push_back(onDevice.data() +
                    (slot.kind == SlotInfo::Prepared ? offsets : places)[slot.index]);
}

} // namespace transformer::runtime
