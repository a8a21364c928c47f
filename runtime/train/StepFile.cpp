//===- StepFile.cpp - data that is a tensor slice a step ------------------===//
#include "runtime/train/StepFile.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>
#include <fmt/ranges.h>

namespace transformer::runtime {

StepFile::StepFile(const std::string &path, const std::vector<const InputInfo *> &inputs)
    : file(path) {
  std::vector<std::string> names;
  for (const InputInfo *input : inputs)
    names.push_back(input->name);
  std::string first;
  for (const auto &[name, view] : file.tensors()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("{}: tensor \"{}\" is no input, expected {}", path, printable(name),
           fmt::join(names, ", "));
    if (view.shape.empty() || view.shape[0] < 1)
      fail("{}: tensor \"{}\": expected a first dimension of steps, found shape {}", path, name,
           shapeText(view.shape));
    if (count >= 0 && view.shape[0] != count)
      fail("{}: tensor \"{}\": expected {} steps, as \"{}\" has, found {}", path, name, count,
           first, view.shape[0]);
    count = view.shape[0];
    first = name;
  }
  if (count < 0)
    fail("{}: expected tensors, found none", path);
}

TensorMap StepFile::inputs(int64_t index) const {
  TensorMap result;
  for (const auto &[name, view] : file.tensors()) {
    Tensor slice(view.dtype, {view.shape.begin() + 1, view.shape.end()});
    size_t bytes = static_cast<size_t>(slice.bytes());
    std::memcpy(slice.data<char>(), view.data + static_cast<size_t>(index) * bytes, bytes);
    result.emplace(name, std::move(slice));
  }
  return result;
}

} // namespace transformer::runtime
