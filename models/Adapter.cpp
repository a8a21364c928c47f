//===- Adapter.cpp - folders of low-rank adapters -------------------------===//
#include "models/Adapter.h"
#include "mlir/IR/Builders.h"
#include "models/Config.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::transformer;

static constexpr StringLiteral kBase = "base_model_name_or_path";

static std::string fileOf(StringRef folder, StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

static std::string configOf(StringRef folder) { return fileOf(folder, "adapter_config.json"); }

bool transformer::isAdapter(StringRef path) {
  return llvm::sys::fs::exists(configOf(path)) &&
         !llvm::sys::fs::exists(fileOf(path, "config.json"));
}

std::optional<AdapterConfig> transformer::loadAdapter(StringRef path, MLIRContext &context,
                                                      std::string &error) {
  std::optional<Config> config = Config::load(configOf(path), error);
  if (!config)
    return std::nullopt;
  config->refuseOther("peft_type", "LORA");
  config->refuseOther("bias", "none");
  for (StringRef flag : {"use_rslora", "use_dora", "use_qalora", "lora_bias"})
    config->refuseFlag(flag);
  config->refuseContents({"modules_to_save", "layers_to_transform", "rank_pattern", "alpha_pattern",
                          "layer_replication", "exclude_modules", "target_parameters"});
  std::string base = config->text({kBase}, "");
  if (!llvm::sys::fs::is_directory(base))
    config->failText(kBase, "the folder of the model that is adapted", base);
  int64_t rank = config->size({"r"}, std::nullopt);
  double alpha = config->number({"lora_alpha"}, 8), dropout = config->rate({"lora_dropout"}, 0);
  if (alpha == 0)
    config->fail("lora_alpha", "a number above 0", "0");
  std::vector<std::string> targets =
      config->texts("target_modules").value_or(std::vector<std::string>());
  if (targets.empty())
    config->fail("target_modules", "a list of modules' names", "none");
  if (!config->ok()) {
    error = config->error();
    return std::nullopt;
  }
  auto names = llvm::map_to_vector(
      targets, [&](const std::string &name) { return StringAttr::get(&context, name); });
  return AdapterConfig{base, LoraAttr::get(&context, rank, alpha, dropout, names)};
}

std::string transformer::baseOf(StringRef path) {
  std::string ignored;
  std::optional<Config> config = Config::load(configOf(path), ignored);
  return config ? config->text({kBase}, "") : "";
}
