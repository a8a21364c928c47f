//===- Trainer.cpp - the steps of a training program ----------------------===//
#include "runtime/train/Trainer.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Error.h"
#include "runtime/execute/PageWork.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/files/Adapter.h"
#include "runtime/train/StepParts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

namespace transformer::runtime {
namespace {

constexpr const char *kEvaluate = "evaluate", *kStep = "step", *kDropoutSeed = "dropout_seed";
constexpr const char *kCount = "count_labels", *kAccumulate = "accumulate_gradients",
                     *kApply = "apply_gradients";
constexpr const char *kLossScale = "loss_scale", *kGoodSteps = "good_steps",
                     *kSkippedSteps = "skipped_steps";
constexpr const char *kApplyUpdate = "apply_update", *kUpdateScale = "update_scale",
                     *kMaxGradNorm = "max_grad_norm";
constexpr std::string_view kGradient = ".grad"; // behind a parameter's name
constexpr const char *kWeights = "model.safetensors", *kTraining = "training.safetensors";

const EntryInfo &trainingEntry(const Module &module) {
  if (!Trainer::trains(module))
    fail("this program does not train; compile the model with --mode train");
  return module.entry(Trainer::kEntry);
}

/// An entry that not every training program has. `use`: what it is for, `options`: which have it.
const EntryInfo &optionalEntry(const Module &module, const char *name, const char *use,
                               const char *options) {
  const EntryInfo *entry = module.description().findEntry(name);
  if (!entry)
    fail("this program has no entry \"{}\" for {}; compile the model anew with {}", name, use,
         options);
  return *entry;
}

const EntryInfo &evaluationEntry(const Module &module) {
  return optionalEntry(module, kEvaluate, "the loss of other data", "--mode train");
}

template <typename T> Tensor scalar(DataType type, T value) {
  Tensor result(type, {});
  *result.data<T>() = value;
  return result;
}

using Numbers = std::map<std::string, double>;

/// What the steps of some optimizers take that is no data.
Numbers optimizerNumbersOf(const Hyperparameters &values) {
  return {{"beta1", values.beta1},
          {"beta2", values.beta2},
          {"epsilon", values.epsilon},
          {"momentum", values.momentum},
          {"beta2_decay", values.beta2Decay},
          {"eps1", values.eps1},
          {"eps2", values.eps2},
          {"clip_threshold", values.clipThreshold}};
}

/// What a step may take that is no data.
Numbers numbersOf(const Hyperparameters &values) {
  Numbers all = optimizerNumbersOf(values);
  all.merge(Numbers{
      {"learning_rate", values.learningRate},
      {"weight_decay", values.weightDecay},
      {"vector_weight_decay", values.vectorWeightDecay.value_or(values.weightDecay)},
      {kMaxGradNorm, values.maxGradNorm},
  });
  return all;
}

/// A number for each step that no other step of a run has, and few of other runs: SplitMix64
/// (Steele et al. 2014).
int64_t seedOfStep(uint64_t seed, int64_t step) {
  uint64_t z = seed + 0x9E3779B97F4A7C15 * static_cast<uint64_t>(step);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<int64_t>(z ^ (z >> 31));
}

/// Tokens of all sequences, an encoder's and a decoder's; without masks, of images, the labels.
int64_t tokensOf(const Call &call) {
  int64_t tokens = 0, labels = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const InputInfo &info = call.entry->inputs[i];
    const Tensor &given = call.inputs[i];
    if (info.name == "labels")
      labels = given.count();
    if (const auto *mask = given.data<int64_t>(); info.isMask())
      tokens += given.count() - std::count(mask, mask + given.count(), 0);
  }
  return tokens > 0 ? tokens : labels;
}

/// Of the outputs of a step's entry.
float number(const TensorMap &outputs, const char *name) { return *outputs.at(name).data<float>(); }

/// Zeros in the order of memory, by all threads.
void clear(Tensor &tensor) {
  constexpr int64_t piece = int64_t(1) << 22;
  int64_t bytes = tensor.bytes();
  parallelFor((bytes + piece - 1) / piece, [&](int64_t i) {
    std::memset(tensor.data<char>() + i * piece, 0,
                static_cast<size_t>(std::min(piece, bytes - i * piece)));
  });
}

/// Copies the small files beside the weights: config, tokenizer. Adapters have no config.
void copyCompanions(const std::string &from, const std::string &to, bool ofAdapters) {
  namespace fs = std::filesystem;
  static const std::set<std::string> endings = {".json", ".txt", ".model", ".spm"};
  std::error_code ignored;
  if (fs::equivalent(from, to, ignored))
    return;
  for (const fs::directory_entry &file : fs::directory_iterator(from, ignored)) {
    std::string name = file.path().filename();
    if (!file.is_regular_file(ignored) || !endings.count(file.path().extension()) ||
        name == "model.safetensors.index.json" || (ofAdapters && name == "config.json"))
      continue;
    MappedFile contents(file.path());
    AtomicFile copy(to + "/" + name);
    copy.write(contents.data(), contents.size());
    copy.commit();
  }
}

/// Whether adapters belong to weights `[in, out]`; where all are square, nobody can tell.
bool hasInOutWeights(const Description &description) {
  std::map<std::string, const std::vector<int64_t> *> shapes;
  for (const ParameterInfo &parameter : description.parameters)
    shapes[parameter.name] = &parameter.shape;
  for (const auto &[name, shape] : shapes) {
    size_t at = name.find(".lora_A.");
    if (at == std::string::npos)
      continue;
    auto weight = shapes.find(name.substr(0, at) + ".weight");
    if (weight != shapes.end() && weight->second->back() != shape->back())
      return true;
  }
  return false;
}

} // namespace

