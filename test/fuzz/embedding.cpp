//===- embedding.cpp - fuzz target: sentence-transformers' files ----------===//
#include "test/fuzz/Import.h"

using namespace transformer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder files{"modules.json", "1_Pooling/config.json",
                                  "sentence_bert_config.json", "config.json"};
  std::string content(fuzz::text(data, size));
  content.resize(content.size() + 3, '\0'); // whatever there is, config.json is last
  files.fill(content);
  files.files[3].fill(R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8,
    "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 8})");
  fuzz::import(files.path);
  return 0;
}
