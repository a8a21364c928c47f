//===- StepParts.cpp - the rows of a step in parts ------------------------===//
#include "runtime/train/StepParts.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>

namespace transformer::runtime {
namespace {

constexpr const char *kRows = "batch"; // what importers call the rows' dimension

bool hasRows(const EntryInfo &entry, const std::string &name) {
  const InputInfo *input = entry.findInput(name);
  return input && !input->shape.empty() && input->shape.front().name == kRows;
}

} // namespace

StepParts::StepParts(const EntryInfo &entry, TensorMap inputs, int64_t count)
    : entry(entry), all(std::move(inputs)), parts(count) {
  for (const auto &[name, tensor] : all)
    if (hasRows(entry, name) && tensor.rank() > 0)
      rows = std::max(rows, tensor.shape().front());
  if (rows == 0)
    fail("a step cannot be divided: none of its inputs has rows, a first dimension \"{}\"", kRows);
}

TensorMap StepParts::inputs(int64_t part) const {
  TensorMap result;
  for (const auto &[name, tensor] : all) {
    std::vector<int64_t> shape = tensor.shape();
    bool isDivided = hasRows(entry, name) && shape.front() == rows; // one row may stand for all
    int64_t first = isDivided ? begin(part) : 0;
    if (isDivided)
      shape.front() = begin(part + 1) - first;
    int64_t rowBytes = isDivided ? tensor.bytes() / rows : 0;
    Tensor own(tensor.dtype(), std::move(shape));
    std::memcpy(own.data<char>(), tensor.data<char>() + first * rowBytes,
                static_cast<size_t>(own.bytes()));
    result[name] = std::move(own);
  }
  return result;
}

} // namespace transformer::runtime
