#include "runtime/base/Version.h"
#include "runtime/cli/CommandLine.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/files/Npy.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

#include <nlohmann/json.hpp>

using namespace transformer::runtime;

namespace {

struct Result {
  int code;
  std::string out, err;
};

Result runWith(std::vector<std::string> arguments, const std::string &image = "none") {
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int code = commandLine(static_cast<int>(argv.size()), argv.data(), fakeModule(), "fake", image);
  std::fflush(stdout);
  Result result{code, testing::internal::GetCapturedStdout(),
                testing::internal::GetCapturedStderr()};
  setThreads(1);
  return result;
}

void expectError(const Result &result, const std::vector<std::string> &parts) {
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err.rfind("error: ", 0), 0u) << result.err;
  EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 3);
  expectContains(result.err, parts);
}

class Cli : public testing::Test {
protected:
  Cli() {
    writeSafetensors(folder.path("model.safetensors"), fakeWeights());
    writeNpy(folder.path("ids.npy"), ints({1, 2}, {2, 0}));
    writeNpy(folder.path("bad.npy"), ints({1, 2}, {2, 9}));
  }
  TemporaryFolder folder;
};

TEST_F(Cli, HelpVersionAndUsage) {
  Result help = runWith({"--help"});
  EXPECT_EQ(help.code, 0);
  expectContains(help.out, {"run", "embed", "bench", "info", "tokenize", "Examples:"});
  EXPECT_EQ(runWith({"--version"}).out,
            formatted("transformer-mlir {}\nmodule made by by hand\n", version));
  expectContains(version, {"0.1.0 (commit "});
  EXPECT_EQ(runWith({"run", "--help"}).code, 0);
  expectError(runWith({}),
              {"no subcommand", "run, generate, embed, classify, train, bench, info, tokenize"});
  expectError(runWith({"--threads", "2"}),
              {"no subcommand", "run, generate, embed, classify, train, bench, info, tokenize"});
  expectError(runWith({"polish"}), {"unknown subcommand \"polish\""});
  expectError(runWith({"info", "--nonsense"}), {"--nonsense"});
  expectError(runWith({"info", "--threads", "0"}), {"--threads"});
}

TEST_F(Cli, Run) {
  Result result =
      runWith({"run", "--weights", folder.path(), "--inputs", "input_ids=" + folder.path("ids.npy"),
               "--outputs", "last_hidden_state=" + folder.path("y.npy"), "--threads", "2"});
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(valuesOf<float>(readNpy(folder.path("y.npy"))),
            (std::vector<float>{105, 206, 111, 212}));
}

TEST_F(Cli, ABadRunLeavesNoFile) {
  size_t before = folder.count();
  expectError(runWith({"run", "-w", folder.path(), "-i", "input_ids=" + folder.path("bad.npy"),
                       "-o", folder.path("y.safetensors")}),
              {"input_ids", "value 9", "row 0, column 1", "[0, 3)"});
  expectError(runWith({"run", "-i", "input_ids=" + folder.path("ids.npy"), "-o",
                       folder.path("y.safetensors")}),
              {"no weights", "--weights"});
  expectError(runWith({"run", "-w", folder.path(), "-i", "input_ids=" + folder.path("ids.npy"),
                       "-o", "x=" + folder.path("y.npy")}),
              {"no output \"x\"", "last_hidden_state"});
  EXPECT_EQ(folder.count(), before);
}

TEST_F(Cli, PackedWeights) {
  std::string packed = folder.path("model.packed");
  std::vector<std::string> arguments{"run",
                                     "-w",
                                     folder.path(),
                                     "--packed-weights",
                                     packed,
                                     "-i",
                                     "input_ids=" + folder.path("ids.npy"),
                                     "-o",
                                     "last_hidden_state=" + folder.path("y.npy")};
  EXPECT_EQ(runWith(arguments).err,
            "note: " + packed + ": packed weights written (there was none)\n");
  EXPECT_EQ(runWith(arguments).err, "");
  EXPECT_EQ(readNpy(folder.path("y.npy")).data<float>()[0], 105);
  Result bench =
      runWith({"bench", "-w", folder.path(), "--packed-weights", packed, "--shape", "2x4"});
  EXPECT_EQ(bench.err, "");
  expectContains(bench.out, {"median"});
  arguments[4] = folder.path("ids.npy");
  expectError(runWith(arguments), {"ids.npy", "not a file of packed weights"});
}

