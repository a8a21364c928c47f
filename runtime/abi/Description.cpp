//===- Description.cpp - what a module says about itself ------------------===//
#include "runtime/abi/Description.h"

#include "runtime/abi/ModuleAbi.h"
#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Json.h"
#include "runtime/base/Tensor.h"

#include <algorithm>
#include <set>

namespace transformer::runtime {
namespace {

/// A JSON value with the path that leads to it, for messages.
class Field {
public:
  Field(const Json &value, std::string where) : value(&value), where(std::move(where)) {}

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) const {
    throw Error(where + ": " + formatted(format, std::forward<Args>(args)...));
  }

  bool has(const char *key) const {
    requireKind(value->is_object(), "an object");
    auto found = value->find(key);
    return found != value->end() && !found->is_null();
  }

  Field operator[](const char *key) const {
    if (!has(key))
      fail("missing field \"{}\"", key);
    return {(*value)[key], where + "." + key};
  }

  /// Calls visit(item) for every element of a list.
  template <typename Visit> void each(Visit visit) const {
    requireKind(value->is_array(), "a list");
    for (size_t i = 0; i < value->size(); ++i)
      visit(Field((*value)[i], formatted("{}[{}]", where, i)));
  }

  /// Calls visit(key, item) for every field of an object.
  template <typename Visit> void items(Visit visit) const {
    requireKind(value->is_object(), "an object");
    for (const auto &[key, item] : value->items())
      visit(key, Field(item, formatted("{}.{}", where, printable(key))));
  }

  std::string string() const {
    requireKind(value->is_string(), "a string");
    return value->get<std::string>();
  }

  bool boolean() const {
    requireKind(value->is_boolean(), "true or false");
    return value->get<bool>();
  }

  double number() const {
    requireKind(value->is_number(), "a number");
    return value->get<double>();
  }

  int64_t integer() const {
    requireKind(value->is_number_integer() &&
                    !(value->is_number_unsigned() && value->get<uint64_t>() > uint64_t(INT64_MAX)),
                "an integer");
    return value->get<int64_t>();
  }

  int64_t size() const {
    int64_t result = integer();
    if (result < 0)
      fail("expected a size of 0 or more, found {}", result);
    return result;
  }

  size_t index(size_t limit) const {
    int64_t result = integer();
    if (result < 0 || static_cast<uint64_t>(result) >= limit)
      fail("index {} is out of range [0, {})", result, limit);
    return static_cast<size_t>(result);
  }

  DataType dtype() const {
    auto type = parseDescriptionName(string());
    if (!type)
      fail("unknown dtype \"{}\"", string());
    return *type;
  }

  const Json &raw() const { return *value; }

private:
  void requireKind(bool good, const char *expected) const {
    if (!good)
      fail("expected {}, found {}", expected, value->type_name());
  }

