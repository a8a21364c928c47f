//===- Parameters.cpp - weights bound to a module's slots -----------------===//
#include "runtime/Parameters.h"

#include "runtime/Error.h"
#include "runtime/Module.h"
#include "runtime/Profile.h"

#include <cstring>

namespace transformer::runtime {
namespace {

/// Parameters used in place are aligned to their elements, not to 64 bytes: real files start
/// tensors at any multiple of their element size.
bool isAligned(const void *pointer, DataType type) {
  return reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(byteWidth(type)) == 0;
}

/// A file's type can be read as `wanted` without losing anything.
bool convertible(DataType found, DataType wanted) {
  return found == wanted ||
         (wanted == DataType::F32 && (found == DataType::F16 || found == DataType::BF16));
}

} // namespace

Parameters::Parameters(const Module &module, Checkpoint checkpoint, Arena &arena)
    : module(&module), weights(std::move(checkpoint)) {
  const Description &description = module.description();
  ProfileScope scope("load weights");
  bound.reserve(description.parameters.size());
  for (const ParameterInfo &parameter : description.parameters)
    bind(parameter);
  for (const PreparedInfo &item : description.prepared)
    for (size_t source : item.sources)
      ++bound[source].uses;
  for (const SlotInfo &slot : description.slots)
    if (slot.kind == SlotInfo::Parameter)
      bound[slot.index].kept = true;
  runPrepare(arena);
  for (const SlotInfo &slot : description.slots)
    table.push_back(slot.kind == SlotInfo::Prepared ? prepared[slot.index]
                                                    : materialize(slot.index));
}

void Parameters::bind(const ParameterInfo &parameter) {
  std::string name = parameter.name;
  auto found = weights.find(name);
  for (size_t i = 0; !found && i < parameter.aliases.size(); ++i) {
    name = parameter.aliases[i];
    found = weights.find(name);
  }
  if (!found)
    fail("{}: missing tensor \"{}\" ({} {})", weights.path(), parameter.name,
         safetensorsName(parameter.dtype), shapeText(parameter.shape));
  const TensorView &view = *found->view;
  const std::string &file = found->file->path();
  if (!convertible(view.dtype, parameter.dtype))
    fail("{}: tensor \"{}\": expected dtype {}{}, found {}", file, name,
         safetensorsName(parameter.dtype),
         parameter.dtype == DataType::F32 ? " (or F16, BF16)" : "", safetensorsName(view.dtype));
  if (view.shape != parameter.shape)
    fail("{}: tensor \"{}\": expected shape {}, found {}", file, name, shapeText(parameter.shape),
         shapeText(view.shape));
  Bound item{};
  item.found = *found;
  item.direct = view.dtype == parameter.dtype && isAligned(view.data, view.dtype);
  bound.push_back(std::move(item));
}

/// The parameter's elements in the module's type; converts on first use.
const void *Parameters::materialize(size_t index) {
  Bound &item = bound[index];
  const TensorView &view = *item.found.view;
  if (item.direct)
    return view.data;
  const ParameterInfo &parameter = module->description().parameters[index];
  if (!item.converted.data<char>()) {
    item.converted = Tensor(parameter.dtype, parameter.shape);
    if (view.dtype == parameter.dtype)
      std::memcpy(item.converted.data<char>(), view.data, view.bytes);
    else
      convertToFloat(view.dtype, view.data, item.converted.data<float>(), item.converted.count());
    item.found.file->release(view);
  }
  return item.converted.data<char>();
}

/// Called after a prepare function has read a source: gives back what nobody needs any more.
void Parameters::finishUse(size_t index) {
  Bound &item = bound[index];
  if (--item.uses != 0 || item.kept)
    return;
  item.converted = Tensor();
  item.found.file->release(*item.found.view);
}

void Parameters::runPrepare(Arena &arena) {
  const Description &description = module->description();
  size_t total = 0;
  std::vector<size_t> offsets;
  for (const PreparedInfo &item : description.prepared) {
    offsets.push_back(total);
    auto bytes = static_cast<size_t>(byteSize(item.shape, byteWidth(item.dtype)));
    if (__builtin_add_overflow(total, alignUp(bytes), &total))
      fail("{}: prepared tensors are too large", module->path());
  }
  if (total == 0 && description.prepared.empty())
    return;
  preparedMemory = AlignedBuffer(total);
  for (size_t i = 0; i < description.prepared.size(); ++i) {
    const PreparedInfo &item = description.prepared[i];
    prepared.push_back(preparedMemory.data() + offsets[i]);
    std::vector<const void *> sources;
    for (size_t source : item.sources)
      sources.push_back(materialize(source));
    tr_tensor result{prepared.back(), {1, 1, 1, 1}};
    for (size_t d = 0; d < item.shape.size(); ++d)
      result.sizes[d] = item.shape[d];
    const tr_function &function = module->functions()[item.function];
    int64_t scratch = function.arena_bytes(sources.data(), &result);
    if (scratch < 0)
      fail("{}: prepare function of \"{}\" asks for {} bytes of scratch memory", module->path(),
           item.name, scratch);
    tr_scope(item.name.c_str());
    function.call(sources.data(), &result, arena.reserve(static_cast<size_t>(scratch)));
    for (size_t source : item.sources)
      finishUse(source);
  }
  tr_scope(nullptr);
}

} // namespace transformer::runtime
