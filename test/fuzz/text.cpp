//===- text.cpp - fuzz target: texts to be tokenized ----------------------===//
#include "runtime/text/Tokenizer.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

/// WordPiece with a few pieces and every kind of normalisation.
static const char *const tokenizerJson = R"({
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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const auto tokenizer = runtime::Tokenizer::parse("tokenizer.json", tokenizerJson);
  std::string content(fuzz::text(data, size));
  std::string half = content.substr(0, size / 2);
  if (tokenizer.encode(content, 64).ids.size() > 64 ||
      tokenizer.encodePair(content, half, 64).ids.size() > 64)
    abort();
  return 0;
}
