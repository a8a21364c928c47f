//===- TextStream.h - text of ids as they come ------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TEXTSTREAM_H
#define TRANSFORMER_RUNTIME_TEXTSTREAM_H

#include "runtime/text/Tokenizer.h"

namespace transformer::runtime {

/// Decodes ids one by one, as a model generates them. What comes out is valid UTF-8: the bytes of
/// a character wait for the last of them. Together it is what `decode` gives for all ids; only
/// where ids do not make up UTF-8 can the number of U+FFFD differ.
class TextStream {
public:
  /// `tokenizer` must outlive the object.
  explicit TextStream(const Tokenizer &tokenizer, bool skipSpecial = true)
      : tokenizer(tokenizer), skipSpecial(skipSpecial) {}

  /// The text that `id` completes; often empty. Takes the same time however many came before.
  std::string add(int64_t id);

  /// The text that still waits. The next id starts a new text.
  std::string finish();

private:
  const Tokenizer &tokenizer;
  bool skipSpecial;
  // How an id is decoded can depend on the one before it, so the last ones are kept.
  std::vector<int64_t> ids;
  std::string told; // the text of the first `toldIds` of them
  size_t toldIds = 0;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TEXTSTREAM_H