TEST_F(Cli, InfoChecksPackedWeights) {
  std::string packed = folder.path("model.packed");
  runWith({"bench", "-w", folder.path(), "--packed-weights", packed, "--shape", "1x1"});
  std::vector<std::string> info{"info", "--packed-weights", packed};
  Result alone = runWith(info);
  EXPECT_EQ(alone.code, 0);
  expectContains(alone.out, {"\npacked     whole, made by this program\n"});
  info.insert(info.end(), {"--weights", folder.path()});
  expectContains(runWith(info).out,
                 {"\npacked     whole, made by this program from these weights\n"});
  TensorMap other = fakeWeights();
  other["another"] = floats({1}, {1});
  writeSafetensors(folder.path("model.safetensors"), other);
  expectContains(runWith(info).out, {"\npacked     not usable: it was made from other weights"});
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 1);
  Result damaged = runWith(info);
  expectError(damaged, {packed, "damaged"});
  EXPECT_EQ(damaged.out, "");
}

TEST_F(Cli, EmbeddedWeights) {
  std::string weights = bytesOf(folder.path("model.safetensors"));
  uint64_t where[2] = {64, weights.size()};
  std::string image = folder.write("image", std::string(64, '.') + weights + "TRWEIGHT" +
                                                std::string(reinterpret_cast<char *>(where), 16));
  Result result = runWith({"run", "-i", "input_ids=" + folder.path("ids.npy"), "-o",
                           "last_hidden_state=" + folder.path("y.npy")},
                          image);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(readNpy(folder.path("y.npy")).data<float>()[0], 105);
}

TEST_F(Cli, Bench) {
  auto object = nlohmann::json::parse(
      runWith({"bench", "-w", folder.path(), "--lengths", "2,3", "--repeat", "3", "--json"}).out);
  EXPECT_EQ(object["tokens"], 5);
  EXPECT_LE(object["min_ms"], object["median_ms"]);
  EXPECT_LE(object["median_ms"], object["max_ms"]);
  EXPECT_TRUE(object.contains("gflops"));
  std::string path = folder.path("bench.json");
  Result result = runWith({"bench", "-w", folder.path(), "--shape", "2x4", "--json", path});
  expectContains(result.out, {"[2, 4]", "8 tokens", "median"});
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(path))["tokens"], 8);
  expectError(runWith({"bench", "-w", folder.path(), "--shape", "2x5"}), {"exceeds"});
  expectError(runWith({"bench", "-w", folder.path(), "--shape", "2by5"}), {"BATCHxSEQUENCE"});
  expectError(runWith({"bench", "-w", folder.path(), "--lengths", "0"}), {"--lengths"});
}

TEST_F(Cli, InfoAndProfile) {
  Result result = runWith({"info", "--profile", folder.path("t.json")});
  expectContains(result.out, {"fake (inference)", "2 tensors, 8 elements", "input_ids: i64",
                              "last_hidden_state: f32 [batch, sequence, 2]"});
  EXPECT_TRUE(nlohmann::json::parse(std::ifstream(folder.path("t.json"))).contains("traceEvents"));
  EXPECT_EQ(runWith({"info", "--json"}).out, std::string(fakeDescription) + "\n");
}

TEST_F(Cli, TokenizeWithTheModulesOwn) {
  std::string lines = folder.write("lines.txt", "a A [SEP]\r\n\nb");
  EXPECT_EQ(runWith({"tokenize", "--file", lines}).out, "3 2 2 4 4\n3 4\n3 1 4\n");
  EXPECT_EQ(runWith({"tokenize", "--text", "a a a", "--max-length", "4"}).out, "3 2 2 4\n");
  expectError(runWith({"tokenize", "--text", "a", "--max-length", "1"}), {"maximum length 1"});
}

TEST_F(Cli, Embed) {
  // The fake takes ids below 3; this tokenizer keeps to them.
  std::string vocab = folder.write("vocab.txt", "[CLS]\n[SEP]\na\n[UNK]\n[MASK]\n");
  folder.write("tokenizer_config.json", R"({"pad_token": "[CLS]"})");
  Result result =
      runWith({"embed", "-w", folder.path(), "--tokenizer", vocab, "--text", "", "--text", "a"});
  EXPECT_EQ(result.out, "{\"text\": \"\", \"embedding\": [107, 208]}\n"
                        "{\"text\": \"a\", \"embedding\": [113, 214]}\n");
  expectContains(result.err, {"2 sentences", "sentences/second"});
  result = runWith({"embed", "-w", folder.path(), "--tokenizer", vocab, "--text", "a", "--outputs",
                    folder.path("e.npy")});
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(valuesOf<float>(readNpy(folder.path("e.npy"))), (std::vector<float>{113, 214}));
  result = runWith({"embed", "-w", folder.path(), "--tokenizer", vocab, "--text", "", "--text", "a",
                    "--query", "a", "--top-k", "1"});
  EXPECT_EQ(result.out, "1.0000  a\n");
  expectError(runWith({"embed", "-w", folder.path(), "--tokenizer", vocab}), {"no texts"});
}

} // namespace
