//===- Config.h - fields of a config.json ---------------------------------===//
#ifndef MODELS_CONFIG_H
#define MODELS_CONFIG_H

#include "dialect/TransformerDialect.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::transformer {

/// Names of a field, the first one that the file holds counts: Hugging Face's
/// `attribute_map` gives some families two.
using Keys = std::initializer_list<llvm::StringRef>;

/// The fields of a config.json with their types, limits and defaults.
///
/// The first wrong field is remembered as `error()` and its default used
/// instead, so that a family reads all its fields and asks once at the end.
/// A field that is null counts as missing.
class Config {
public:
  static constexpr int64_t maxWidth = 1 << 20;
  static constexpr int64_t maxVocabulary = int64_t(1) << 31;
  static constexpr int64_t maxPositions = 1 << 24;
  static constexpr int64_t maxLayers = 10000;

  /// Reads a JSON object; nothing and a one-line error if that fails.
  static std::optional<Config> load(llvm::StringRef file, std::string &error);

  ~Config();
  Config(Config &&) noexcept;

  bool has(Keys keys) const;
  /// Whether the field holds a text.
  bool isText(llvm::StringRef key) const;
  /// Whether the field is there and null, where that is not the same as missing.
  bool isNull(llvm::StringRef key) const;

  /// An integer in `[1, max]`; without a default the field must be there.
  int64_t size(Keys keys, std::optional<int64_t> defaultValue, int64_t max = maxWidth);
  /// A size, or a list of two; the height's and the width's.
  std::pair<int64_t, int64_t> sizePair(llvm::StringRef key, int64_t defaultValue);
  /// An integer in `[low, high)`.
  int64_t integer(Keys keys, std::optional<int64_t> defaultValue, int64_t low, int64_t high);
  /// `pad_token_id`, counted from the end if negative; nothing where it is null or no id.
  std::optional<int64_t> padding(int64_t vocabSize, std::optional<int64_t> defaultValue);
  /// A finite number that is not negative.
  double number(Keys keys, double defaultValue);
  /// A rate of dropout, in [0, 1).
  double rate(Keys keys, double defaultValue);
  bool flag(Keys keys, bool defaultValue);
  std::string text(Keys keys, llvm::StringRef defaultValue);
  /// A list of numbers above 0; nothing if there is none.
  std::optional<std::vector<double>> numbers(llvm::StringRef key);
  /// A list of strings; nothing if there is none.
  std::optional<std::vector<std::string>> texts(llvm::StringRef key);
  /// One of Hugging Face's names of activation functions (ACT2FN).
  ActivationKind activation(Keys keys, llvm::StringRef defaultValue);
  /// The one called `name`, which stands in the field `key`.
  ActivationKind activationNamed(llvm::StringRef key, llvm::StringRef name);
  /// The fields of an object in this one, whose errors are its own; nothing if
  /// there is none.
  std::optional<Config> object(llvm::StringRef key);
  /// The number of labels: of `id2label`, else `num_labels`, else 2.
  int64_t labels();
  /// The only entry of `architectures`, or nothing.
  std::string architecture();

  /// Refuses a true flag that changes the numbers and that is not supported.
  void refuseFlag(llvm::StringRef key);
  /// Refuses any text but `supported`.
  void refuseOther(llvm::StringRef key, llvm::StringRef supported);
  /// Refuses fields that stand for another kind of checkpoint if they hold
  /// anything: quantised weights, pruned heads.
  void refuseContents(Keys keys);
  /// Checks that `heads` divides `width`.
  void checkHeads(llvm::StringRef widthKey, int64_t width, llvm::StringRef headsKey, int64_t heads);

  /// Remembers "FILE: 'KEY': expected EXPECTED, found FOUND" if it is the first.
  void fail(llvm::StringRef key, const llvm::Twine &expected, const llvm::Twine &found);

  /// Remembers the error of another file if it is the first.
  void failFile(const std::string &error) {
    if (ok())
      message = error;
  }

  /// The same for a text that the file holds in this field.
  void failText(llvm::StringRef key, const llvm::Twine &expected, llvm::StringRef found);

  bool ok() const { return message.empty(); }
  const std::string &error() const { return message; }
  const std::string &file() const { return path; }

private:
  struct Fields;
  Config(std::string path, std::unique_ptr<Fields> fields);

  std::string path;
  std::unique_ptr<Fields> fields;
  std::string message;
};

} // namespace mlir::transformer

#endif // MODELS_CONFIG_H