Trainer::Trainer(Program &program, std::string folder)
    : program(program), entry(trainingEntry(program.module())), definition(std::move(folder)),
      state(program.module().description()) {
  if (definition.empty())
    definition = program.weights().folder();
  const Description &description = program.module().description();
  std::map<std::string, size_t> parameters;
  for (size_t i = 0; i < description.parameters.size(); ++i)
    parameters[description.parameters[i].name] = i;
  PageWork zeros; // the first step would read them before it writes there: two faults a page
  for (size_t i = 0; i < description.states.size(); ++i)
    if (auto found = parameters.find(description.states[i].name); found != parameters.end())
      program.copyParameter(found->second, state.tensor(i));
    else if (!program.gpu())
      zeros.touch({state.tensor(i).data<char>(), static_cast<size_t>(state.bytes(i))});
  zeros.run();
}

void Trainer::resume(const std::string &folder) {
  std::string path = folder + "/" + kTraining;
  const Description &description = program.module().description();
  SafetensorsFile file(path);
  auto find = [&](const std::string &name, DataType dtype, const std::vector<int64_t> &shape) {
    const TensorView *view = file.find(name);
    if (!view)
      fail("{}: missing tensor \"{}\"", path, name);
    if (view->dtype != dtype || view->shape != shape)
      fail("{}: tensor \"{}\": expected {} {}, found {} {}", path, name, safetensorsName(dtype),
           shapeText(shape), safetensorsName(view->dtype), shapeText(view->shape));
    return view;
  };
  const TensorView *steps = find(kStep, DataType::I64, {});
  LossScale saved;
  if (isScaled()) {
    std::memcpy(&saved.scale, find(kLossScale, DataType::F32, {})->data, sizeof(saved.scale));
    std::memcpy(&saved.goodSteps, find(kGoodSteps, DataType::I64, {})->data, sizeof(int64_t));
    std::memcpy(&saved.skippedSteps, find(kSkippedSteps, DataType::I64, {})->data, sizeof(int64_t));
    if (!(saved.scale > 0) || !std::isfinite(saved.scale))
      fail("{}: tensor \"{}\": expected a positive number, found {}", path, kLossScale,
           saved.scale);
  }
  std::vector<const TensorView *> found;
  for (size_t i = 0; i < description.states.size(); ++i)
    found.push_back(isGradient(i) ? nullptr
                                  : find(description.states[i].name, state.tensor(i).dtype(),
                                         state.tensor(i).shape()));
  std::memcpy(&count, steps->data, sizeof(count));
  lossScale = saved;
  pending.reset();
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i])
      std::memcpy(state.tensor(i).data<char>(), found[i]->data, found[i]->bytes);
}

/// The sum of a step's parts, or what an update reads, which nobody needs behind the step.
bool Trainer::isGradient(size_t index) const {
  return std::string_view(program.module().description().states[index].name).ends_with(kGradient);
}

void Trainer::divide(int64_t parts, const Processes &others) {
  for (const char *name : {kCount, kAccumulate, kApply})
    optionalEntry(program.module(), name, "parts of a step", "--mode train --accumulate");
  partsOfProcess = parts;
  processes = &others;
  gradientSum = std::make_unique<GradientSum>(others, program.gpu());
}

