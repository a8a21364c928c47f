//===- Checkpoint.cpp - what stands beside a config.json ------------------===//
#include "models/Checkpoint.h"
#include "models/Json.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir::transformer;

/// The header of a safetensors file: 8 bytes with its length, then JSON.
static std::optional<Json> readHeader(llvm::StringRef file) {
  constexpr uint64_t limit = 100'000'000; // as in the format's own reader
  if (!llvm::sys::fs::is_regular_file(file))
    return std::nullopt;
  auto prefix = llvm::MemoryBuffer::getFileSlice(file, 8, 0);
  if (!prefix || (*prefix)->getBufferSize() != 8)
    return std::nullopt;
  uint64_t size = llvm::support::endian::read64le((*prefix)->getBufferStart());
  uint64_t fileSize;
  if (llvm::sys::fs::file_size(file, fileSize) || size > limit || size > fileSize - 8)
    return std::nullopt;
  auto text = llvm::MemoryBuffer::getFileSlice(file, size, 8);
  if (!text)
    return std::nullopt;
  std::string ignored;
  std::optional<Json> json = parseJson((*text)->getBuffer(), ignored);
  return json && json->is_object() ? json : std::nullopt;
}

Checkpoint Checkpoint::open(llvm::StringRef directory) {
  Checkpoint checkpoint{directory.str(), std::nullopt};
  std::optional<Json> names = readHeader(checkpoint.path("model.safetensors"));
  if (!names && checkpoint.hasFile("model.safetensors.index.json")) {
    std::string ignored;
    names = readJson(checkpoint.path("model.safetensors.index.json"), ignored);
    if (names && names->is_object() && names->contains("weight_map"))
      names = names->at("weight_map");
    if (names && !names->is_object())
      names.reset();
  }
  if (names) {
    checkpoint.tensors.emplace();
    for (const auto &[name, entry] : names->items())
      checkpoint.tensors->insert(name);
  }
  return checkpoint;
}

std::string Checkpoint::path(llvm::StringRef file) const {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, file);
  return path.str().str();
}

bool Checkpoint::hasFile(llvm::StringRef file) const { return llvm::sys::fs::exists(path(file)); }

bool Checkpoint::lacks(llvm::StringRef suffix) const {
  return tensors && llvm::none_of(tensors->keys(), [&](llvm::StringRef name) {
           return name == suffix || name.ends_with(("." + suffix).str());
         });
}
