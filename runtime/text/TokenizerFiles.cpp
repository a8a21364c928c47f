//===- TokenizerFiles.cpp - where a tokenizer is looked for ---------------===//
#include "runtime/text/TokenizerFiles.h"

#include "runtime/base/Path.h"
#include "runtime/files/Checkpoint.h"
#include "runtime/profile/Profile.h"
#include "runtime/text/Charsmap.h"
#include "runtime/text/TokenizerFileNames.h"
#include "runtime/text/TokenizerReader.h"

namespace transformer::runtime {

TokenizerFiles TokenizerFiles::open(const std::string &path) {
  TokenizerFiles files;
  bool isFolder = isDirectory(path);
  files.prefix = (isFolder ? path : parentFolder(path)) + "/";
  auto add = [&](std::string_view name) {
    std::string file = files.prefix + std::string(name);
    if (isFile(file))
      files.bytes[std::string(name)] = MappedFile(file).text();
  };
  if (isFolder) {
    for (std::string_view name : pieceFileNames)
      add(name);
    if (files.bytes.empty())
      return files;
  } else {
    files.model = path.substr(path.find_last_of('/') + 1);
    files.bytes[files.model] = MappedFile(path).text();
  }
  for (std::string_view name : besidePieceFileNames)
    add(name);
  return files;
}

TokenizerFiles TokenizerFiles::parse(const TokenizerField &field) {
  TokenizerFiles files;
  files.prefix = field.where() + ": ";
  field.items([&](const std::string &name, const TokenizerField &content) {
    if (!isPieceFileName(name)) {
      files.bytes[name] = content.text();
      return;
    }
    auto decoded = decodeBase64(content.text());
    if (!decoded)
      content.fail("expected base64, found {}", describe(content.raw()));
    files.bytes[name] = std::move(*decoded);
  });
  return files;
}

Json TokenizerFiles::json(std::string_view name) const {
  auto found = bytes.find(name);
  if (found == bytes.end())
    return Json::object();
  std::string where = prefix + found->first;
  Json value = parseJson(where, found->second);
  if (!value.is_object())
    fail("{}: not a JSON object", where);
  return value;
}

bool Tokenizer::isIn(const std::string &folder) {
  if (isFile(folder + "/tokenizer.json") || isFile(folder + "/vocab.txt"))
    return true;
  for (std::string_view name : pieceFileNames)
    if (isFile(folder + "/" + std::string(name)))
      return true;
  return false;
}

Tokenizer Tokenizer::parse(const std::string &name, const std::string &text) {
  ProfileScope scope("read tokenizer");
  return TokenizerReader(name).read(text);
}

/// vocab.txt with fields of tokenizer_config.json, as JSON.
static std::string withConfig(const std::string &file, const std::string &text) {
  Json config = Json::object();
  std::string beside = parentFolder(file) + "/tokenizer_config.json";
  if (isFile(beside))
    config = parseJson(beside, MappedFile(beside).text());
  if (!config.is_object())
    fail("{}: not a JSON object", beside);
  config["vocab"] = text;
  return jsonText(config);
}

Tokenizer Tokenizer::open(const std::string &path) {
  std::string target = path;
  if (isDirectory(path)) {
    target = path + "/tokenizer.json";
    if (!isFile(target))
      target = path + "/vocab.txt";
    if (!isFile(target))
      target = path;
  }
  if (target == path && (isPieceFileName(path) || isDirectory(path))) {
    ProfileScope scope("read tokenizer");
    TokenizerFiles files = TokenizerFiles::open(path);
    if (files.bytes.empty())
      fail("{}: no {} in this folder", path, tokenizerFileList);
    return TokenizerReader(path).read(files);
  }
  std::string text(MappedFile(target).text());
  return parse(target, target.ends_with(".txt") ? withConfig(target, text) : text);
}

} // namespace transformer::runtime
