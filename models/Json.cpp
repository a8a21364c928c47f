//===- Json.cpp - reading JSON files of a checkpoint ----------------------===//
#include "models/Json.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir::transformer;

std::optional<Json> mlir::transformer::parseJson(llvm::StringRef text, std::string &reason) {
  constexpr int maxDepth = 64;
  bool tooDeep = false;
  auto checkDepth = [&](int depth, Json::parse_event_t, Json &) {
    tooDeep |= depth >= maxDepth;
    return !tooDeep; // what is deeper is not kept
  };
  try {
    Json json = Json::parse(text.begin(), text.end(), checkDepth);
    if (!tooDeep)
      return json;
    reason = "nested deeper than " + std::to_string(maxDepth) + " levels";
  } catch (const Json::exception &exception) {
    // "[json.exception.parse_error.101] parse error at line 3, column 1: ... - unexpected ..."
    llvm::StringRef what = exception.what();
    what = what.substr(what.find("] ") + 2);
    reason = what.substr(0, what.find("; last read")).str();
  }
  return std::nullopt;
}

std::optional<Json> mlir::transformer::readJson(llvm::StringRef file, std::string &error) {
  if (llvm::sys::fs::exists(file) && !llvm::sys::fs::is_regular_file(file)) {
    error = (file + ": not a regular file").str(); // a pipe would be waited for
    return std::nullopt;
  }
  auto buffer =
      llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    error = (file + ": " + buffer.getError().message()).str();
    return std::nullopt;
  }
  std::string reason;
  std::optional<Json> json = parseJson((*buffer)->getBuffer(), reason);
  if (!json)
    error = (file + ": not valid JSON: " + reason).str();
  return json;
}

std::string mlir::transformer::describe(const Json &value) {
  if (!value.is_structured()) {
    // Invalid UTF-8 cannot occur: the parser refuses it.
    std::string text = value.dump();
    if (text.size() <= 60)
      return text;
  }
  return value.is_object() ? "an object" : value.is_array() ? "a list" : "a long string";
}
