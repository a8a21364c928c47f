//===- Train.cpp - the subcommand train -----------------------------------===//
#include "runtime/base/Error.h"
#include "runtime/base/Path.h"
#include "runtime/cli/Session.h"
#include "runtime/train/StepFile.h"
#include "runtime/train/Trainer.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <unistd.h>

namespace transformer::runtime {
namespace {

struct TrainOptions {
  std::string data, log, save, resume, definition;
  std::optional<uint64_t> init;
  std::optional<int64_t> steps;
  int64_t saveEvery = 0; // 0: at the end alone
  Hyperparameters hyperparameters;
};

/// A line a step: JSON to a file, for people to the terminal.
class Progress {
public:
  Progress(const std::string &path, int64_t first, int64_t last)
      : first(first), last(last), isTerminal(isatty(STDERR_FILENO)), begin(now()) {
    if (path.empty())
      return;
    log = std::fopen(path.c_str(), first > 0 ? "a" : "w");
    if (!log)
      fail("--log {}: cannot write it", path);
  }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress() {
    if (log)
      std::fclose(log);
  }

  void add(int64_t step, const StepResult &result) {
    if (log) {
      std::string line = formatted("{{\"step\": {}, \"loss\": {}, \"grad_norm\": {}}}\n", step,
                                   result.loss, result.gradNorm);
      if (std::fputs(line.c_str(), log) < 0 || std::fflush(log) != 0)
        fail("--log: cannot be written");
    }
    double seconds = std::chrono::duration<double>(now() - begin).count();
    double perStep = seconds / double(step - first);
    bool isLast = step == last;
    if (!isTerminal && !isLast && step % 10 != 0)
      return;
    std::fprintf(stderr, "%sstep %lld of %lld, loss %.4f, %.0f ms a step, %.0f s left%s",
                 isTerminal ? "\r" : "", static_cast<long long>(step), static_cast<long long>(last),
                 double(result.loss), perStep * 1e3, perStep * double(last - step),
                 isTerminal && !isLast ? "\033[K" : "\n");
  }

private:
  static std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

  int64_t first, last;
  bool isTerminal;
  std::chrono::steady_clock::time_point begin;
  FILE *log = nullptr;
};

Program openProgram(const Session &session, const TrainOptions &options) {
  if (!options.definition.empty() && !isFile(options.definition + "/config.json"))
    fail("--definition {}: no config.json in this folder", options.definition);
  return options.init ? Program(*session.module, Seed{*options.init}) : session.openProgram();
}

void train(const Session &session, const TrainOptions &options) {
  Program program = openProgram(session, options);
  Trainer trainer(program, options.definition);
  StepFile data(options.data, trainer.inputs());
  if (!options.resume.empty())
    trainer.resume(options.resume);
  int64_t last = options.steps.value_or(data.steps());
  if (last > data.steps())
    fail("--steps {}: {} has {}", last, options.data, data.steps());
  if (!options.save.empty())
    Trainer::makeFolder(options.save);
  Progress progress(options.log, trainer.steps(), last);
  while (trainer.steps() < last) {
    StepResult result = trainer.step(data.inputs(trainer.steps()), options.hyperparameters);
    progress.add(trainer.steps(), result);
    if (options.saveEvery && trainer.steps() % options.saveEvery == 0 && trainer.steps() < last)
      trainer.save(options.save);
  }
  if (!options.save.empty())
    trainer.save(options.save);
}

} // namespace

void addTrain(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand("train", "Train the model on tensors in a file");
  auto options = std::make_shared<TrainOptions>();
  addWeights(*command, session);
  CLI::Option *init =
      command
          ->add_option("--init", options->init,
                       "In place of weights: initialise them as the model's family does, with "
                       "random numbers of this seed")
          ->excludes("--weights")
          ->excludes("--packed-weights");
  command
      ->add_option("--definition", options->definition,
                   "The folder of the model's config.json, which --save copies beside the weights, "
                   "as it does the tokenizer's files")
      ->needs(init);
  command
      ->add_option("--data,-d", options->data,
                   "A safetensors file: the model's inputs and labels, with a first dimension of "
                   "steps")
      ->required();
  command->add_option("--steps", options->steps, "The last step (default: all of the data)")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  Hyperparameters &values = options->hyperparameters;
  auto number = [&](const char *name, double &value, const char *help, double low, double high) {
    command->add_option(name, value, help)->capture_default_str()->check(CLI::Range(low, high));
  };
  constexpr double most = 1e30, almostOne = 1 - 1e-12;
  number("--learning-rate", values.learningRate, "Learning rate", 0, most);
  number("--weight-decay", values.weightDecay, "Decay of all weights, times the rate", 0, most);
  number("--beta1", values.beta1, "Of the mean of gradients", 0, almostOne);
  number("--beta2", values.beta2, "Of the mean of their squares", 0, almostOne);
  number("--epsilon", values.epsilon, "Added to its root", 0, most);
  number("--max-grad-norm", values.maxGradNorm, "Clips gradients to this norm; 0: does not", 0,
         most);
  command->add_option("--log", options->log, "Write a line of JSON a step");
  CLI::Option *save =
      command->add_option("--save", options->save,
                          "Write the trained checkpoint, and what --resume needs, to a folder");
  command->add_option("--save-every", options->saveEvery, "Also after each so many steps")
      ->needs(save)
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  command->add_option("--resume", options->resume, "Go on from a folder that --save has written");
  command->callback(
      [&session, options] { session.command = [&session, options] { train(session, *options); }; });
}

} // namespace transformer::runtime
