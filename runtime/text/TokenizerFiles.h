//===- TokenizerFiles.h - a SentencePiece model and what is beside it -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOKENIZERFILES_H
#define TRANSFORMER_RUNTIME_TOKENIZERFILES_H

#include "runtime/text/TokenizerField.h"

#include <map>
#include <string>
#include <string_view>

namespace transformer::runtime {

/// The files that a tokenizer is made from, where a SentencePiece model is one of them.
struct TokenizerFiles {
  std::string prefix;                                    // of names in messages: "folder/"
  std::map<std::string, std::string, std::less<>> bytes; // of each file, by name
  std::string model; // which of them is the model; empty: the one that the class reads

  /// From `path`, a folder or a model's file. A folder without any gives no files.
  static TokenizerFiles open(const std::string &path);

  /// From what a program carries: {"spiece.model": "...base64...", "config.json": "...text..."}.
  static TokenizerFiles parse(const TokenizerField &files);

  bool has(std::string_view name) const { return bytes.find(name) != bytes.end(); }

  /// A JSON object; an empty one where there is no such file.
  Json json(std::string_view name) const;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOKENIZERFILES_H
