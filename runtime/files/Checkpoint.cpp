//===- Checkpoint.cpp - the weights of a model ----------------------------===//
#include "runtime/files/Checkpoint.h"

#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/base/Path.h"
#include "runtime/files/Adapter.h"
#include "runtime/profile/Profile.h"

#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace transformer::runtime {
namespace {

constexpr char trailerMagic[] = "TRWEIGHT";

struct Trailer {
  char magic[8];
  uint64_t offset;
  uint64_t size;
};
static_assert(sizeof(Trailer) == 24);

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The names of the files that an index lists.
std::set<std::string> shardNames(const std::string &path) {
  Json index = parseJson(path, MappedFile(path).text());
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    fail("{}: not an index of a sharded checkpoint: no \"weight_map\"", path);
  std::set<std::string> names;
  for (const auto &[tensor, shard] : index["weight_map"].items()) {
    if (!shard.is_string())
      fail("{}: tensor \"{}\": the file name is not a string", path, printable(tensor));
    auto name = shard.get<std::string>();
    // An index names files beside it, nothing else.
    if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
      fail("{}: tensor \"{}\": bad file name \"{}\"", path, printable(tensor), printable(name));
    names.insert(name);
  }
  return names;
}

} // namespace

std::optional<EmbeddedWeights> findEmbeddedWeights(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return std::nullopt;
  Trailer trailer;
  off_t end = lseek(file, 0, SEEK_END);
  bool read = end >= off_t(sizeof(trailer)) &&
              pread(file, &trailer, sizeof(trailer), end - off_t(sizeof(trailer))) ==
                  ssize_t(sizeof(trailer));
  close(file);
  if (!read || std::memcmp(trailer.magic, trailerMagic, 8) != 0)
    return std::nullopt;
  uint64_t limit = static_cast<uint64_t>(end) - sizeof(trailer);
  if (trailer.offset > limit || trailer.size > limit - trailer.offset)
    fail("{}: embedded weights: bytes {} to +{} lie outside the file's {} (truncated?)", path,
         trailer.offset, trailer.size, limit);
  return EmbeddedWeights{trailer.offset, trailer.size};
}

Checkpoint Checkpoint::open(const std::string &path) {
  ProfileScope scope("open weights");
  if (isAdapter(path)) {
    std::string base = adaptedFolder(path);
    if (isAdapter(base))
      fail("{}: adapts a folder that is an adapter itself, {}", path, base);
    Checkpoint result = open(base);
    result.name = path + "/" + adapterWeights;
    result.shards.push_back(std::make_unique<SafetensorsFile>(result.name));
    return result;
  }
  Checkpoint result;
  result.name = path;
  std::string target = path;
  if (isDirectory(path)) {
    std::string base = endsWith(path, "/") ? path : path + "/";
    if (isFile(base + "model.safetensors"))
      target = base + "model.safetensors";
    else if (isFile(base + "model.safetensors.index.json"))
      target = base + "model.safetensors.index.json";
    else
      fail("{}: no model.safetensors or model.safetensors.index.json in this folder", path);
    result.name = target;
  }
  result.directory = parentFolder(target);
  if (endsWith(target, ".json")) {
    for (const std::string &shard : shardNames(target))
      result.shards.push_back(std::make_unique<SafetensorsFile>(result.directory + "/" + shard));
  } else {
    result.shards.push_back(std::make_unique<SafetensorsFile>(target));
  }
  return result;
}

Checkpoint Checkpoint::openEmbedded(const std::string &path, EmbeddedWeights where) {
  Checkpoint result;
  result.name = path;
  result.directory = parentFolder(path);
  result.shards.push_back(std::make_unique<SafetensorsFile>(path, where.offset, where.size));
  return result;
}

void Checkpoint::checkUnchanged() const {
  for (const auto &shard : shards)
    shard->bytes().checkUnchanged();
}

std::optional<Checkpoint::Found> Checkpoint::find(const std::string &tensor) const {
  for (const auto &shard : shards)
    if (const TensorView *view = shard->find(tensor))
      return Found{shard.get(), view};
  return std::nullopt;
}

} // namespace transformer::runtime
