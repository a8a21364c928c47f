//===- tokenizer.cpp - fuzz target: tokenizer.json ------------------------===//
#include "runtime/text/Tokenizer.h"
#include "runtime/base/Error.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string content(fuzz::text(data, size));
  try {
    auto tokenizer = runtime::Tokenizer::parse("tokenizer.json", content);
    tokenizer.encode("He said: [MASK] caf\u00e9s, \u4e16\u754c!");
    tokenizer.encodePair("one", content.substr(0, 64), 16);
    tokenizer.decode({0, 1, 2, 3, 5, 8});
  } catch (const runtime::Error &) {
  }
  return 0;
}
