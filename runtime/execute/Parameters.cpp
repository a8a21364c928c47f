//===- Parameters.cpp - weights bound to a module's slots -----------------===//
#include "runtime/execute/Parameters.h"

#include "runtime/base/Error.h"
#include "runtime/execute/Module.h"
#include "runtime/execute/PageWork.h"
#include "runtime/files/Adapter.h"
#include "runtime/profile/Profile.h"

#include <algorithm>
#include <cstring>
#include <numeric>

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

/// A tensor of a file to one of its own type or of F32, by all threads: fresh memory takes as long
/// to be filled with zeros as to be written.
void copyInParallel(const TensorView &source, Tensor &result) {
  static constexpr int64_t piece = int64_t(1) << 19; // elements: of F32 a huge page
  struct Work {
    const TensorView &source;
    Tensor &result;
  } work{source, result};
  auto copy = [](void *context, int64_t index) {
    const auto &[source, result] = *static_cast<Work *>(context);
    int64_t first = index * piece, count = std::min(piece, result.count() - first);
    const char *from = source.data + first * byteWidth(source.dtype);
    if (source.dtype == result.dtype())
      std::memcpy(result.data<char>() + first * byteWidth(source.dtype), from,
                  static_cast<size_t>(count * byteWidth(source.dtype)));
    else
      convertToFloat(source.dtype, from, result.data<float>() + first, count);
  };
  static constexpr tr_work done = {.label = "copy",
                                   .layer = nullptr,
                                   .shape = "elements={}",
                                   .num_amounts = 1,
                                   .flops = {},
                                   .bytes = {2 + sizeof(float)}, // of F16 and BF16
                                   .fixed_bytes = 0};
  int64_t count = result.count();
  tr_parallel_for(copy, &work, (count + piece - 1) / piece, &done, &count);
}

} // namespace

static size_t bytesOf(const PreparedInfo &item) {
  return static_cast<size_t>(byteSize(item.shape, byteWidth(item.dtype)));
}

Parameters::Parameters(const Module &module, Checkpoint checkpoint, std::optional<Seed> seed,
                       Arena &arena, const std::string &packedWeights,
                       const std::shared_ptr<Device> &device)
    : module(&module), weights(std::move(checkpoint)), seed(seed) {
  ProfileScope scope("load weights");
  const Description &description = module.description();
  bound.reserve(description.parameters.size());
  for (const ParameterInfo &parameter : description.parameters)
    bound.push_back(find(parameter));
  for (const PreparedInfo &item : description.prepared)
    for (size_t source : item.sources)
      if (source < bound.size())
        ++bound[source].uses;
  for (const SlotInfo &slot : description.slots)
    if (slot.kind == SlotInfo::Parameter)
      bound[slot.index].kept = true;
  if (device) {
    if (!packedWeights.empty())
      message = "note: --packed-weights is for CPUs: a GPU makes its weights itself";
    bindOnDevice(device);
    return;
  }
  prepareAll(arena, packedWeights);
  const char *prepared = packed && packed->data() ? packed->data() : preparedMemory.data();
  for (const SlotInfo &slot : description.slots)
    table.push_back(slot.kind == SlotInfo::Prepared ? prepared + offsets[slot.index]
                                                    : materialize(slot.index));
}

std::vector<std::string> Parameters::initialized() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < bound.size(); ++i)
    if (!bound[i].found.file)
      names.push_back(module->description().parameters[i].name);
  return names;
}

void Parameters::copyTo(size_t index, Tensor &result) const {
  if (!bound[index].found.file)
    return initialize(module->description().parameters[index], seed.value_or(Seed{0}),
                      result.data<float>());
  const TensorView &view = *bound[index].found.view;
  copyInParallel(view, result);
  releasePages(bound[index].found.file->hugePages(view));
}

Parameters::Bound Parameters::find(const ParameterInfo &parameter) const {
  std::string name = parameter.name;
  auto found = weights.find(name);
  for (size_t i = 0; !found && i < parameter.aliases.size(); ++i) {
    name = parameter.aliases[i];
    found = weights.find(name);
  }
  bool trains = module->description().mode == "train";
  if (!found && (seed || (trains && isOfAdapter(parameter.name))))
    return {};
  if (!found)
    fail("{}: missing tensor \"{}\" ({} {}){}", weights.path(), parameter.name,
         safetensorsName(parameter.dtype), shapeText(parameter.shape),
         trains ? "; --init SEED initialises what is missing" : "");
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
  return item;
}

/// The parameter's elements in the module's type; made or converted on first use.
const void *Parameters::materialize(size_t index) {
  Bound &item = bound[index];
  if (item.direct)
    return item.found.view->data;
  const ParameterInfo &parameter = module->description().parameters[index];
  if (!item.converted.data<char>()) {
    item.converted = Tensor(parameter.dtype, parameter.shape);
    if (!item.found.file) {
      initialize(parameter, seed.value_or(Seed{0}), item.converted.data<float>());
      return item.converted.data<char>();
    }
    const TensorView &view = *item.found.view;
    copyInParallel(view, item.converted);
    releasePages(item.found.file->pages(view));
  }
  return item.converted.data<char>();
}

