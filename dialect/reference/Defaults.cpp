//===- Defaults.cpp - inputs that were not given --------------------------===//
#include "dialect/reference/Defaults.h"
#include "dialect/reference/Frame.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

namespace {

/// One argument of an entry point.
struct Input {
  std::string name;
  RankedTensorType type;
  SmallVector<std::string> dims; // a name for each dynamic dimension, "" for a static one
  DefaultAttr defaultValue;      // null: required
  DenseI64ArrayAttr range;       // null: any value
  IntegerAttr ignored;           // allowed outside of it; null: nothing is
};

/// Sizes of the named dynamic dimensions.
using Sizes = std::map<std::string, int64_t>;

} // namespace

static Input describe(func::FuncOp entry, unsigned index) {
  Input input;
  if (auto name = entry.getArgAttrOfType<StringAttr>(index, attr::name))
    input.name = name.str();
  input.type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[index]);
  input.defaultValue = entry.getArgAttrOfType<DefaultAttr>(index, attr::defaultValue);
  input.range = entry.getArgAttrOfType<DenseI64ArrayAttr>(index, attr::range);
  input.ignored = entry.getArgAttrOfType<IntegerAttr>(index, attr::ignored);
  SmallVector<StringRef> names = {"batch", "sequence"};
  if (auto dims = entry.getArgAttrOfType<ArrayAttr>(index, attr::dims)) {
    auto strings = dims.getAsValueRange<StringAttr>();
    names.assign(strings.begin(), strings.end());
  }
  size_t next = 0;
  for (int64_t size : input.type ? input.type.getShape() : ArrayRef<int64_t>()) {
    bool dynamic = size == ShapedType::kDynamic && next < names.size();
    input.dims.push_back(dynamic ? names[next++].str() : "");
  }
  return input;
}

/// The value of a default at column `s` of a row; `row` is that of the input
/// it looks at (empty if none).
static int64_t defaultAt(DefaultAttr kind, ArrayRef<int64_t> row, int64_t s) {
  int64_t value = kind.getValue();
  switch (kind.getKind()) {
  case DefaultKind::Ones:
    return 1;
  case DefaultKind::Zeros:
    return 0;
  case DefaultKind::Columns:
    return s;
  case DefaultKind::NotEqual:
    return row[s] != value;
  case DefaultKind::Greater:
    return row[s] > value;
  case DefaultKind::CountNotEqual:
    if (row[s] == value)
      return value;
    return value + llvm::count_if(row.take_front(s + 1), [&](int64_t id) { return id != value; });
  case DefaultKind::CountBefore:
    return llvm::count_if(row.take_front(s), [&](int64_t id) { return id != value; });
  }
  llvm_unreachable("unknown default");
}

/// `shape` is `[batch, sequence]`; `source` the input that the default looks at, or null.
static Tensor makeDefault(DefaultAttr kind, std::vector<int64_t> shape, const Tensor *source) {
  Tensor result = Tensor::integerZeros(std::move(shape));
  int64_t columns = result.shape[1];
  for (int64_t b = 0; b < result.shape[0]; ++b) {
    ArrayRef<int64_t> row;
    if (source)
      row = ArrayRef(source->integers()).slice(b * columns, columns);
    for (int64_t s = 0; s < columns; ++s)
      result.integers()[b * columns + s] = defaultAt(kind, row, s);
  }
  return result;
}

/// Checks a given input and binds the names of its dimensions.
static LogicalResult check(const Input &input, const Tensor &value, Sizes &sizes,
                           std::string &error) {
  auto fail = [&](const Twine &message) {
    error = ("input '" + input.name + "': " + message).str();
    return failure();
  };
  if (value.rank() != input.type.getRank())
    return fail("expected rank " + Twine(input.type.getRank()) + ", found shape " +
                shapeText(value.shape));
  for (auto [size, declared, name] : llvm::zip(value.shape, input.type.getShape(), input.dims)) {
    int64_t expected = name.empty() ? declared : sizes.emplace(name, size).first->second;
    if (expected != ShapedType::kDynamic && expected != size)
      return fail("expected " + Twine(name.empty() ? "size" : name) + " = " + Twine(expected) +
                  ", found shape " + shapeText(value.shape));
  }
  if (input.range && value.isInteger())
    for (int64_t element : value.integers())
      if ((element < input.range[0] || element >= input.range[1]) &&
          !(input.ignored && input.ignored.getInt() == element))
        return fail("value " + Twine(element) + " is not in [" + Twine(input.range[0]) + ", " +
                    Twine(input.range[1]) + ")");
  return success();
}

/// The shape of a missing input; empty while a size is unknown.
static std::vector<int64_t> shapeOf(const Input &input, const Sizes &sizes) {
  std::vector<int64_t> shape;
  for (auto [size, name] : llvm::zip(input.type.getShape(), input.dims)) {
    auto known = sizes.find(name);
    if (size == ShapedType::kDynamic && known == sizes.end())
      return {};
    shape.push_back(size == ShapedType::kDynamic ? known->second : size);
  }
  return shape;
}

FailureOr<std::vector<Tensor>> reference::completeInputs(func::FuncOp entry, NamedTensors given,
                                                         std::string &error) {
  auto fail = [&](const Twine &message) -> LogicalResult {
    error = message.str();
    return failure();
  };
  SmallVector<Input> inputs;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    inputs.push_back(describe(entry, i));
  for (const auto &[name, tensor] : given)
    if (llvm::none_of(inputs, [&](const Input &input) { return input.name == name; }))
      return fail("there is no input '" + name + "'");

  Sizes sizes;
  for (const Input &input : inputs) {
    if (!input.type)
      return fail("input '" + input.name + "' is no tensor");
    if (auto value = given.find(input.name); value != given.end()) {
      if (failed(check(input, value->second, sizes, error)))
        return failure();
    } else if (!input.defaultValue) {
      return fail("input '" + input.name + "' is missing");
    }
  }
  // A default may look at an input that is itself made by default: repeat until nothing is added.
  for (bool progress = true; progress;) {
    progress = false;
    for (const Input &input : inputs) {
      if (given.count(input.name))
        continue;
      const Tensor *source = nullptr;
      std::vector<int64_t> shape;
      if (StringAttr name = input.defaultValue.getInput()) {
        auto found = given.find(name.getValue());
        if (found == given.end())
          continue;
        source = &found->second;
        shape = source->shape;
      } else {
        shape = shapeOf(input, sizes);
      }
      if (shape.size() != 2)
        continue;
      Tensor value = makeDefault(input.defaultValue, shape, source);
      if (failed(check(input, value, sizes, error)))
        return failure();
      given.emplace(input.name, std::move(value));
      progress = true;
    }
  }
  std::vector<Tensor> result;
  for (const Input &input : inputs) {
    auto value = given.find(input.name);
    if (value == given.end())
      return fail("input '" + input.name + "' is missing and nothing gives its size");
    result.push_back(value->second);
  }
  return result;
}
