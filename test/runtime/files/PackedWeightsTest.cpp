#include "runtime/files/PackedWeights.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

#include <chrono>

using namespace transformer::runtime;
namespace fs = std::filesystem;

namespace {

const std::vector<float> expected{101, 202, 113, 214, 125, 226};
const std::vector<float> changed{102, 202, 113, 214, 125, 226}; // with 2 as table's first element
constexpr size_t dataBytes = 128;                               // two tensors, 64-byte aligned
constexpr size_t firstLineBytes = 34;
constexpr size_t hashBytes = 22; // the last line
constexpr auto none = "there was none";

class PackedWeightsFile : public testing::Test {
protected:
  PackedWeightsFile() { writeSafetensors(weights, fakeWeights()); }

  struct Result {
    std::string notice;
    std::vector<float> output;
  };

  Result run(const tr_module &abi = fakeModule()) {
    Module module(abi, "fake");
    Program program(module, Checkpoint::open(checkpoint), packed);
    TensorMap inputs;
    inputs["input_ids"] = ints({1, 3}, {0, 1, 2});
    auto outputs = program.run("forward", std::move(inputs));
    return {program.notice(), valuesOf<float>(outputs["last_hidden_state"])};
  }

  /// The file is made again, for this reason, and used from then on.
  void expectRemade(const std::string &reason, const std::vector<float> &output = expected,
                    const tr_module &abi = fakeModule()) {
    Result result = run(abi);
    EXPECT_EQ(result.notice, "note: " + packed + ": packed weights written (" + reason + ")");
    EXPECT_EQ(result.output, output);
    result = run(abi);
    EXPECT_EQ(result.notice, "");
    EXPECT_EQ(result.output, output);
  }

  /// The file is refused and stays as it is.
  void expectRefused(const std::vector<std::string> &parts) {
    std::string before = bytesOf(packed);
    expectContains(errorOf([&] { run(); }), parts);
    EXPECT_TRUE(bytesOf(packed) == before);
  }

  /// What `info` says of the file.
  std::string check(const tr_module &abi = fakeModule()) {
    Checkpoint opened = Checkpoint::open(checkpoint);
    return PackedWeights::check(packed, Module(abi, "fake").description(), &opened);
  }

  /// Weights of other values, as long as the old ones and changed a second later.
  void changeWeights() {
    auto time = fs::last_write_time(weights);
    TensorMap tensors = fakeWeights();
    tensors["table"].data<float>()[0] = 2;
    writeSafetensors(weights, tensors);
    fs::last_write_time(weights, time + std::chrono::seconds(1));
  }

  TemporaryFolder folder;
  std::string weights = folder.path("model.safetensors"), checkpoint = folder.path();
  std::string packed = folder.path("model.packed");
};

TEST_F(PackedWeightsFile, IsMadeThenUsed) {
  expectRemade(none);
  EXPECT_EQ(folder.count(), 2u); // no temporary file
  std::string bytes = bytesOf(packed);
  ASSERT_EQ(bytes.size(), hugePage + dataBytes + hashBytes);
  // Its tensors are what the program computes with: shifted[0, 0] belongs to id 0.
  float value = 1;
  bytes.replace(hugePage, 4, reinterpret_cast<char *>(&value), 4);
  folder.write("model.packed", bytes);
  EXPECT_EQ(run().output, (std::vector<float>{1, 202, 113, 214, 125, 226}));
}

TEST_F(PackedWeightsFile, MayMoveWithItsWeights) {
  expectRemade(none);
  fs::create_directory(folder.path("there"));
  fs::rename(weights, folder.path("there/model.safetensors"));
  fs::rename(packed, folder.path("there/x"));
  checkpoint = folder.path("there");
  packed = folder.path("there/x");
  EXPECT_EQ(run().notice, "");
}

TEST_F(PackedWeightsFile, ChangedWeights) {
  expectRemade(none);
  changeWeights();
  expectRemade("it was made from other weights, or they have changed", changed);
}

TEST_F(PackedWeightsFile, ChangedHeaderOfWeights) {
  expectRemade(none);
  auto time = fs::last_write_time(weights);
  std::string bytes = bytesOf(weights);
  bytes.replace(bytes.find("\"F32\""), 5, "\"I32\""); // the first tensor in the file is the bias
  folder.write("model.safetensors", bytes);
  fs::last_write_time(weights, time);
  expectContains(errorOf([&] { run(); }), {"\"bias\"", "found I32"});
  size_t end = 8 + size_t(bytes[8 - 8]) + 256 * size_t(static_cast<unsigned char>(bytes[1]));
  bytes = bytesOf(weights);
  bytes.replace(bytes.find("\"I32\""), 5, "\"F32\"");
  ASSERT_EQ(bytes[end - 1], ' '); // padding: the same tensors, another text
  bytes[end - 1] = '\n';
  folder.write("model.safetensors", bytes);
  fs::last_write_time(weights, time);
  expectRemade("it was made from other weights, or they have changed");
}

TEST_F(PackedWeightsFile, Shards) {
  TensorMap first, second;
  first["table"] = std::move(fakeWeights()["table"]);
  second["bias"] = std::move(fakeWeights()["bias"]);
  writeSafetensors(folder.path("a.safetensors"), first);
  writeSafetensors(folder.path("b.safetensors"), second);
  checkpoint = folder.write("model.safetensors.index.json", R"({"weight_map":
    {"table": "a.safetensors", "bias": "b.safetensors"}})");
  expectRemade(none);
  fs::last_write_time(folder.path("b.safetensors"),
                      fs::last_write_time(folder.path("b.safetensors")) + std::chrono::seconds(1));
  expectRemade("it was made from other weights, or they have changed");
  checkpoint = weights;
  expectRemade("it was made from other weights, or they have changed");
}

