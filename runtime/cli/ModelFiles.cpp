//===- ModelFiles.cpp - the small files beside weights --------------------===//
#include "runtime/cli/ModelFiles.h"

#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Path.h"

namespace transformer::runtime {
namespace {

/// An empty object where there is no such file; embedded weights have no folder.
Json readObject(const std::string &folder, const std::string &name) {
  std::string path = folder + "/" + name;
  if (folder.empty() || !isFile(path))
    return Json::object();
  Json root = parseJson(path, MappedFile(path).text());
  if (!root.is_object())
    fail("{}: not a JSON object", path);
  return root;
}

} // namespace

std::map<std::string, int64_t> readClasses(const std::string &folder) {
  Json config = readObject(folder, "config.json");
  std::map<std::string, int64_t> classes;
  if (auto found = config.find("label2id"); found != config.end() && found->is_object())
    for (const auto &[name, value] : found->items()) {
      if (!value.is_number_integer())
        fail("{}/config.json: label2id.{}: expected an integer, found {}", folder, printable(name),
             describe(value));
      classes[name] = value.get<int64_t>();
    }
  return classes;
}

std::string readProblemType(const std::string &folder) {
  Json config = readObject(folder, "config.json");
  auto found = config.find("problem_type");
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<int64_t> readMaxLength(const std::string &folder) {
  Json config = readObject(folder, "tokenizer_config.json");
  auto found = config.find("model_max_length");
  if (found == config.end() || !found->is_number_integer() || found->get<int64_t>() < 1)
    return std::nullopt;
  return found->get<int64_t>();
}

} // namespace transformer::runtime
