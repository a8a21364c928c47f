#include "runtime/base/Json.h"
#include "runtime/files/Checkpoint.h"
#include "runtime/text/Tokenizer.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

std::string nested(const std::string &open, const std::string &inside, const std::string &close,
                   int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i)
    text += open;
  text += inside;
  for (int i = 0; i < depth; ++i)
    text += close;
  return text;
}

TEST(Json, RefusesWhatIsNestedTooDeep) {
  EXPECT_EQ(parseJson("f", nested("[", "1", "]", maxJsonDepth)).size(), 1u);
  std::string problem = "f: JSON nested deeper than 64 levels";
  EXPECT_EQ(errorOf([] { parseJson("f", nested("[", "1", "]", maxJsonDepth + 1)); }), problem);
  EXPECT_EQ(errorOf([] { parseJson("f", nested("{\"a\":", "1", "}", maxJsonDepth + 1)); }),
            problem);
  EXPECT_EQ(errorOf([] { parseJson("f", nested("[{\"a\":", "", "", 1 << 20)); }), problem);
  // Brackets in strings are text.
  std::string text = nested("[", "", "", 100) + "\\\"" + nested("{", "", "", 100);
  EXPECT_EQ(parseJson("f", "[\"" + text + "\"]").size(), 1u);
}

TEST(Json, SaysWhereItIsNotJson) {
  expectContains(errorOf([] { parseJson("dir/f.json", "{\"a\": 1,\n \"b\" 2}"); }),
                 {"dir/f.json: not JSON: ", "line 2, column 6"});
  expectContains(errorOf([] { parseJson("f", ""); }), {"f: not JSON: ", "line 1, column 1"});
  expectContains(errorOf([] { parseJson("f", "[1e999]"); }), {"f: not JSON: ", "1e999"});
  expectContains(errorOf([] { parseJson("f", "[\"\xFF\"]"); }), {"f: not JSON: ", "UTF-8"});
}

// Wherever a message quotes a value of the wrong kind.
TEST(Json, DeepValuesInFiles) {
  TemporaryFolder folder;
  const std::string deep = nested("[", "", "]", 200'000), problem = "nested deeper than 64 levels";
  for (const std::string &entry :
       {"{\"x\":{\"dtype\":" + deep + ",\"shape\":[1],\"data_offsets\":[0,1]}}",
        "{\"x\":{\"dtype\":\"U8\",\"shape\":[" + deep + "],\"data_offsets\":[0,1]}}"}) {
    std::string path = folder.write("w.safetensors", safetensorsBytes(entry, "1"));
    expectContains(errorOf([&] { SafetensorsFile file(path); }),
                   {path + ": the header: ", problem});
  }
  std::string index =
      folder.write("model.safetensors.index.json", "{\"weight_map\":{\"x\":" + deep + "}}");
  expectContains(errorOf([&] { Checkpoint::open(index); }), {index, problem});
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  std::string config = folder.write("tokenizer_config.json", "{\"unk_token\":" + deep + "}");
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }), {config, problem});
  std::string tokenizer = folder.write("tokenizer.json", "{\"model\":" + deep + "}");
  expectContains(errorOf([&] { Tokenizer::open(folder.path()); }), {tokenizer, problem});
}

} // namespace