void Trainer::addNumbers(const EntryInfo &to, TensorMap &inputs,
                         const Hyperparameters &hyperparameters, int64_t part) const {
  bool isPending = to.findInput(kUpdateScale) && pending;
  if (to.findInput(kUpdateScale))
    inputs[kUpdateScale] = scalar(DataType::F32, pending ? pending->scale : NAN);
  if (to.findInput(kStep))
    inputs[kStep] = scalar<int64_t>(DataType::I64,
                                    isPending ? pending->step : count + 1 - lossScale.skippedSteps);
  if (to.findInput(kLossScale))
    inputs[kLossScale] = scalar(DataType::F32, lossScale.scale);
  if (to.findInput(kDropoutSeed)) {
    int64_t seed = seedOfStep(hyperparameters.seed, count + 1);
    if (part > 0)
      seed = seedOfStep(static_cast<uint64_t>(seed), part);
    inputs[kDropoutSeed] = scalar(DataType::I64, seed);
  }
  Numbers numbers = numbersOf(isPending ? pending->hyperparameters : hyperparameters);
  numbers[kMaxGradNorm] = hyperparameters.maxGradNorm; // of this step's gradients
  for (const auto &[name, value] : numbers)
    if (to.findInput(name))
      inputs[name] = scalar(DataType::F64, value);
}

Call Trainer::prepare(TensorMap inputs, const Hyperparameters &hyperparameters) {
  addNumbers(entry, inputs, hyperparameters);
  return program.prepare(kEntry, std::move(inputs), &state);
}

StepResult Trainer::step(TensorMap inputs, const Hyperparameters &hyperparameters) {
  StepResult result{};
  if (processes) {
    stepInParts(std::move(inputs), hyperparameters, result);
  } else {
    Call call = prepare(std::move(inputs), hyperparameters);
    result.tokens = tokensOf(call);
    TensorMap outputs = program.run(std::move(call));
    result.loss = number(outputs, "loss");
    result.gradNorm = number(outputs, "grad_norm");
    if (entry.findInput(kUpdateScale)) {
      // NaN is no update; of a norm that is not finite the weights are to tell.
      float scale = number(outputs, kUpdateScale);
      pending = {count + 1, std::isnan(scale) ? INFINITY : scale, hyperparameters};
    }
  }
  ++count;
  if (isScaled()) {
    result.lossScale = lossScale.scale;
    lossScale.update(std::isfinite(result.gradNorm));
  }
  return result;
}

bool Trainer::isScaled() const { return entry.findInput(kLossScale); }

void Trainer::stepInParts(TensorMap inputs, const Hyperparameters &hyperparameters,
                          StepResult &result) {
  const Module &module = program.module();
  StepParts parts(entry, std::move(inputs), partsOfProcess * processes->size());
  int64_t first = partsOfProcess * processes->rank();
  auto forEachOwn = [&](auto visit) {
    for (int64_t part = first; part < first + partsOfProcess; ++part)
      if (!parts.isEmpty(part))
        visit(part);
  };
  std::map<std::string, float> counts; // of labels
  for (const OutputInfo &output : module.entry(kCount).outputs)
    counts[output.name] = 0;
  forEachOwn([&](int64_t part) {
    TensorMap own = parts.inputs(part);
    addNumbers(module.entry(kCount), own, hyperparameters, part);
    for (const auto &[name, value] : program.run(kCount, std::move(own), &state))
      counts[name] += *value.data<float>();
  });
  for (auto &[name, value] : counts) {
    processes->sum(&value, 1);
    value = std::max(value, 1.0f);
  }
  std::vector<size_t> gradients;
  for (size_t i = 0; i < module.description().states.size(); ++i)
    if (isGradient(i))
      gradients.push_back(i);
  for (size_t gradient : gradients)
    if (!state.zeroOnDevice(gradient))
      clear(state.tensor(gradient));
  float tokens = 0;
  forEachOwn([&](int64_t part) {
    TensorMap own = parts.inputs(part);
    for (const auto &[name, value] : counts)
      own[name] = scalar(DataType::F32, value);
    addNumbers(module.entry(kAccumulate), own, hyperparameters, part);
    Call call = program.prepare(kAccumulate, std::move(own), &state);
    tokens += float(tokensOf(call));
    result.loss += number(program.run(std::move(call)), "loss");
  });
  processes->sum(&result.loss, 1);
  processes->sum(&tokens, 1);
  result.tokens = int64_t(tokens);
  gradientSum->add(state, gradients);
  TensorMap numbers;
  addNumbers(module.entry(kApply), numbers, hyperparameters);
  result.gradNorm = number(program.run(kApply, std::move(numbers), &state), "grad_norm");
}

void Trainer::finish() {
  if (!pending)
    return;
  TensorMap numbers;
  addNumbers(program.module().entry(kApplyUpdate), numbers, pending->hyperparameters);
  program.run(kApplyUpdate, std::move(numbers), &state);
  pending.reset();
}

float Trainer::evaluate(TensorMap inputs) {
  evaluationEntry(program.module());
  finish();
  return *program.run(kEvaluate, std::move(inputs), &state).at("loss").data<float>();
}