/// Called after a prepare function has read a source: gives back what is not needed at once. Pages
/// of a mapped file come again when they are read, so those go that others will read or that are
/// kept, too: who samples a weight needs few of them, as does a lookup.
void Parameters::finishUse(size_t index, PageWork &work) {
  if (index >= bound.size())
    return; // a prepared tensor
  Bound &item = bound[index];
  bool isLast = --item.uses == 0;
  if (item.direct)
    work.release(item.found.file->hugePages(*item.found.view)); // neighbours came along
  else if (isLast && !item.kept)
    item.converted = Tensor();
}

void Parameters::checkUnchanged() const {
  weights.checkUnchanged();
  if (packed)
    packed->checkUnchanged();
}

/// The largest first, each behind those that it is made of: while one is made, its source is there,
/// too, and that is the peak if it is the last.
std::vector<size_t> Parameters::orderOfPreparing() const {
  const std::vector<PreparedInfo> &items = module->description().prepared;
  std::vector<size_t> bySize(items.size()), order;
  std::iota(bySize.begin(), bySize.end(), size_t(0));
  std::stable_sort(bySize.begin(), bySize.end(),
                   [&](size_t a, size_t b) { return bytesOf(items[a]) > bytesOf(items[b]); });
  std::vector<bool> taken(items.size());
  auto take = [&](auto &self, size_t i) -> void {
    if (taken[i])
      return;
    taken[i] = true;
    for (size_t source : items[i].sources)
      if (source >= bound.size())
        self(self, source - bound.size());
    order.push_back(i);
  };
  for (size_t i : bySize)
    take(take, i);
  return order;
}

void Parameters::prepareAll(Arena &arena, const std::string &packedWeights) {
  const Description &description = module->description();
  size_t total = 0;
  for (const PreparedInfo &item : description.prepared) { // in the order in which calls read them
    offsets.push_back(total);
    if (__builtin_add_overflow(total, alignUp(bytesOf(item)), &total))
      fail("{}: prepared tensors are too large", module->path());
  }
  if (total == 0 && description.prepared.empty())
    return;
  if (!packedWeights.empty()) {
    packed.emplace(packedWeights, description, weights, total);
    if (packed->data())
      return;
  }
  preparedMemory = AlignedBuffer(total);
  runPrepare(arena);
  if (!packed)
    return;
  weights.checkUnchanged(); // or the file would hold what no weights file has held
  try {
    ProfileScope scope("write packed weights");
    packed->write(preparedMemory.data());
    message = formatted("note: {}: packed weights written ({})", packedWeights, packed->reason());
  } catch (const Error &problem) {
    message =
        formatted("warning: {}; without it weights are packed at every start", problem.what());
  }
}

void Parameters::runPrepare(Arena &arena) {
  const Description &description = module->description();
  PageWork work;
  std::vector<bool> touched((preparedMemory.size() + hugePage - 1) / hugePage);
  for (size_t i : orderOfPreparing()) {
    const PreparedInfo &item = description.prepared[i];
    std::vector<const void *> sources;
    for (size_t source : item.sources)
      sources.push_back(source < bound.size()
                            ? materialize(source)
                            : preparedMemory.data() + offsets[source - bound.size()]);
    tr_tensor result = tensorAt(preparedMemory.data() + offsets[i], item.shape);
    // A huge page that two threads write to first is filled with zeros by both.
    size_t end = offsets[i] + alignUp(bytesOf(item));
    for (size_t page = offsets[i] / hugePage; page * hugePage < end; ++page) {
      if (touched[page])
        continue;
      touched[page] = true;
      size_t begin = page * hugePage;
      work.touch(
          {preparedMemory.data() + begin, std::min(hugePage, preparedMemory.size() - begin)});
    }
    work.run();
    const tr_function &function = module->functions()[item.function];
    int64_t scratch = function.arena_bytes(sources.data(), &result);
    if (scratch < 0)
      fail("{}: prepare function of \"{}\" asks for {} bytes of scratch memory", module->path(),
           item.name, scratch);
    tr_scope(item.name.c_str());
    function.call(sources.data(), &result, arena.reserve(static_cast<size_t>(scratch)));
    // What lies between tensors goes to the file, too: nothing by accident.
    char *behind = preparedMemory.data() + offsets[i] + bytesOf(item);
    std::fill(behind, preparedMemory.data() + end, '\0');
    for (size_t source : item.sources)
      finishUse(source, work);
  }
  tr_scope(nullptr);
  work.run();
  for (const Bound &item : bound) {
    if (!item.direct)
      continue;
    Pages pages = item.found.file->pages(*item.found.view);
    releasePages(pages); // neighbours come with a large page of the file
    readHereAndThere(pages);
  }
}

} // namespace transformer::runtime
