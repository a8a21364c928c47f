//===- Inputs.cpp - from what a user gives to what an entry takes ---------===//
#include "runtime/execute/Inputs.h"

#include "runtime/base/Error.h"
#include "runtime/profile/Profile.h"

#include <algorithm>
#include <cstring>

namespace transformer::runtime {
namespace {

std::string shapeText(const std::vector<Dimension> &shape) {
  std::vector<std::string> parts;
  for (const Dimension &dimension : shape)
    parts.push_back(dimension.name.empty() ? std::to_string(dimension.size) : dimension.name);
  return formatted("[{}]", fmt::join(parts, ", "));
}

/// "row 3, column 17" for a flat index into a matrix, "[3, 17, 2]" for one into another tensor.
std::string position(const Tensor &tensor, int64_t index) {
  if (tensor.rank() == 2)
    return formatted("row {}, column {}", index / tensor.shape()[1], index % tensor.shape()[1]);
  std::vector<int64_t> indices(tensor.shape().size());
  for (size_t d = indices.size(); d-- > 0;) {
    indices[d] = index % tensor.shape()[d];
    index /= tensor.shape()[d];
  }
  return runtime::shapeText(indices);
}

void checkLength(const InputInfo &input, const std::vector<int64_t> &shape) {
  if (input.maxLength && !shape.empty() && shape.back() > *input.maxLength)
    fail("{}: sequence length {} exceeds the position limit {}", input.name, shape.back(),
         *input.maxLength);
}

/// What a file holds as the type that the entry takes: any floats as f32, any integers as integers
/// that hold them.
Tensor convert(const InputInfo &info, Tensor given) {
  if (given.dtype() == info.dtype)
    return given;
  Tensor result(info.dtype, given.shape());
  if (isFloat(info.dtype)) {
    if (!isFloat(given.dtype()))
      fail("{}: expected floats, found {}", info.name, safetensorsName(given.dtype()));
    if (info.dtype != DataType::F32)
      fail("{}: expected {}, found {}", info.name, safetensorsName(info.dtype),
           safetensorsName(given.dtype()));
    convertToFloat(given.dtype(), given.data<char>(), result.data<float>(), given.count());
    return result;
  }
  std::vector<int64_t> values(static_cast<size_t>(given.count()));
  int64_t bad = convertToInt64(given.dtype(), given.data<char>(), values.data(), given.count());
  if (bad < 0)
    bad = convertFromInt64(values.data(), info.dtype, result.data<char>(), given.count());
  if (bad >= 0)
    fail("{}: expected {}, found {} with another value at {}", info.name,
         info.dtype == DataType::I64 ? "integers" : safetensorsName(info.dtype),
         safetensorsName(given.dtype()), position(given, bad));
  return result;
}

/// Repeats the one row of `tensor` so that its first size is `rows`.
Tensor repeatRows(const Tensor &tensor, int64_t rows) {
  std::vector<int64_t> shape = tensor.shape();
  shape[0] = rows;
  Tensor result(tensor.dtype(), std::move(shape));
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(result.data<char>() + row * tensor.bytes(), tensor.data<char>(),
                static_cast<size_t>(tensor.bytes()));
  return result;
}

class Preparation {
public:
  Preparation(const EntryInfo &entry, TensorMap given, const Description &description, State *state)
      : entry(entry), given(std::move(given)), description(description) {
    call.entry = &entry;
    call.state = state;
  }

  Call prepare() {
    bindState();
    call.inputs.resize(entry.inputs.size());
    done.resize(entry.inputs.size(), false);
    checkNames();
    bindDimensions();
    for (size_t i = 0; i < entry.inputs.size(); ++i)
      make(i);
    for (const OutputInfo &output : entry.outputs)
      call.outputs.emplace_back(output.dtype, resolve(output.shape, output.name));
    return std::move(call);
  }

private:
  void checkNames() const {
    for (const auto &[name, tensor] : given)
      if (!entry.findInput(name))
        fail("unknown input \"{}\", {} takes: {}", printable(name), entry.name, inputNames(entry));
    for (const InputInfo &input : entry.inputs)
      if (!input.defaultValue && !given.count(input.name))
        fail("missing input \"{}\", {} takes: {}", input.name, entry.name, inputNames(entry));
  }

