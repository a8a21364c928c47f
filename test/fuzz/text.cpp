//===- text.cpp - fuzz target: texts to be tokenized, and ids -------------===//
#include "runtime/text/TextStream.h"
#include "runtime/text/Utf8.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

namespace {

/// WordPiece with a few pieces and every kind of normalisation.
const char *const wordPiece = R"({
  "added_tokens": [{"id": 0, "content": "[PAD]", "special": true},
                   {"id": 4, "content": "[MASK]", "special": true, "lstrip": true},
                   {"id": 9, "content": "new", "single_word": true, "normalized": true}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                 "strip_accents": null, "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "a": 5,
                      "##b": 6, "ab": 7, "!": 8}}})";

/// Bytes, by a pattern that is matched by hand and by one that PCRE2 matches.
const char *const bytes = R"({
  "added_tokens": [{"id": 4, "content": "<s>", "special": true, "rstrip": true}],
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Nmt"},
                 {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}|[^\\s\\p{L}]+"}, "behavior": "Isolated"},
    {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}]},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "unk_token": "u", "merges": ["a b", "Ã ©"],
            "vocab": {"a": 0, "b": 1, "ab": 2, "u": 3, "Ã": 5, "©": 6, "Ã©": 7}}})";

/// Pieces, with bytes for what is no piece.
const char *const pieces = R"({
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"},
                 {"type": "Lowercase"}, {"type": "Strip"}]},
  "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
  "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"},
              {"type": "Metaspace", "replacement": "▁"}]},
  "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true,
            "vocab": [["<unk>", 0], ["▁", -1], ["a", -2], ["▁a", -2.5], ["<0xC3>", -3],
                      ["<0xA9>", -3], ["é", -1]]}})";

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const runtime::Tokenizer tokenizers[] = {
      runtime::Tokenizer::parse("tokenizer.json", wordPiece),
      runtime::Tokenizer::parse("tokenizer.json", bytes),
      runtime::Tokenizer::parse("tokenizer.json", pieces)};
  std::string content(fuzz::text(data, size));
  std::string half = content.substr(0, size / 2);
  for (const runtime::Tokenizer &tokenizer : tokenizers) {
    if (tokenizer.encode(content, 64).ids.size() > 64 ||
        tokenizer.encodePair(content, half, 64).ids.size() > 64)
      abort();
    std::vector<int64_t> ids = tokenizer.encode(content).ids;
    for (uint8_t byte : half)
      ids.push_back(byte % 10);
    if (!runtime::isUtf8(tokenizer.decode(ids)))
      abort();
    ids.resize(std::min<size_t>(ids.size(), 100));
    runtime::TextStream stream(tokenizer);
    for (int64_t id : ids)
      if (!runtime::isUtf8(stream.add(id)))
        abort();
    if (!runtime::isUtf8(stream.finish()))
      abort();
  }
  return 0;
}
