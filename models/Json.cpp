//===- Json.cpp - reading JSON files of a checkpoint ----------------------===//
#include "models/Json.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir::transformer;

std::optional<Json> mlir::transformer::readJson(llvm::StringRef file, std::string &error) {
  auto buffer =
      llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    error = (file + ": " + buffer.getError().message()).str();
    return std::nullopt;
  }
  llvm::StringRef text = (*buffer)->getBuffer();
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception &exception) {
    // "[json.exception.parse_error.101] parse error at line 3, column 1: ... - unexpected ..."
    llvm::StringRef reason = exception.what();
    reason = reason.substr(reason.find("] ") + 2);
    reason = reason.substr(0, reason.find("; last read"));
    error = (file + ": not valid JSON: " + reason).str();
    return std::nullopt;
  }
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