std::vector<const InputInfo *> Trainer::inputs() const {
  Numbers others = numbersOf({});
  std::vector<const InputInfo *> result;
  for (const InputInfo &input : entry.inputs)
    if (input.name != kStep && input.name != kDropoutSeed && input.name != kLossScale &&
        input.name != kUpdateScale && !others.count(input.name))
      result.push_back(&input);
  return result;
}

std::vector<std::string> Trainer::optimizerNumbers() const {
  std::vector<std::string> result;
  for (const auto &[name, value] : optimizerNumbersOf({}))
    if (entry.findInput(name))
      result.push_back(name);
  return result;
}

std::vector<const InputInfo *> Trainer::evaluationInputs() const {
  std::vector<const InputInfo *> result;
  for (const InputInfo &input : evaluationEntry(program.module()).inputs)
    result.push_back(&input);
  return result;
}

bool Trainer::trains(const Module &module) {
  return module.description().findEntry(kEntry) != nullptr;
}

void Trainer::writeWeights(AtomicFile &file) const {
  const Description &description = program.module().description();
  std::map<std::string, const Tensor *> trained; // by every name that a file may have for them
  for (const ParameterInfo &parameter : description.parameters) {
    auto tensor = state.tensors().find(parameter.name);
    if (tensor == state.tensors().end())
      continue;
    trained[parameter.name] = &tensor->second;
    for (const std::string &alias : parameter.aliases)
      trained[alias] = &tensor->second;
  }
  std::vector<NamedTensor> all;
  for (const auto &given : program.weights().files())
    for (const auto &[name, view] : given->tensors()) {
      auto tensor = trained.find(name);
      if (tensor == trained.end())
        all.emplace_back(name, view);
      else
        all.emplace_back(name, *tensor->second);
    }
  std::vector<std::string> initialized = program.initialized();
  std::vector<Tensor> others; // of them, what is not trained
  others.reserve(initialized.size());
  for (size_t i = 0; i < description.parameters.size(); ++i) {
    const ParameterInfo &parameter = description.parameters[i];
    if (std::find(initialized.begin(), initialized.end(), parameter.name) == initialized.end())
      continue;
    if (auto tensor = trained.find(parameter.name); tensor != trained.end()) {
      all.emplace_back(parameter.name, *tensor->second);
      continue;
    }
    program.copyParameter(i, others.emplace_back(parameter.dtype, parameter.shape));
    all.emplace_back(parameter.name, others.back());
  }
  writeSafetensors(file, std::move(all));
}

void Trainer::writeAdapters(AtomicFile &file) const {
  std::vector<NamedTensor> all;
  for (const ParameterInfo &parameter : program.module().description().parameters)
    if (isOfAdapter(parameter.name) && !parameter.aliases.empty())
      all.emplace_back(parameter.aliases.front(), state.tensors().at(parameter.name));
  writeSafetensors(file, std::move(all));
}

void Trainer::makeFolder(const std::string &folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    fail("{}: cannot make the folder: {}", folder, problem.message());
  AtomicFile probe(folder + "/" + kTraining); // of which nothing remains
}

void Trainer::save(const std::string &folder) {
  makeFolder(folder);
  finish();
  Tensor steps = scalar<int64_t>(DataType::I64, count);
  const Description &description = program.module().description();
  Tensor scale = scalar(DataType::F32, lossScale.scale),
         good = scalar(DataType::I64, lossScale.goodSteps),
         skipped = scalar(DataType::I64, lossScale.skippedSteps);
  std::vector<NamedTensor> all = {{kStep, steps}};
  if (isScaled())
    for (auto [name, tensor] : {std::pair(kLossScale, &scale), std::pair(kGoodSteps, &good),
                                std::pair(kSkippedSteps, &skipped)})
      all.emplace_back(name, *tensor);
  for (size_t i = 0; i < description.states.size(); ++i)
    if (!isGradient(i))
      all.emplace_back(description.states[i].name, state.tensors().at(description.states[i].name));
  // Where the disk is full, both stay as they were.
  const std::optional<LoraInfo> &lora = description.lora;
  AtomicFile training(folder + "/" + kTraining),
      weights(folder + "/" + (lora ? adapterWeights : kWeights));
  writeSafetensors(training, std::move(all));
  if (lora)
    writeAdapters(weights);
  else
    writeWeights(weights);
  training.commit(/*isDurable=*/true);
  weights.commit(/*isDurable=*/true);
  copyCompanions(definition, folder, lora.has_value());
  if (lora) {
    AtomicFile config(folder + "/" + adapterConfig);
    config.write(adapterConfigText(*lora, std::filesystem::absolute(program.weights().folder()),
                                   hasInOutWeights(program.module().description())));
    config.commit();
  }
}

} // namespace transformer::runtime
