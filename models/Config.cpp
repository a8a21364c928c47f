//===- Config.cpp - fields of a config.json -------------------------------===//
#include "models/Config.h"
#include "models/Json.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

struct Config::Fields {
  Json object;

  /// The field under the first of `keys` that is there and not null.
  std::pair<StringRef, const Json *> find(Keys keys) const {
    for (StringRef key : keys)
      if (auto it = object.find(key.str()); it != object.end() && !it->is_null())
        return {key, &*it};
    return {*keys.begin(), nullptr};
  }
};

Config::Config(std::string path, std::unique_ptr<Fields> fields)
    : path(std::move(path)), fields(std::move(fields)) {}
Config::Config(Config &&) noexcept = default;
Config::~Config() = default;

std::optional<Config> Config::load(StringRef file, std::string &error) {
  std::optional<Json> json = readJson(file, error);
  if (!json)
    return std::nullopt;
  if (!json->is_object()) {
    error = (file + ": expected a JSON object, found " + describe(*json)).str();
    return std::nullopt;
  }
  return Config(file.str(), std::make_unique<Fields>(Fields{std::move(*json)}));
}

void Config::fail(StringRef key, const Twine &expected, const Twine &found) {
  if (ok())
    message = (path + ": '" + key + "': expected " + expected + ", found " + found).str();
}

void Config::failText(StringRef key, const Twine &expected, StringRef found) {
  fail(key, expected, describe(Json(found.str())));
}

bool Config::has(Keys keys) const { return fields->find(keys).second != nullptr; }

bool Config::isText(StringRef key) const {
  const Json *value = fields->find({key}).second;
  return value && value->is_string();
}

bool Config::isNull(StringRef key) const {
  auto it = fields->object.find(key.str());
  return it != fields->object.end() && it->is_null();
}

int64_t Config::integer(Keys keys, std::optional<int64_t> defaultValue, int64_t low, int64_t high) {
  auto [key, value] = fields->find(keys);
  std::string expected = ("an integer in [" + Twine(low) + ", " + Twine(high - 1) + "]").str();
  if (!value) {
    if (!defaultValue)
      fail(key, expected, "no such field");
    return defaultValue.value_or(low);
  }
  // Numbers above int64's range are unsigned and larger than any limit.
  bool fits = value->is_number_integer() &&
              (!value->is_number_unsigned() || value->get<uint64_t>() <= uint64_t(INT64_MAX));
  int64_t number = fits ? value->get<int64_t>() : low;
  if (fits && number >= low && number < high)
    return number;
  fail(key, expected, describe(*value));
  return defaultValue.value_or(low);
}

std::optional<int64_t> Config::padding(int64_t vocabSize, std::optional<int64_t> defaultValue) {
  std::optional<int64_t> id = defaultValue;
  if (const Json *value = fields->find({"pad_token_id"}).second)
    id = value->is_number_integer() ? std::optional(value->get<int64_t>()) : std::nullopt;
  else if (isNull("pad_token_id"))
    id = std::nullopt;
  if (id && *id < 0)
    *id += vocabSize;
  return id && *id >= 0 && *id < vocabSize ? id : std::nullopt;
}

int64_t Config::size(Keys keys, std::optional<int64_t> defaultValue, int64_t max) {
  return integer(keys, defaultValue, 1, max + 1);
}

std::pair<int64_t, int64_t> Config::sizePair(StringRef key, int64_t defaultValue) {
  const Json *value = fields->find({key}).second;
  if (!value || !value->is_array()) {
    int64_t both = size({key}, defaultValue);
    return {both, both};
  }
  auto isSize = [](const Json &item) {
    return item.is_number_unsigned() && item.get<uint64_t>() >= 1 &&
           item.get<uint64_t>() <= uint64_t(maxWidth);
  };
  if (value->size() == 2 && llvm::all_of(*value, isSize))
    return {(*value)[0].get<int64_t>(), (*value)[1].get<int64_t>()};
  fail(key, "a size or a list of two", describe(*value));
  return {defaultValue, defaultValue};
}

double Config::number(Keys keys, double defaultValue) {
  auto [key, value] = fields->find(keys);
  if (!value)
    return defaultValue;
  if (value->is_number() && std::isfinite(value->get<double>()) && value->get<double>() >= 0)
    return value->get<double>();
  fail(key, "a number that is not negative", describe(*value));
  return defaultValue;
}

