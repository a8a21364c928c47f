//===- TokenizerField.h - a place in a tokenizer.json -----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOKENIZERFIELD_H
#define TRANSFORMER_RUNTIME_TOKENIZERFIELD_H

#include "runtime/base/Error.h"
#include "runtime/base/Json.h"

#include <limits>
#include <string>

namespace transformer::runtime {

/// A value of a tokenizer.json that knows where it stands: "tokenizer.json: model.vocab". Every
/// function throws Error that says so when the value is not what is asked for.
class TokenizerField {
public:
  /// `file` must outlive the object.
  TokenizerField(const std::string &file, const Json &value, std::string path = {})
      : file(&file), value(&value), path(std::move(path)) {}

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) const {
    throw Error(where() + ": " + formatted(format, std::forward<Args>(args)...));
  }

  std::string where() const {
    return formatted("{}{}{}", *file, path.empty() ? "" : ": ", printable(path));
  }

  /// Whether an object has a field that is not null.
  bool has(const char *key) const {
    require(value->is_object(), "an object");
    auto found = value->find(key);
    return found != value->end() && !found->is_null();
  }

  TokenizerField operator[](const char *key) const {
    if (!has(key))
      fail("missing field \"{}\"", key);
    return below(*value->find(key), key);
  }

  bool isString() const { return value->is_string(); }
  bool isList() const { return value->is_array(); }
  bool isObject() const { return value->is_object(); }
  size_t size() const { return value->size(); }

  std::string string() const { return text(); }
  const std::string &text() const {
    require(value->is_string(), "a string");
    return value->get_ref<const std::string &>();
  }
  bool boolean() const {
    require(value->is_boolean(), "true or false");
    return value->get<bool>();
  }
  double number() const {
    require(value->is_number(), "a number");
    return value->get<double>();
  }
  /// An integer from 0 to `last`.
  int64_t count(int64_t last = std::numeric_limits<int32_t>::max()) const {
    require(value->is_number_unsigned() && value->get<uint64_t>() <= static_cast<uint64_t>(last),
            formatted("an integer from 0 to {}", last).c_str());
    return value->get<int64_t>();
  }

  std::string string(const char *key, const char *fallback) const {
    return has(key) ? (*this)[key].string() : fallback;
  }
  bool boolean(const char *key, bool fallback) const {
    return has(key) ? (*this)[key].boolean() : fallback;
  }
  int64_t count(const char *key, int64_t fallback) const {
    return has(key) ? (*this)[key].count(std::numeric_limits<int64_t>::max()) : fallback;
  }

  /// Calls visit(item) for every element of a list.
  template <typename Visit> void each(Visit visit) const {
    require(value->is_array(), "a list");
    for (size_t i = 0; i < value->size(); ++i)
      visit(at(i));
  }
  TokenizerField at(size_t i) const {
    require(value->is_array() && i < value->size(), "a longer list");
    return {*file, (*value)[i], formatted("{}[{}]", path, i)};
  }

  /// Calls visit(key, item) for every field of an object.
  template <typename Visit> void items(Visit visit) const {
    require(value->is_object(), "an object");
    for (auto item = value->begin(); item != value->end(); ++item)
      visit(item.key(), below(item.value(), item.key()));
  }

  const Json &raw() const { return *value; }

private:
  TokenizerField below(const Json &inside, const std::string &key) const {
    return {*file, inside, path.empty() ? key : path + "." + key};
  }

  void require(bool condition, const char *expected) const {
    if (!condition)
      fail("expected {}, found {}", expected, describe(*value));
  }

  const std::string *file;
  const Json *value;
  std::string path;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENIZERFIELD_H
