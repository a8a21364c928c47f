//===- TensorFiles.cpp - --inputs and --outputs ---------------------------===//
#include "runtime/files/TensorFiles.h"

#include "runtime/base/Error.h"
#include "runtime/base/Path.h"
#include "runtime/files/Checkpoint.h"
#include "runtime/files/Npy.h"
#include "runtime/files/Safetensors.h"
#include "runtime/profile/Profile.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

struct Spec {
  std::string name; // empty: a safetensors file
  std::string path;
};

bool isNpy(const std::string &path) {
  return path.size() > 4 && path.compare(path.size() - 4, 4, ".npy") == 0;
}

Spec parseSpec(const std::string &text) {
  size_t equals = text.find('=');
  if (equals != std::string::npos && equals != 0 && isNpy(text))
    return {text.substr(0, equals), text.substr(equals + 1)};
  if (isNpy(text))
    fail("{}: which tensor is it? Write name={}", text, text);
  return {"", text};
}

} // namespace

TensorMap readTensors(const std::vector<std::string> &specs) {
  ProfileScope scope("read tensors");
  TensorMap result;
  auto add = [&](const std::string &name, Tensor tensor, const std::string &path) {
    if (!result.emplace(name, std::move(tensor)).second)
      fail("{}: tensor \"{}\" is given twice", path, printable(name));
  };
  for (const std::string &text : specs) {
    Spec spec = parseSpec(text);
    if (!spec.name.empty()) {
      add(spec.name, readNpy(spec.path), spec.path);
    } else {
      for (auto &[name, tensor] : readSafetensors(spec.path))
        add(name, std::move(tensor), spec.path);
    }
  }
  return result;
}

void checkOutputSpecs(const std::vector<std::string> &specs,
                      const std::vector<std::string> &names) {
  for (const std::string &text : specs) {
    Spec spec = parseSpec(text);
    if (!spec.name.empty() && std::find(names.begin(), names.end(), spec.name) == names.end())
      fail("{}: no output \"{}\", there are: {}", spec.path, printable(spec.name),
           fmt::join(names, ", "));
    checkFolder(spec.path);
  }
}

void writeTensors(const std::vector<std::string> &specs, const TensorMap &tensors) {
  ProfileScope scope("write tensors");
  std::vector<std::string> names;
  for (const auto &[name, tensor] : tensors)
    names.push_back(name);
  checkOutputSpecs(specs, names);
  for (const std::string &text : specs) {
    Spec spec = parseSpec(text);
    if (spec.name.empty())
      writeSafetensors(spec.path, tensors);
    else
      writeNpy(spec.path, tensors.at(spec.name));
  }
}

} // namespace transformer::runtime
