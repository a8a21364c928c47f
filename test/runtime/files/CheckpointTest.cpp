#include "runtime/files/Checkpoint.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

float valueIn(const Checkpoint &checkpoint, const std::string &name) {
  auto found = checkpoint.find(name);
  EXPECT_TRUE(found.has_value());
  return found ? *reinterpret_cast<const float *>(found->view->data) : 0;
}

TEST(Checkpoint, FolderWithOneFile) {
  TemporaryFolder folder;
  writeSafetensors(folder.path("model.safetensors"), one("w", 3));
  Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(valueIn(checkpoint, "w"), 3);
  EXPECT_EQ(checkpoint.folder(), folder.path());
  EXPECT_FALSE(checkpoint.find("v"));
}

TEST(Checkpoint, Shards) {
  TemporaryFolder folder;
  writeSafetensors(folder.path("a.safetensors"), one("x", 1));
  writeSafetensors(folder.path("b.safetensors"), one("y", 2));
  folder.write("model.safetensors.index.json",
               R"({"weight_map":{"x":"a.safetensors","y":"b.safetensors"}})");
  for (const std::string &path : {folder.path(), folder.path("model.safetensors.index.json")}) {
    Checkpoint checkpoint = Checkpoint::open(path);
    EXPECT_EQ(checkpoint.files().size(), 2u);
    EXPECT_EQ(valueIn(checkpoint, "x"), 1);
    EXPECT_EQ(valueIn(checkpoint, "y"), 2);
  }
}

TEST(Checkpoint, BadIndex) {
  TemporaryFolder folder;
  auto message = [&](const std::string &text) {
    std::string path = folder.write("model.safetensors.index.json", text);
    return errorOf([&] { Checkpoint::open(path); });
  };
  expectContains(message("{"), {"index.json", "not JSON"});
  expectContains(message("{}"), {"index.json", "weight_map"});
  expectContains(message(R"({"weight_map":{"x":"../a"}})"), {"\"x\"", "../a"});
  expectContains(message(R"({"weight_map":{"x":1}})"), {"\"x\""});
  expectContains(message(R"({"weight_map":{"x":"none.safetensors"}})"), {"none.safetensors"});
}

TEST(Checkpoint, EmptyFolder) {
  TemporaryFolder folder;
  expectContains(errorOf([&] { Checkpoint::open(folder.path()); }), {"no model.safetensors"});
}

std::string trailer(uint64_t offset, uint64_t size) {
  return "TRWEIGHT" + std::string(reinterpret_cast<char *>(&offset), 8) +
         std::string(reinterpret_cast<char *>(&size), 8);
}

TEST(Checkpoint, Embedded) {
  TemporaryFolder folder;
  std::string weights = safetensorsBytes(
      R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", std::string("\0\0\x80\x3F", 4));
  std::string program(4096, 'p');
  std::string path =
      folder.write("program", program + weights + trailer(program.size(), weights.size()));
  auto where = findEmbeddedWeights(path);
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(where->offset, 4096u);
  Checkpoint checkpoint = Checkpoint::openEmbedded(path, *where);
  auto found = checkpoint.find("w");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(std::string(found->view->data, 4), std::string("\0\0\x80\x3F", 4));
  EXPECT_FALSE(findEmbeddedWeights(folder.write("other", program)));
  EXPECT_FALSE(findEmbeddedWeights(folder.write("short", "x")));
  std::string bad = folder.write("bad", program + trailer(4000, 1000));
  expectContains(errorOf([&] { findEmbeddedWeights(bad); }), {"bad", "outside"});
  bad = folder.write("bad", program + trailer(~uint64_t(0), 2));
  expectContains(errorOf([&] { findEmbeddedWeights(bad); }), {"outside"});
}

} // namespace