  const Json *value;
  std::string where;
};

std::vector<int64_t> parseShape(const Field &field, DataType dtype) {
  std::vector<int64_t> shape;
  field.each([&](const Field &item) { shape.push_back(item.size()); });
  if (byteSize(shape, byteWidth(dtype)) < 0)
    field.fail("shape {} overflows", shapeText(shape));
  return shape;
}

std::vector<Dimension> parseDimensions(const Field &field) {
  std::vector<Dimension> shape;
  field.each([&](const Field &item) {
    if (item.raw().is_string() && !item.string().empty())
      shape.push_back({item.string(), 0});
    else
      shape.push_back({"", item.size()});
  });
  if (shape.size() > TR_MAX_RANK)
    field.fail("rank {} exceeds {}", shape.size(), TR_MAX_RANK);
  return shape;
}

/// What the field "kind" stands for.
template <typename Kind> Kind kindOf(const Field &field, const std::map<std::string, Kind> &kinds) {
  std::string name = field["kind"].string();
  auto kind = kinds.find(name);
  if (kind == kinds.end())
    field["kind"].fail("unknown kind \"{}\"", printable(name));
  return kind->second;
}

InitInfo parseInit(const Field &field, const std::vector<int64_t> &shape) {
  static const std::map<std::string, InitInfo::Kind> kinds = {
      {"zeros", InitInfo::Zeros},
      {"ones", InitInfo::Ones},
      {"constant", InitInfo::Constant},
      {"uniform", InitInfo::Uniform},
      {"normal", InitInfo::Normal},
      {"truncated_normal", InitInfo::TruncatedNormal},
      {"sinusoids", InitInfo::Sinusoids},
      {"xavier_uniform", InitInfo::XavierUniform},
      {"xavier_normal", InitInfo::XavierNormal},
      {"kaiming_uniform", InitInfo::KaimingUniform},
      {"kaiming_normal", InitInfo::KaimingNormal}};
  InitInfo result{kindOf(field, kinds)};
  bool needsValue = result.kind >= InitInfo::Constant && result.kind <= InitInfo::Sinusoids;
  if (needsValue || field.has("value"))
    result.value = field["value"].number();
  size_t rank = result.kind == InitInfo::Sinusoids ? 2 : shape.size();
  if (shape.size() != rank || (result.kind >= InitInfo::XavierUniform && rank < 2))
    field.fail("a tensor of shape {} cannot be \"{}\"", shapeText(shape), field["kind"].string());
  if (field.has("zero_row"))
    result.zeroRow = field["zero_row"].index(shape.empty() ? 0 : size_t(shape.front()));
  return result;
}

ParameterInfo parseParameter(const Field &field) {
  ParameterInfo result;
  result.name = field["name"].string();
  if (field.has("aliases"))
    field["aliases"].each([&](const Field &item) { result.aliases.push_back(item.string()); });
  result.dtype = field["dtype"].dtype();
  if (result.dtype != DataType::F32 && result.dtype != DataType::F16 &&
      result.dtype != DataType::BF16)
    field["dtype"].fail("parameters are f32, f16 or bf16");
  result.shape = parseShape(field["shape"], result.dtype);
  if (field.has("init"))
    result.init = parseInit(field["init"], result.shape);
  return result;
}

/// `numSources`: parameters, and prepared tensors before this one.
PreparedInfo parsePrepared(const Field &field, size_t numFunctions, size_t numSources) {
  PreparedInfo result;
  result.name = field["name"].string();
  result.function = field["function"].index(numFunctions);
  if (field.has("sources"))
    field["sources"].each(
        [&](const Field &item) { result.sources.push_back(item.index(numSources)); });
  result.dtype = field["dtype"].dtype();
  result.shape = parseShape(field["shape"], result.dtype);
  if (result.shape.size() > TR_MAX_RANK)
    field["shape"].fail("rank {} exceeds {}", result.shape.size(), TR_MAX_RANK);
  return result;
}

DefaultInfo parseDefault(const Field &field) {
  static const std::map<std::string, DefaultInfo::Kind> kinds = {
      {"ones", DefaultInfo::Ones},
      {"zeros", DefaultInfo::Zeros},
      {"columns", DefaultInfo::Columns},
      {"not_equal", DefaultInfo::NotEqual},
      {"greater", DefaultInfo::Greater},
      {"count_not_equal", DefaultInfo::CountNotEqual},
      {"count_before", DefaultInfo::CountBefore}};
  DefaultInfo result;
  result.kind = kindOf(field, kinds);
  if (result.kind >= DefaultInfo::NotEqual) {
    result.input = field["input"].string();
    result.value = field["value"].integer();
  }
  return result;
}

InputInfo parseInput(const Field &field) {
  InputInfo result;
  result.name = field["name"].string();
  result.dtype = field["dtype"].dtype();
  result.shape = parseDimensions(field["shape"]);
  for (const char *key : {"range", "below"})
    if (field.has(key) && isFloat(result.dtype))
      field[key].fail("only integers have it");
  if (field.has("below"))
    result.below = field["below"].string();
  if (field.has("range")) {
    std::vector<int64_t> range;
    field["range"].each([&](const Field &item) { range.push_back(item.integer()); });
    if (range.size() != 2)
      field["range"].fail("expected [low, high], found {}", shapeText(range));
    result.range = ValueRange{range[0], range[1]};
  }
  if (field.has("ignored"))
    result.ignored = field["ignored"].integer();
  if (field.has("max_length"))
    result.maxLength = field["max_length"].size();
  if (field.has("default"))
    result.defaultValue = parseDefault(field["default"]);
  if (result.defaultValue && result.dtype != DataType::I64)
    field["default"].fail("only i64 inputs have defaults");
  // Hugging Face takes positions as [1, sequence].
  result.broadcast = result.name == "position_ids" || result.name == "decoder_position_ids";
  if (field.has("broadcast"))
    result.broadcast = field["broadcast"].boolean();
  return result;
}

FlopsInfo parseFlops(const Field &field, const EntryInfo &entry) {
  auto input = [&](const Field &at, const std::string &name) {
    const InputInfo *found = entry.findInput(name);
    if (!found || found->dtype != DataType::I64)
      at.fail("\"{}\" is not an {}input", printable(name), found ? "i64 " : "");
    return name;
  };
  FlopsInfo result;
  if (field.has("per_token"))
    result.perToken = field["per_token"].number();
  auto counts = [&](const char *key, std::map<std::string, double> &result) {
    if (field.has(key))
      field[key].items([&](const std::string &name, const Field &item) {
        result[input(field[key], name)] = item.number();
      });
  };
  counts("per_token_of", result.perTokenOf);
  counts("per_sequence_of", result.perSequenceOf);
  if (field.has("attention"))
    field["attention"].each([&](const Field &item) {
      auto mask = [&](const char *key) { return input(item[key], item[key].string()); };
      result.attention.push_back({mask("queries"), mask("keys"), item["per_pair"].number(),
                                  item.has("causal") && item["causal"].boolean()});
    });
  return result;
}

StateInfo parseState(const Field &field) {
  StateInfo result{field["name"].string(), field["dtype"].dtype(), parseDimensions(field["shape"])};
  std::vector<int64_t> sizes;
  for (const Dimension &dimension : result.shape)
    if (dimension.name.empty())
      sizes.push_back(dimension.size);
  if (result.shape.size() > sizes.size() + 1)
    field["shape"].fail("expected at most one size with a name");
  if (byteSize(sizes, byteWidth(result.dtype)) < 0)
    field["shape"].fail("sizes {} overflow", shapeText(sizes));
  return result;
}

/// Checks that defaults refer to inputs, agree with them in shape and do not go in circles, and
/// that every dynamic size of an output, and every one that bounds values, is an input's or a
/// state's.
void checkEntry(const Field &field, const EntryInfo &entry, const std::vector<StateInfo> &states) {
  std::set<std::string> names, dimensions;
  for (size_t state : entry.states) {
    if (!names.insert("state " + std::to_string(state)).second)
      field.fail("state \"{}\" is there twice", states[state].name);
    for (const Dimension &dimension : states[state].shape)
      dimensions.insert(dimension.name);
  }
  for (const InputInfo &input : entry.inputs) {
    if (!names.insert(input.name).second)
      field.fail("input \"{}\" is there twice", input.name);
    for (const Dimension &dimension : input.shape)
      dimensions.insert(dimension.name);
    const InputInfo *at = &input;
    for (size_t steps = 0; at->defaultValue && !at->defaultValue->input.empty(); ++steps) {
      const InputInfo *source = entry.findInput(at->defaultValue->input);
      if (!source || source->dtype != DataType::I64 || source->shape.size() != at->shape.size())
        field.fail(
            "the default of input \"{}\" refers to \"{}\", which is no i64 input of its rank",
            at->name, at->defaultValue->input);
      if (steps > entry.inputs.size())
        field.fail("the default of input \"{}\" depends on itself", input.name);
      at = source;
    }
  }
  for (const OutputInfo &output : entry.outputs)
    for (const Dimension &dimension : output.shape)
      if (!dimension.name.empty() && !dimensions.count(dimension.name))
        field.fail("size \"{}\" of output \"{}\" is no input's", dimension.name, output.name);
  for (const InputInfo &input : entry.inputs)
    if (!input.below.empty() && !dimensions.count(input.below))
      field.fail("size \"{}\", which bounds input \"{}\", is no input's or state's", input.below,
                 input.name);
}

std::string optionalString(const Field &field, const char *key) {
  return field.has(key) ? field[key].string() : std::string();
}

EntryInfo parseEntry(const Field &field, size_t numFunctions,
                     const std::vector<StateInfo> &states) {
  EntryInfo entry;
  entry.name = field["name"].string();
  entry.function = field["function"].index(numFunctions);
  field["inputs"].each([&](const Field &item) { entry.inputs.push_back(parseInput(item)); });
  if (field.has("states"))
    field["states"].each(
        [&](const Field &item) { entry.states.push_back(item.index(states.size())); });
  field["outputs"].each([&](const Field &item) {
    OutputInfo output{item["name"].string(), item["dtype"].dtype(), parseDimensions(item["shape"])};
    entry.outputs.push_back(std::move(output));
  });
  if (field.has("host_inputs"))
    field["host_inputs"].each(
        [&](const Field &item) { entry.hostInputs.push_back(item.index(entry.inputs.size())); });
  checkEntry(field, entry, states);
  if (field.has("flops"))
    entry.flops = parseFlops(field["flops"], entry);
  entry.objective = optionalString(field, "objective");
  return entry;
}

EmbeddingInfo parseEmbedding(const Field &field) {
  EmbeddingInfo result;
  std::string pooling = field.has("pooling") ? field["pooling"].string() : "mean";
  if (pooling == "mean")
    result.pooling = EmbeddingInfo::Mean;
  else if (pooling == "cls")
    result.pooling = EmbeddingInfo::Cls;
  else if (pooling == "max")
    result.pooling = EmbeddingInfo::Max;
  else
    field["pooling"].fail("unknown pooling \"{}\", expected mean, cls or max", pooling);
  result.normalize = field.has("normalize") && field["normalize"].boolean();
  if (field.has("max_length"))
    result.maxLength = field["max_length"].size();
  return result;
}

LoraInfo parseLora(const Field &field) {
  LoraInfo result;
  result.rank = field["rank"].size();
  result.alpha = field["alpha"].number();
  result.dropout = field["dropout"].number();
  field["targets"].each([&](const Field &item) { result.targets.push_back(item.string()); });
  return result;
}

} // namespace

