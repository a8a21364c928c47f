#include "runtime/files/Adapter.h"
#include "runtime/files/Checkpoint.h"
#include "test/runtime/TestSupport.h"

#include <nlohmann/json.hpp>

using namespace transformer::runtime;

namespace {

/// A folder of adapters whose config is `text`.
void writeAdapter(const TemporaryFolder &folder, const std::string &text) {
  writeSafetensors(folder.path("adapter_model.safetensors"), one("base_model.model.a", 2));
  folder.write("adapter_config.json", text);
}

std::string configOf(const std::string &base) {
  return adapterConfigText({8, 16, 0.5, {"q", "v"}}, base, true);
}

TEST(Adapter, OpensTheModelToo) {
  TemporaryFolder base, folder;
  writeSafetensors(base.path("model.safetensors"), one("w", 3));
  EXPECT_FALSE(isAdapter(base.path()));
  writeAdapter(folder, configOf(base.path()));
  EXPECT_TRUE(isAdapter(folder.path()));
  Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_TRUE(checkpoint.find("w"));
  EXPECT_TRUE(checkpoint.find("base_model.model.a"));
  EXPECT_EQ(checkpoint.folder(), base.path());
  folder.write("config.json", "{}"); // a model of its own
  EXPECT_FALSE(isAdapter(folder.path()));
}

TEST(Adapter, SaysWhatIsWrong) {
  TemporaryFolder folder, other;
  auto errorWith = [&](const std::string &text) {
    writeAdapter(folder, text);
    return errorOf([&] { Checkpoint::open(folder.path()); });
  };
  expectContains(errorWith("{}"), {"adapter_config.json", "base_model_name_or_path", "nothing"});
  expectContains(errorWith(R"({"base_model_name_or_path": 3})"), {"base_model_name_or_path", "3"});
  expectContains(errorWith(configOf(folder.path("absent"))), {"there is no folder", "absent"});
  expectContains(errorWith("{"), {"adapter_config.json"});
  writeAdapter(other, configOf(folder.path()));
  expectContains(errorWith(configOf(other.path())), {"an adapter itself"});
}

TEST(Adapter, ConfigIsPefts) {
  auto config = nlohmann::json::parse(configOf("base"));
  EXPECT_EQ(config["peft_type"], "LORA");
  EXPECT_EQ(config["base_model_name_or_path"], "base");
  EXPECT_EQ(config["r"], 8);
  EXPECT_EQ(config["lora_alpha"], 16);
  EXPECT_EQ(config["lora_dropout"], 0.5);
  EXPECT_EQ(config["target_modules"], (std::vector<std::string>{"q", "v"}));
  EXPECT_EQ(config["fan_in_fan_out"], true);
}

TEST(Adapter, NamesOfMatrices) {
  EXPECT_TRUE(isOfAdapter("h.0.attn.c_attn.lora_A.weight"));
  EXPECT_TRUE(isOfAdapter("h.0.attn.c_attn.lora_B.weight"));
  EXPECT_FALSE(isOfAdapter("h.0.attn.c_attn.weight"));
}

} // namespace
