//===- pieces.cpp - fuzz target: SentencePiece models ---------------------===//
#include "runtime/base/Error.h"
#include "runtime/text/Tokenizer.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

/// The first byte says which class it is; behind it comes the model, as it is.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folders[] = {fuzz::Folder{"spiece.model", "tokenizer_config.json"},
                                         fuzz::Folder{"spiece.model", "tokenizer_config.json"},
                                         fuzz::Folder{"tokenizer.model", "tokenizer_config.json"},
                                         fuzz::Folder{"source.spm", "vocab.json"}};
  static constexpr std::string_view beside[] = {
      R"({"tokenizer_class": "T5Tokenizer", "extra_ids": 3})",
      R"({"tokenizer_class": "AlbertTokenizer"})",
      R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": true})",
      R"({"</s>": 0, "<unk>": 1, "\u2581he": 2, "s": 3, "\u2581said": 4, "<s>": 5})"};
  if (size == 0)
    return 0;
  const fuzz::Folder &folder = folders[data[0] % 4];
  folder.files[0].fill(fuzz::text(data + 1, size - 1));
  folder.files[1].fill(beside[data[0] % 4]);
  try {
    auto tokenizer = runtime::Tokenizer::open(folder.path);
    tokenizer.encode(">>fr<< He said: <s>  caf\u00e9s, \u4e16\u754c\ufb01! ");
    tokenizer.encodePair("one", std::string(fuzz::text(data, std::min<size_t>(size, 64))), 16);
    tokenizer.decode({0, 1, 2, 3, 5, 8}, /*skipSpecial=*/false);
  } catch (const runtime::Error &) {
  }
  return 0;
}
