//===- Info.cpp - the subcommand info -------------------------------------===//
#include "runtime/base/Error.h"
#include "runtime/cli/Session.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Nccl.h"
#include "runtime/execute/CpuFeatures.h"

namespace transformer::runtime {
namespace {

std::string dimensions(const std::vector<Dimension> &shape) {
  std::vector<std::string> parts;
  for (const Dimension &dimension : shape)
    parts.push_back(dimension.name.empty() ? std::to_string(dimension.size) : dimension.name);
  return formatted("[{}]", fmt::join(parts, ", "));
}

std::string lowerName(DataType type) {
  std::string name(safetensorsName(type));
  for (char &c : name)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

std::string inputLine(const InputInfo &input) {
  std::string line =
      formatted("    in   {}: {} {}", input.name, lowerName(input.dtype), dimensions(input.shape));
  if (input.range)
    line += formatted(", {} to {}", input.range->low, input.range->high - 1);
  if (!input.below.empty())
    line += formatted(", below {}", input.below);
  if (input.maxLength)
    line += formatted(", at most {} long", *input.maxLength);
  if (input.defaultValue)
    line += ", optional";
  return line + "\n";
}

int64_t bytesOf(const std::vector<int64_t> &shape, DataType type) {
  return byteSize(shape, byteWidth(type));
}

/// Reads the file of packed weights and says what a run would make of it. Throws Error when it is
/// damaged.
std::string packedLine(const Session &session) {
  std::optional<Checkpoint> weights = session.findWeights();
  std::string problem = PackedWeights::check(session.packedWeights, session.module->description(),
                                             weights ? &*weights : nullptr);
  if (!problem.empty())
    return formatted("packed     not usable: {}\n", problem);
  return formatted("packed     whole, made by this program{}\n",
                   weights ? " from these weights" : "");
}

/// The kernels, and whether this machine's GPU runs them.
std::string deviceLines(const Module &module) {
  const tr_device_code &code = *module.deviceAbi().device;
  std::string text =
      formatted("kernels    {}, PTX {:.1f} MiB, machine code {:.1f} MiB\n", code.num_kernels,
                double(code.ptx_size) / 0x1p20, double(code.cubin_size) / 0x1p20);
  try {
    Gpu gpu = findGpu(CudaDriver::get());
    std::string problem = whyNotOn(gpu, module.description().arch);
    text += formatted("this GPU   {} (sm_{}) {}\n", gpu.name, gpu.capability,
                      problem.empty() ? "runs it" : "does not run it");
  } catch (const Error &problem) {
    text += formatted("this GPU   {}\n", problem.what());
  }
  return text;
}

/// What processes that train together would use.
std::string togetherLine() {
  try {
    return formatted("NCCL       {}, for processes with a GPU each\n", Nccl::get().version());
  } catch (const Error &problem) {
    return formatted("NCCL       {}: processes add up gradients on the host\n", problem.what());
  }
}

void info(const Session &session, bool json) {
  const Description &description = session.module->description();
  std::string packed = session.packedWeights.empty() ? "" : packedLine(session);
  if (json) {
    writeOut(description.text + "\n");
    return;
  }
  std::string text =
      formatted("model      {} ({})\nproducer   {}\ntarget     {} {}\nfeatures   {}\n",
                description.modelType, description.mode, description.producer, description.arch,
                description.cpu, fmt::join(description.features, " "));
  std::vector<std::string> missing = missingCpuFeatures(description.features);
  text += missing.empty() ? "this CPU   runs it\n"
                          : formatted("this CPU   lacks {}\n", fmt::join(missing, " "));
  if (session.module->hasDevice())
    text += deviceLines(*session.module);
  if (session.module->hasDevice() && description.findEntry("accumulate_gradients"))
    text += togetherLine();
  int64_t elements = 0, bytes = 0, preparedBytes = 0;
  for (const ParameterInfo &parameter : description.parameters) {
    elements += byteSize(parameter.shape, 1);
    bytes += bytesOf(parameter.shape, parameter.dtype);
  }
  for (const PreparedInfo &item : description.prepared)
    preparedBytes += bytesOf(item.shape, item.dtype);
  text += formatted("parameters {} tensors, {} elements, {:.1f} MiB\n",
                    description.parameters.size(), elements, double(bytes) / 0x1p20);
  text += formatted("prepared   {} tensors, {:.1f} MiB\n", description.prepared.size(),
                    double(preparedBytes) / 0x1p20);
  if (description.mode == "train")
    text += formatted("state      {} tensors: weights and what the optimizer keeps of each\n",
                      description.states.size());
  else
    for (const StateInfo &state : description.states)
      text += formatted("state      {}: {} {}\n", state.name, lowerName(state.dtype),
                        dimensions(state.shape));
  for (const EntryInfo &entry : description.entries) {
    text += formatted("entry      {} (function {})\n", entry.name, entry.function);
    if (!entry.objective.empty())
      text += formatted("    learns {}\n", entry.objective);
    for (const InputInfo &input : entry.inputs)
      text += inputLine(input);
    if (description.mode != "train")
      for (size_t state : entry.states)
        text += formatted("    keeps {}\n", description.states[state].name);
    for (const OutputInfo &output : entry.outputs)
      text += formatted("    out  {}: {} {}\n", output.name, lowerName(output.dtype),
                        dimensions(output.shape));
  }
  if (auto embedded = findEmbeddedWeights(session.image))
    text += formatted("weights    embedded, {:.1f} MiB\n", double(embedded->size) / 0x1p20);
  text += formatted("tokenizer  {}\n", description.tokenizer.empty() ? "not embedded" : "embedded");
  writeOut(text + packed);
}

} // namespace

void addInfo(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand("info", "What the program contains");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print the module's description as it is");
  command->add_option("--packed-weights", session.packedWeights,
                      "Read this file of packed weights and say whether it is whole (else the exit "
                      "code is 1), and whether a run would use it");
  command->add_option(
      "--weights,-w", session.weights,
      "The weights that it should belong to (default: the embedded weights, if any)");
  command->callback(
      [&session, json] { session.command = [&session, json] { info(session, *json); }; });
}

} // namespace transformer::runtime
