//===- DecoderReader.cpp - decoders and post-processors -------------------===//
#include "runtime/text/TokenizerParts.h"

namespace transformer::runtime {
namespace {

void append(const TokenizerField &field, std::vector<DecoderStep> &steps) {
  std::string type = field["type"].string();
  if (type == "Sequence")
    field["decoders"].each([&](const TokenizerField &item) { append(item, steps); });
  else if (type == "ByteLevel")
    steps.push_back(CharactersToBytes{});
  else if (type == "WordPiece")
    steps.push_back(JoinWordPieces{field.string("prefix", "##"), field.boolean("cleanup", true)});
  else if (type == "Metaspace")
    steps.push_back(readMetaspace(field));
  else if (type == "Fuse")
    steps.push_back(Fuse{});
  else if (type == "Strip")
    steps.push_back(StripCharacter{readCharacter(field["content"]),
                                   static_cast<size_t>(field["start"].count()),
                                   static_cast<size_t>(field["stop"].count())});
  else if (type == "ByteFallback")
    steps.push_back(JoinBytes{});
  else if (type == "Replace")
    steps.push_back(readReplace(field));
  else if (type == "BPEDecoder")
    steps.push_back(WordSuffix{field.string("suffix", "</w>")});
  else if (type == "CTC")
    steps.push_back(Ctc{field.string("pad_token", "<pad>"),
                        field.string("word_delimiter_token", "|"), field.boolean("cleanup", true)});
  else
    field.fail(
        "decoder \"{}\" is not supported, expected BPEDecoder, ByteFallback, ByteLevel, CTC, "
        "Fuse, Metaspace, Replace, Sequence, Strip or WordPiece",
        printable(type));
}

std::vector<TemplatePart> readTemplate(const TokenizerField &parts, const TokenizerField &special) {
  std::vector<TemplatePart> result;
  parts.each([&](const TokenizerField &part) {
    TemplatePart item;
    bool isText = part.has("Sequence");
    TokenizerField body = part[isText ? "Sequence" : "SpecialToken"];
    item.type = body.count("type_id", 0);
    std::string id = body["id"].string();
    if (isText && id != "A" && id != "B")
      body["id"].fail("expected A or B, found \"{}\"", printable(id));
    if (isText)
      item.text = id == "B" ? 1 : 0;
    else
      special[id.c_str()]["ids"].each(
          [&](const TokenizerField &one) { item.ids.push_back(one.count()); });
    result.push_back(std::move(item));
  });
  return result;
}

/// A text of the pair must not be looked for where there is one only.
void requireOneText(const TokenizerField &field, const std::vector<TemplatePart> &parts) {
  for (const TemplatePart &part : parts)
    if (part.text == 1)
      field.fail("expected text A only, found B");
}

/// The tokens' ids of "cls" and "sep".
std::pair<int64_t, int64_t> readClsSep(const TokenizerField &field) {
  return {field["cls"].at(1).count(), field["sep"].at(1).count()};
}

/// Adds what a post-processor does; `found`: one that adds tokens has been there.
void append(const TokenizerField &field, PostProcessor &result, bool &found) {
  std::string type = field["type"].string();
  if (type == "Sequence") {
    field["processors"].each([&](const TokenizerField &item) { append(item, result, found); });
    return;
  }
  if (type == "ByteLevel") // of offsets only
    return;
  if (found)
    field.fail("post_processor \"{}\" behind another that adds tokens is not supported",
               printable(type));
  found = true;
  if (type == "TemplateProcessing") {
    TokenizerField special = field["special_tokens"];
    result.single = readTemplate(field["single"], special);
    result.pair = readTemplate(field["pair"], special);
    requireOneText(field["single"], result.single);
  } else if (type == "BertProcessing") {
    auto [cls, sep] = readClsSep(field);
    result = surroundBert(cls, sep);
  } else if (type == "RobertaProcessing") {
    auto [cls, sep] = readClsSep(field);
    result.single = {{-1, {cls}, 0}, {0, {}, 0}, {-1, {sep}, 0}};
    result.pair = {{-1, {cls}, 0}, {0, {}, 0}, {-1, {sep, sep}, 0}, {1, {}, 0}, {-1, {sep}, 0}};
  } else {
    field.fail("post_processor \"{}\" is not supported, expected BertProcessing, ByteLevel, "
               "RobertaProcessing, Sequence or TemplateProcessing",
               printable(type));
  }
}

} // namespace

Decoder readDecoder(const TokenizerField &field) {
  Decoder result;
  append(field, result.steps);
  return result;
}

PostProcessor surroundBert(int64_t cls, int64_t sep) {
  return {{{-1, {cls}, 0}, {0, {}, 0}, {-1, {sep}, 0}},
          {{-1, {cls}, 0}, {0, {}, 0}, {-1, {sep}, 0}, {1, {}, 1}, {-1, {sep}, 1}}};
}

PostProcessor readPostProcessor(const TokenizerField &field) {
  PostProcessor result;
  bool found = false;
  append(field, result, found);
  return result;
}

} // namespace transformer::runtime
