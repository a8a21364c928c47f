//===- PackedWeights.cpp - prepared tensors in a file ---------------------===//
#include "runtime/PackedWeights.h"

#include "runtime/AtomicFile.h"
#include "runtime/Checkpoint.h"
#include "runtime/Description.h"
#include "runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace transformer::runtime {
namespace {

/// Its number changes with what a file of the same text would hold.
constexpr std::string_view firstLine = "transformer-mlir packed weights 1\n";

/// Without the version.
constexpr std::string_view magic = firstLine.substr(0, firstLine.size() - 2);

/// A hash that tells texts apart which differ by accident (it does not resist an attacker).
uint64_t hashOf(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u ^ text.size();
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash;
}

/// The start of the file, up to and with a zero byte.
std::string textFor(const Description &description, const Checkpoint &weights, size_t bytes,
                    size_t offset) {
  std::string text(firstLine);
  text += fmt::format("program {:016x}, prepared tensors of {} bytes at {}\n",
                      hashOf(description.text), bytes, offset);
  for (const auto &file : weights.files()) {
    const MappedFile &content = file->bytes();
    text += fmt::format("weights of {} bytes in {}, modified {}, header {:016x}\n", content.size(),
                        content.fileSize(), content.modified(), hashOf(file->header()));
  }
  return text + '\0';
}

/// What the first line tells in which `found`, the start of a file, is not as `expected`.
std::string differenceOf(std::string_view found, std::string_view expected) {
  auto mismatch = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  auto same = static_cast<size_t>(mismatch.first - found.begin());
  size_t line = expected.substr(0, same).rfind('\n') + 1; // 0 when there is none
  if (line == 0)
    return "it has another version";
  return line == firstLine.size() ? "it was made by another program"
                                  : "it was made from other weights, or they have changed";
}

} // namespace

PackedWeights::PackedWeights(std::string path, const Description &description,
                             const Checkpoint &weights, size_t bytes)
    : path(std::move(path)), bytes(bytes) {
  // Lines are short: the text of any real checkpoint fits.
  offset = (4096 + 256 * weights.files().size() + hugePage - 1) / hugePage * hugePage;
  text = textFor(description, weights, bytes, offset);
  checkFolder(this->path);
  if (!pathExists(this->path)) {
    why = "there was none";
    return;
  }
  if (!isFile(this->path))
    fail("{}: not a regular file, expected packed weights", this->path);
  MappedFile file(this->path);
  std::string_view start(file.data(), std::min<uint64_t>(file.size(), text.size()));
  size_t known = std::min(start.size(), magic.size());
  if (start.substr(0, known) != magic.substr(0, known))
    fail("{}: not a file of packed weights, which begins with \"{}\": not overwritten", this->path,
         magic);
  if (start != text.substr(0, start.size())) {
    why = differenceOf(start, text);
  } else if (file.size() != offset + bytes) {
    why = fmt::format("it had {} bytes, expected {}", file.size(), offset + bytes);
  } else {
    file.preferHugePages();
    mapped = std::move(file);
  }
}

void PackedWeights::write(const char *tensors) const {
  AtomicFile file(path);
  std::string start = text;
  start.resize(offset);
  file.write(start);
  // The kernel's copy of the file gets pages of the size of each write: huge ones, if it can.
  for (size_t done = 0; done < bytes; done += hugePage)
    file.write(tensors + done, std::min(hugePage, bytes - done));
  file.commit();
}

} // namespace transformer::runtime