double Config::rate(Keys keys, double defaultValue) {
  auto [key, value] = fields->find(keys);
  if (!value)
    return defaultValue;
  if (value->is_number() && value->get<double>() >= 0 && value->get<double>() < 1)
    return value->get<double>();
  fail(key, "a rate in [0, 1)", describe(*value));
  return defaultValue;
}

bool Config::flag(Keys keys, bool defaultValue) {
  auto [key, value] = fields->find(keys);
  if (!value)
    return defaultValue;
  if (value->is_boolean())
    return value->get<bool>();
  fail(key, "true or false", describe(*value));
  return defaultValue;
}

std::string Config::text(Keys keys, StringRef defaultValue) {
  auto [key, value] = fields->find(keys);
  if (!value)
    return defaultValue.str();
  if (value->is_string())
    return value->get<std::string>();
  fail(key, "a string", describe(*value));
  return defaultValue.str();
}

std::optional<std::vector<double>> Config::numbers(StringRef key) {
  const Json *value = fields->find({key}).second;
  if (!value)
    return std::nullopt;
  auto isAboveZero = [](const Json &item) {
    return item.is_number() && std::isfinite(item.get<double>()) && item.get<double>() > 0;
  };
  if (value->is_array() && llvm::all_of(*value, isAboveZero))
    return value->get<std::vector<double>>();
  fail(key, "a list of numbers above 0", describe(*value));
  return std::nullopt;
}

std::optional<std::vector<std::string>> Config::texts(StringRef key) {
  const Json *value = fields->find({key}).second;
  if (!value)
    return std::nullopt;
  auto isText = [](const Json &item) { return item.is_string(); };
  if (value->is_array() && llvm::all_of(*value, isText))
    return value->get<std::vector<std::string>>();
  fail(key, "a list of strings", describe(*value));
  return std::nullopt;
}

ActivationKind Config::activation(Keys keys, StringRef defaultValue) {
  return activationNamed(fields->find(keys).first, text(keys, defaultValue));
}

ActivationKind Config::activationNamed(StringRef key, StringRef name) {
  auto kind = llvm::StringSwitch<std::optional<ActivationKind>>(name)
                  .Case("relu", ActivationKind::Relu)
                  .Cases({"gelu", "gelu_python"}, ActivationKind::Gelu)
                  .Cases({"gelu_new", "gelu_fast", "gelu_accurate", "gelu_pytorch_tanh",
                          "gelu_python_tanh"},
                         ActivationKind::GeluTanh)
                  .Cases({"silu", "swish"}, ActivationKind::Silu)
                  .Case("quick_gelu", ActivationKind::QuickGelu)
                  .Case("tanh", ActivationKind::Tanh)
                  .Default(std::nullopt);
  if (!kind)
    failText(key,
             "one of relu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, silu, swish, quick_gelu, "
             "tanh",
             name);
  return kind.value_or(ActivationKind::Gelu);
}

std::optional<Config> Config::object(StringRef key) {
  const Json *value = fields->find({key}).second;
  if (!value)
    return std::nullopt;
  if (value->is_object())
    return Config(path, std::make_unique<Fields>(Fields{*value}));
  fail(key, "an object", describe(*value));
  return std::nullopt;
}

int64_t Config::labels() {
  auto [key, value] = fields->find({"id2label"});
  if (!value)
    return size({"num_labels"}, 2);
  if (value->is_object() && !value->empty() && value->size() <= size_t(maxWidth))
    return value->size();
  fail(key, "an object with a name for each label", describe(*value));
  return 2;
}

std::string Config::architecture() {
  auto [key, value] = fields->find({"architectures"});
  if (!value)
    return "";
  if (value->is_array() && value->empty())
    return "";
  if (value->is_array() && value->size() == 1 && value->front().is_string())
    return value->front().get<std::string>();
  fail(key, "a list of one name", describe(*value));
  return "";
}

void Config::refuseFlag(StringRef key) {
  if (flag({key}, false))
    fail(key, "false (the option is not supported)", "true");
}

void Config::refuseOther(StringRef key, StringRef supported) {
  std::string value = text({key}, supported);
  if (value != supported)
    failText(key, "\"" + supported + "\" (others are not supported)", value);
}

void Config::refuseContents(Keys keys) {
  for (StringRef key : keys)
    if (auto [name, value] = fields->find({key}); value && !value->empty())
      fail(key, "nothing (the option is not supported)", describe(*value));
}

void Config::checkHeads(StringRef widthKey, int64_t width, StringRef headsKey, int64_t heads) {
  if (width % heads)
    fail(headsKey, "a number that divides " + widthKey + " = " + Twine(width), Twine(heads));
}