  /// Inputs and outputs may have sizes of the state.
  void bindState() {
    for (size_t index : entry.states)
      for (const Dimension &dimension : description.states[index].shape)
        if (!dimension.name.empty()) {
          call.dimensions[dimension.name] = call.state->sizes().at(dimension.name);
          binder[dimension.name] = formatted("state \"{}\"", description.states[index].name);
        }
  }

  /// May stand for any number of rows: its first size is 1 and it may be repeated.
  static bool isOneRow(const InputInfo &input, const Tensor &tensor) {
    return input.broadcast && tensor.rank() > 0 && tensor.shape()[0] == 1;
  }

  void bindDimensions() {
    for (const InputInfo &input : entry.inputs)
      if (given.count(input.name))
        bindShape(input, given.at(input.name));
    // A row that may be repeated says how many there are only if nothing else does.
    for (const InputInfo &input : entry.inputs)
      if (given.count(input.name) && isOneRow(input, given.at(input.name)) &&
          !input.shape[0].name.empty())
        call.dimensions.emplace(input.shape[0].name, 1);
    for (size_t round = 0; round < entry.inputs.size(); ++round)
      for (const InputInfo &input : entry.inputs)
        bindDefault(input);
  }

  void bindShape(const InputInfo &input, const Tensor &tensor) {
    if (tensor.shape().size() != input.shape.size())
      fail("{}: expected shape {}, found {}", input.name, shapeText(input.shape),
           runtime::shapeText(tensor.shape()));
    if (tensor.count() == 0)
      fail("{}: shape {} has no elements", input.name, runtime::shapeText(tensor.shape()));
    for (size_t d = 0; d < input.shape.size(); ++d) {
      const Dimension &dimension = input.shape[d];
      int64_t size = tensor.shape()[d];
      if (d == 0 && isOneRow(input, tensor))
        continue;
      if (dimension.name.empty()) {
        if (size != dimension.size)
          fail("{}: expected shape {}, found {}", input.name, shapeText(input.shape),
               runtime::shapeText(tensor.shape()));
        continue;
      }
      auto [bound, isNew] = call.dimensions.emplace(dimension.name, size);
      if (isNew)
        binder[dimension.name] = input.name;
      else if (bound->second != size)
        fail("{}: expected shape {} with {} {} as in {}, found {}", input.name,
             shapeText(input.shape), dimension.name, bound->second, binder[dimension.name],
             runtime::shapeText(tensor.shape()));
    }
    checkLength(input, tensor.shape());
  }

  /// Sizes that only a defaulted input has are those of the input that its default looks at.
  void bindDefault(const InputInfo &input) {
    if (given.count(input.name) || !input.defaultValue || input.defaultValue->input.empty())
      return;
    const InputInfo &source = *entry.findInput(input.defaultValue->input);
    for (size_t d = 0; d < input.shape.size(); ++d) {
      const std::string &from = source.shape[d].name;
      if (input.shape[d].name.empty() || call.dimensions.count(input.shape[d].name))
        continue;
      if (from.empty())
        call.dimensions[input.shape[d].name] = source.shape[d].size;
      else if (call.dimensions.count(from))
        call.dimensions[input.shape[d].name] = call.dimensions[from];
    }
  }

  std::vector<int64_t> resolve(const std::vector<Dimension> &shape, const std::string &name) const {
    std::vector<int64_t> result;
    for (const Dimension &dimension : shape) {
      auto bound = call.dimensions.find(dimension.name);
      if (!dimension.name.empty() && bound == call.dimensions.end())
        fail("{}: no input says how large \"{}\" is", name, dimension.name);
      result.push_back(dimension.name.empty() ? dimension.size : bound->second);
    }
    return result;
  }

