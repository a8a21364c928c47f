//===- CheckpointFiles.cpp - what travels with a program ------------------===//
#include "codegen/driver/CheckpointFiles.h"
#include "dialect/TransformerDialect.h"
#include "mlir/IR/Builders.h"
#include "runtime/text/TokenizerFileNames.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <optional>

using namespace mlir;
using namespace mlir::transformer;
namespace fs = llvm::sys::fs;

/// The bytes of a file of `directory`; nothing when there is none.
static std::optional<std::string> readFile(StringRef directory, StringRef name) {
  llvm::SmallString<128> file(directory);
  llvm::sys::path::append(file, name);
  if (!fs::is_regular_file(file))
    return std::nullopt;
  auto text = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  return text ? std::optional((*text)->getBuffer().str()) : std::nullopt;
}

/// {"files": {...}} of a SentencePiece model and what is beside it; nothing when there is none.
static std::optional<std::string> readPieceFiles(StringRef directory) {
  llvm::json::Object files;
  for (StringRef name : ::transformer::runtime::pieceFileNames)
    if (auto bytes = readFile(directory, name))
      files[name] = llvm::encodeBase64(*bytes);
  if (files.empty() || readFile(directory, "vocab.txt"))
    return std::nullopt;
  for (StringRef name : ::transformer::runtime::besidePieceFileNames)
    if (auto text = readFile(directory, name))
      files[name] = llvm::json::fixUTF8(*text);
  std::string result;
  llvm::raw_string_ostream(result)
      << llvm::json::Value(llvm::json::Object{{"files", std::move(files)}});
  return result;
}

static void attachTokenizer(ModuleOp module, StringRef directory) {
  auto text = readFile(directory, "tokenizer.json");
  if (!text)
    text = readPieceFiles(directory);
  if (text)
    module->setAttr(attr::tokenizer, StringAttr::get(module.getContext(), *text));
}

/// As transformers: generation_config.json, or what older checkpoints have in config.json.
static void attachGeneration(ModuleOp module, StringRef directory) {
  Builder builder(module.getContext());
  for (StringRef name : {"generation_config.json", "config.json"})
    if (auto text = readFile(directory, name)) {
      NamedAttribute fields[] = {
          builder.getNamedAttr("file", builder.getStringAttr(name)),
          builder.getNamedAttr("text", builder.getStringAttr(llvm::json::fixUTF8(*text)))};
      module->setAttr(attr::generation, builder.getDictionaryAttr(fields));
      return;
    }
}

void mlir::transformer::attachCheckpointFiles(ModuleOp module, StringRef directory) {
  if (!fs::is_directory(directory))
    return;
  if (!module->hasAttr(attr::tokenizer))
    attachTokenizer(module, directory);
  if (!module->hasAttr(attr::generation) && module.lookupSymbol("step"))
    attachGeneration(module, directory);
}