const InputInfo *EntryInfo::findInput(const std::string &input) const {
  for (const InputInfo &info : inputs)
    if (info.name == input)
      return &info;
  return nullptr;
}

bool InputInfo::isMask() const {
  using Kind = DefaultInfo;
  bool byDefault =
      defaultValue && (defaultValue->kind == Kind::Ones || defaultValue->kind == Kind::NotEqual ||
                       defaultValue->kind == Kind::Greater);
  return dtype == DataType::I64 && shape.size() == 2 &&
         (byDefault || name.find("attention_mask") != std::string::npos);
}

const InputInfo *EntryInfo::firstMask() const {
  auto found = std::find_if(inputs.begin(), inputs.end(),
                            [](const InputInfo &input) { return input.isMask(); });
  return found == inputs.end() ? nullptr : &*found;
}

const EntryInfo *Description::findEntry(const std::string &name) const {
  for (const EntryInfo &entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

Description parseDescription(const std::string &module, std::string text, size_t numFunctions) {
  Json root = parseJson(module + ": description", text);
  Field field(root, module + ": description");
  Description result;
  result.text = std::move(text);
  result.producer = optionalString(field, "producer");
  result.modelType = optionalString(field, "model_type");
  result.mode = optionalString(field, "mode");
  if (field.has("target")) {
    if (field["target"].has("kind"))
      result.kind = field["target"]["kind"].string();
    if (result.kind != "cpu" && result.kind != "cuda")
      field["target"]["kind"].fail("unknown kind \"{}\", expected cpu or cuda",
                                   printable(result.kind));
    result.arch = optionalString(field["target"], "arch");
    result.cpu = optionalString(field["target"], "cpu");
    if (field["target"].has("features"))
      field["target"]["features"].each(
          [&](const Field &item) { result.features.push_back(item.string()); });
  }
  field["parameters"].each(
      [&](const Field &item) { result.parameters.push_back(parseParameter(item)); });
  if (field.has("prepared"))
    field["prepared"].each([&](const Field &item) {
      result.prepared.push_back(
          parsePrepared(item, numFunctions, result.parameters.size() + result.prepared.size()));
    });
  RunningHash preparation;
  for (const char *key : {"parameters", "prepare_code", "prepared"})
    if (field.has(key))
      preparation.add(jsonText(root[key]));
  result.preparation = preparation.value();
  field["slots"].each([&](const Field &item) {
    std::string kind = item["kind"].string();
    if (kind == "parameter")
      result.slots.push_back({SlotInfo::Parameter, item["index"].index(result.parameters.size())});
    else if (kind == "prepared")
      result.slots.push_back({SlotInfo::Prepared, item["index"].index(result.prepared.size())});
    else
      item["kind"].fail("unknown kind \"{}\", expected parameter or prepared", kind);
  });
  if (field.has("states"))
    field["states"].each([&](const Field &item) {
      StateInfo state = parseState(item);
      for (const StateInfo &other : result.states)
        if (other.name == state.name)
          item["name"].fail("state \"{}\" is there twice", state.name);
      result.states.push_back(std::move(state));
    });
  field["entries"].each([&](const Field &item) {
    result.entries.push_back(parseEntry(item, numFunctions, result.states));
  });
  if (field.has("embedding"))
    result.embedding = parseEmbedding(field["embedding"]);
  if (field.has("lora"))
    result.lora = parseLora(field["lora"]);
  if (field.has("generation")) {
    const Field generation = field["generation"];
    result.generation = {generation["file"].string(), generation["text"].string()};
  }
  if (field.has("tokenizer")) {
    const Json &tokenizer = field["tokenizer"].raw();
    result.tokenizer = tokenizer.is_string() ? tokenizer.get<std::string>() : jsonText(tokenizer);
  }
  return result;
}

} // namespace transformer::runtime
