//===- PackedWeights.cpp - prepared tensors in a file ---------------------===//
#include "runtime/files/PackedWeights.h"

#include "runtime/abi/Description.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Path.h"
#include "runtime/files/Checkpoint.h"

#include <algorithm>
#include <string_view>

namespace transformer::runtime {
namespace {

/// Its number changes with what a file of the same text would hold.
constexpr std::string_view firstLine = "transformer-mlir packed weights 4\n";

/// Without the version.
constexpr std::string_view magic = firstLine.substr(0, firstLine.size() - 2);

constexpr auto otherVersion = "it has another version";
constexpr auto otherProgram = "it was made by another program";
constexpr auto otherWeights = "it was made from other weights, or they have changed";

/// The last line of the file.
std::string hashLine(uint64_t hash) { return formatted("hash {:016x}\n", hash); }
const size_t hashLineSize = hashLine(0).size();

/// What the second line begins with.
std::string programText(const Description &description) {
  return formatted("program {:016x}, ", description.preparation);
}

/// The lines behind it.
std::string weightsText(const Checkpoint &weights) {
  std::string text;
  for (const auto &file : weights.files()) {
    const MappedFile &content = file->bytes();
    text += formatted("weights of {} bytes in {}, modified {}, header {:016x}\n", content.size(),
                      content.fileSize(), content.modified(), hashOf(file->header()));
  }
  return text;
}

/// What the first line tells in which `found`, the start of a file, is not as `expected`.
std::string differenceOf(std::string_view found, std::string_view expected) {
  auto mismatch = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  auto same = static_cast<size_t>(mismatch.first - found.begin());
  size_t line = expected.substr(0, same).rfind('\n') + 1; // 0 when there is none
  return line == 0 ? otherVersion : line == firstLine.size() ? otherProgram : otherWeights;
}

/// Throws Error when the file at `path`, which begins with `start`, is something else.
void checkMagic(const std::string &path, std::string_view start) {
  size_t known = std::min(start.size(), magic.size());
  if (start.substr(0, known) != magic.substr(0, known))
    fail("{}: not a file of packed weights, which begins with \"{}\": not overwritten", path,
         magic);
}

} // namespace

PackedWeights::PackedWeights(std::string path, const Description &description,
                             const Checkpoint &weights, size_t bytes)
    : path(std::move(path)), bytes(bytes) {
  // Lines are short: the text of any real checkpoint fits.
  offset = (4096 + 256 * weights.files().size() + hugePage - 1) / hugePage * hugePage;
  // Up to and with a zero byte.
  text = formatted("{}{}prepared tensors of {} bytes at {}\n{}{}", firstLine,
                   programText(description), bytes, offset, weightsText(weights), '\0');
  checkFolder(this->path);
  if (!pathExists(this->path)) {
    why = "there was none";
    return;
  }
  if (!isFile(this->path))
    fail("{}: not a regular file, expected packed weights", this->path);
  MappedFile file(this->path);
  std::string_view start = file.text().substr(0, text.size());
  checkMagic(this->path, start);
  size_t expected = offset + bytes + hashLineSize;
  if (start != std::string_view(text).substr(0, start.size())) {
    why = differenceOf(start, text);
  } else if (file.size() != expected) {
    why = formatted("it had {} bytes, expected {}", file.size(), expected);
  } else {
    file.preferHugePages();
    mapped = std::move(file);
  }
}

void PackedWeights::write(const char *tensors) const {
  AtomicFile file(path);
  RunningHash hash;
  auto add = [&](std::string_view piece) {
    hash.add(piece);
    file.write(piece.data(), piece.size());
  };
  std::string start = text;
  start.resize(offset);
  add(start);
  // The kernel's copy of the file gets pages of the size of each write: huge ones, if it can.
  for (size_t done = 0; done < bytes; done += hugePage)
    add({tensors + done, std::min(hugePage, bytes - done)});
  file.write(hashLine(hash.value()));
  file.commit();
}

std::string PackedWeights::check(const std::string &path, const Description &description,
                                 const Checkpoint *weights) {
  MappedFile file(path);
  std::string_view content = file.text();
  checkMagic(path, content);
  if (content.substr(0, firstLine.size()) != firstLine)
    return otherVersion;
  size_t hashed = content.size() - std::min(content.size(), hashLineSize);
  if (std::string line = hashLine(hashOf(content.substr(0, hashed)));
      line != content.substr(hashed))
    fail("{}: damaged: its contents do not have the hash in its last line", path);
  content.remove_prefix(firstLine.size());
  if (std::string program = programText(description); content.substr(0, program.size()) != program)
    return otherProgram;
  content.remove_prefix(content.find('\n') + 1);
  if (weights && content.substr(0, content.find('\0')) != weightsText(*weights))
    return otherWeights;
  return "";
}

} // namespace transformer::runtime
