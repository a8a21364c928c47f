//===- TrainData.cpp - --data on the command line -------------------------===//
#include "runtime/cli/TrainData.h"

#include "runtime/base/Error.h"
#include "runtime/base/Path.h"
#include "runtime/cli/ModelFiles.h"
#include "runtime/train/StepFile.h"

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace transformer::runtime {
namespace {

/// Where a model's small files are looked for.
std::vector<std::string> modelFolders(const Session &session, const Trainer &trainer) {
  std::vector<std::string> folders;
  if (!trainer.folder().empty())
    folders.push_back(trainer.folder());
  if (const std::string &path = session.tokenizer; !path.empty())
    folders.push_back(isDirectory(path) ? path : parentFolder(path));
  return folders;
}

/// Without weights also that of the model's definition.
Tokenizer findTokenizer(const Session &session, const Trainer &trainer) {
  bool isKnown = !session.tokenizer.empty() || !session.weights.empty() ||
                 !session.module->description().tokenizer.empty();
  return isKnown || !Tokenizer::isIn(trainer.folder()) ? session.openTokenizer()
                                                       : Tokenizer::open(trainer.folder());
}

TextModel openTextModel(const Session &session, const Trainer &trainer) {
  std::vector<std::string> folders = modelFolders(session, trainer);
  TextModel model{
      findTokenizer(session, trainer), {}, {}, session.findGenerationConfig(folders), {}};
  for (const std::string &folder : folders) {
    if (model.classes.empty())
      model.classes = readClasses(folder);
    if (!model.maxLength)
      model.maxLength = readMaxLength(folder);
    if (std::string path = folder + "/target.spm"; isFile(path)) // Marian's
      model.targetTokenizer = Tokenizer::open(path);
  }
  return model;
}

/// On a terminal a line for work that takes longer than a moment.
LoadProgress showProgress(const std::string &path) {
  using Clock = std::chrono::steady_clock;
  return [path, shown = Clock::now()](double share) mutable {
    if (!isatty(STDERR_FILENO) || Clock::now() - shown < std::chrono::milliseconds(500))
      return;
    shown = Clock::now();
    std::fputs(formatted("\r{}: {:.0f} % read\033[K\r", path, share * 100).c_str(), stderr);
  };
}

} // namespace

void addDataOptions(CLI::App &app, Session &session, DataOptions &options) {
  addTokenizer(app, session);
  Batching &batching = options.text.batching;
  constexpr int64_t most = int64_t(1) << 30;
  auto add = [&](const char *name, auto &value, const char *help, auto low, auto high) {
    CLI::Option *option = app.add_option(name, value, help)->check(CLI::Range(low, high));
    options.ofText.push_back(option);
    return option;
  };
  auto count = [&](const char *name, auto &value, const char *help) {
    return add(name, value, help, int64_t(1), most);
  };
  add("--epochs", batching.epochs, "Text: how often it is read", int64_t(1), int64_t(1) << 20)
      ->capture_default_str();
  CLI::Option *rows = count("--batch-size", batching.rows, "Text: rows a step");
  rows->capture_default_str();
  count("--batch-tokens", batching.tokens, "Text: as many rows a step as have so many tokens")
      ->excludes(rows);
  count("--max-length", options.text.maxLength,
        "Text: tokens of a row, of which the rest is cut (default: what the model takes)");
  count("--block-size", options.text.blockSize,
        "A .txt file's rows are so many tokens each (default: its lines)");
  add("--mask-probability", options.text.maskProbability,
      "A .txt file for a masked language model: the share of tokens that it learns", 0.0, 1.0)
      ->capture_default_str();
}

std::unique_ptr<DataSource> openData(const Session &session, const Trainer &trainer,
                                     const std::string &path, const DataOptions &options,
                                     DataUse use) {
  bool trains = use == DataUse::Training;
  std::vector<const InputInfo *> inputs = trains ? trainer.inputs() : trainer.evaluationInputs();
  if (!path.ends_with(".txt") && !path.ends_with(".tsv")) {
    for (const CLI::Option *option : options.ofText)
      if (trains && option->count() > 0)
        fail("{} is for text, a .txt or .tsv file: {} is read as safetensors, with its own steps",
             option->get_name(), path);
    return std::make_unique<StepFile>(path, inputs);
  }
  TextObjective objective = textObjective(trainer.objective(), path);
  TextOptions text = options.text;
  if (!trains)
    text.batching.epochs = 1;
  if (text.blockSize && !path.ends_with(".txt"))
    fail("--block-size is for a .txt file: rows of {} are its lines", path);
  auto data = std::make_unique<TextData>(path, objective, inputs, openTextModel(session, trainer),
                                         text, showProgress(path));
  std::fputs((data->summary() + "\n").c_str(), stderr);
  return data;
}

} // namespace transformer::runtime