TEST_F(PackedWeightsFile, AnotherProgram) {
  expectRemade(none);
  std::string text = fakeDescription;
  text.replace(text.find("c0de"), 4, "c0da");
  tr_module other = fakeModule(text);
  expectRemade("it was made by another program", expected, other);
  expectRemade("it was made by another program");
}

TEST_F(PackedWeightsFile, AnotherProgramThatPreparesTheSame) {
  expectRemade(none);
  std::string text = fakeDescription;
  text.replace(text.find("by hand"), 7, "by foot");
  EXPECT_EQ(check(fakeModule(text)), "");
}

TEST_F(PackedWeightsFile, OfAnotherLength) {
  expectRemade(none);
  std::string bytes = bytesOf(packed);
  for (size_t length :
       {size_t(0), size_t(5), size_t(40), size_t(150), hugePage, bytes.size() - 1}) {
    folder.write("model.packed", bytes.substr(0, length));
    expectRemade("it had " + std::to_string(length) + " bytes, expected " +
                 std::to_string(bytes.size()));
  }
  folder.write("model.packed", bytes + "x");
  expectRemade("it had 2097303 bytes, expected 2097302");
}

TEST_F(PackedWeightsFile, EveryDamagedByteOfTheText) {
  expectRemade(none);
  std::string good = bytesOf(packed);
  size_t end = good.find('\0'), magic = std::string("transformer-mlir packed weights ").size();
  ASSERT_GT(end, 150u);
  for (size_t i = 0; i <= end; ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    folder.write("model.packed", bad);
    if (i < magic) {
      expectRefused({"not a file of packed weights", "not overwritten"});
      continue;
    }
    EXPECT_NE(run().notice, "") << "byte " << i;
    EXPECT_TRUE(bytesOf(packed) == good) << "byte " << i;
  }
  good[magic] = '1';
  folder.write("model.packed", good);
  expectRemade("it has another version");
}

// A run uses such a file; who asks is told.
TEST_F(PackedWeightsFile, EveryFlippedBitIsFoundOnRequest) {
  expectRemade(none);
  EXPECT_EQ(check(), "");
  const std::string good = bytesOf(packed);
  auto expectDamaged = [&](size_t byte, int bit) {
    std::string bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ (1 << bit));
    folder.write("model.packed", bad);
    EXPECT_EQ(errorOf([&] { check(); }),
              packed + ": damaged: its contents do not have the hash in its last line")
        << byte;
  };
  for (size_t byte = hugePage; byte < good.size(); ++byte)
    expectDamaged(byte, static_cast<int>(byte % 8));
  for (size_t byte = firstLineBytes; byte < hugePage; byte = byte * 3 / 2)
    expectDamaged(byte, 0);
  for (size_t size : {hugePage + dataBytes, hugePage, size_t(100), firstLineBytes}) {
    folder.write("model.packed", good.substr(0, size));
    expectContains(errorOf([&] { check(); }), {"damaged"});
  }
}

TEST_F(PackedWeightsFile, CheckTellsWhatARunWouldDo) {
  expectRemade(none);
  std::string good = bytesOf(packed), text = fakeDescription;
  text.replace(text.find("c0de"), 4, "c0da");
  EXPECT_EQ(check(fakeModule(text)), "it was made by another program");
  EXPECT_EQ(PackedWeights::check(packed, Module(fakeModule(), "fake").description(), nullptr), "");
  changeWeights();
  EXPECT_EQ(check(), "it was made from other weights, or they have changed");
  good[firstLineBytes - 2] = '1';
  folder.write("model.packed", good);
  EXPECT_EQ(check(), "it has another version");
  folder.write("model.packed", "my notes");
  expectContains(errorOf([&] { check(); }), {packed, "not a file of packed weights"});
  fs::remove(packed);
  expectContains(errorOf([&] { check(); }), {packed, "cannot open"});
}

TEST_F(PackedWeightsFile, NothingElseIsOverwritten) {
  folder.write("model.packed", "my notes");
  expectRefused({packed, "not a file of packed weights", "not overwritten"});
  packed = weights;
  expectRefused({weights, "not overwritten"});
  packed = folder.path();
  expectContains(errorOf([&] { run(); }), {folder.path(), "not a regular file"});
  packed = folder.path("nowhere/model.packed");
  expectContains(errorOf([&] { run(); }), {"nowhere/model.packed", "no such folder"});
  fs::create_symlink("nowhere", folder.path("link"));
  packed = folder.path("link");
  expectContains(errorOf([&] { run(); }), {"link", "not a regular file"});
}

TEST_F(PackedWeightsFile, AFolderThatCannotBeWrittenIsAWarning) {
  packed = "/proc/model.packed"; // not even by root
  Result result = run();
  expectContains(result.notice, {"warning: /proc/model.packed: cannot write", "every start"});
  EXPECT_EQ(result.output, expected);
}

} // namespace
