//===- vocabulary.cpp - fuzz target: tokenizer_config.json and vocab.txt --===//
#include "runtime/base/Error.h"
#include "runtime/text/Tokenizer.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder{"tokenizer_config.json", "vocab.txt"};
  folder.fill(fuzz::text(data, size));
  try {
    runtime::Tokenizer::open(folder.path).encode("He said: [MASK] caf\u00e9s!", 12);
  } catch (const runtime::Error &) {
  }
  return 0;
}