  const Tensor &make(size_t index) {
    if (done[index])
      return call.inputs[index];
    done[index] = true; // the description has been checked: no circles
    const InputInfo &input = entry.inputs[index];
    Tensor &result = call.inputs[index];
    auto found = given.find(input.name);
    if (found != given.end()) {
      result = convert(input, std::move(found->second));
      if (isOneRow(input, result)) {
        int64_t rows = resolve(input.shape, input.name)[0];
        if (rows != 1)
          result = repeatRows(result, rows);
      }
    } else {
      result = makeDefault(input);
    }
    checkRange(input, result);
    return result;
  }

  Tensor makeDefault(const InputInfo &input) {
    Tensor result(DataType::I64, resolve(input.shape, input.name));
    checkLength(input, result.shape());
    auto *values = result.data<int64_t>();
    int64_t columns = result.rank() == 0 ? 1 : result.shape().back();
    const DefaultInfo &info = *input.defaultValue;
    const int64_t *source = nullptr;
    if (!info.input.empty()) {
      const Tensor &from =
          make(static_cast<size_t>(entry.findInput(info.input) - entry.inputs.data()));
      if (from.shape() != result.shape())
        fail("{}: expected the shape of {} {}, found {}", input.name, info.input,
             runtime::shapeText(from.shape()), runtime::shapeText(result.shape()));
      source = from.data<int64_t>();
    }
    int64_t counted = 0;
    for (int64_t i = 0; i < result.count(); ++i) {
      if (i % columns == 0)
        counted = 0;
      switch (info.kind) {
      case DefaultInfo::Ones:
        values[i] = 1;
        break;
      case DefaultInfo::Zeros:
        values[i] = 0;
        break;
      case DefaultInfo::Columns:
        values[i] = i % columns;
        break;
      case DefaultInfo::NotEqual:
        values[i] = source[i] != info.value;
        break;
      case DefaultInfo::Greater:
        values[i] = source[i] > info.value;
        break;
      case DefaultInfo::CountNotEqual:
        counted += source[i] != info.value;
        values[i] = info.value + (source[i] != info.value ? counted : 0);
        break;
      case DefaultInfo::CountBefore:
        values[i] = counted;
        counted += source[i] != info.value;
        break;
      }
    }
    return result;
  }

  void checkRange(const InputInfo &input, const Tensor &tensor) const {
    if ((!input.range && input.below.empty()) || isFloat(tensor.dtype()))
      return;
    ValueRange range = input.range.value_or(ValueRange{0, INT64_MAX});
    if (!input.below.empty()) {
      int64_t size = resolve({{input.below, 0}}, input.name)[0];
      range = {std::max<int64_t>(range.low, 0), std::min(range.high, size)};
    }
    std::vector<int64_t> widened;
    const auto *values = tensor.data<int64_t>();
    if (tensor.dtype() != DataType::I64) {
      widened.resize(static_cast<size_t>(tensor.count()));
      convertToInt64(tensor.dtype(), tensor.data<char>(), widened.data(), tensor.count());
      values = widened.data();
    }
    for (int64_t i = 0; i < tensor.count(); ++i)
      if ((values[i] < range.low || values[i] >= range.high) && values[i] != input.ignored)
        fail("{}: value {} at {} is out of range [{}, {}){}{}", input.name, values[i],
             position(tensor, i), range.low, range.high,
             input.ignored ? formatted(" and not {}", *input.ignored) : "",
             given.count(input.name) ? "" : " (made by default)");
  }

  const EntryInfo &entry;
  TensorMap given;
  const Description &description;
  Call call;
  std::vector<bool> done;
  std::map<std::string, std::string> binder; // dimension -> the input that said its size
};

} // namespace

std::string inputNames(const EntryInfo &entry) {
  std::vector<std::string> names;
  for (const InputInfo &input : entry.inputs)
    names.push_back(input.name + (input.defaultValue ? " (optional)" : ""));
  return formatted("{}", fmt::join(names, ", "));
}

Call prepareCall(const EntryInfo &entry, TensorMap given, const Description &description,
                 State *state) {
  ProfileScope scope("prepare call");
  return Preparation(entry, std::move(given), description, state).prepare();
}

} // namespace transformer::runtime
