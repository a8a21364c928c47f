//===- Adapter.cpp - folders of low-rank adapters -------------------------===//
#include "runtime/files/Adapter.h"

#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/base/Path.h"
#include "runtime/files/Safetensors.h"

namespace transformer::runtime {

static constexpr const char *baseField = "base_model_name_or_path";

bool isAdapter(const std::string &path) {
  return isFile(path + "/" + adapterWeights) && isFile(path + "/" + adapterConfig) &&
         !isFile(path + "/config.json");
}

std::string adaptedFolder(const std::string &path) {
  std::string file = path + "/" + adapterConfig;
  Json config = parseJson(file, MappedFile(file).text());
  if (!config.is_object() || !config.contains(baseField) || !config[baseField].is_string())
    fail("{}: '{}': expected the folder of the model that is adapted, found {}", file, baseField,
         config.is_object() && config.contains(baseField) ? describe(config[baseField])
                                                          : "nothing");
  auto base = config[baseField].get<std::string>();
  if (!isDirectory(base))
    fail("{}: '{}': there is no folder {}", file, baseField, printable(base));
  return base;
}

bool isOfAdapter(const std::string &parameter) {
  return parameter.find(".lora_A.") != std::string::npos ||
         parameter.find(".lora_B.") != std::string::npos;
}

std::string adapterConfigText(const LoraInfo &lora, const std::string &base, bool isInOut) {
  nlohmann::ordered_json config = {{"peft_type", "LORA"},
                                   {baseField, base},
                                   {"r", lora.rank},
                                   {"lora_alpha", lora.alpha},
                                   {"lora_dropout", lora.dropout},
                                   {"target_modules", lora.targets},
                                   {"bias", "none"},
                                   {"fan_in_fan_out", isInOut},
                                   {"inference_mode", true}};
  return config.dump(2) + "\n";
}

} // namespace transformer::runtime
