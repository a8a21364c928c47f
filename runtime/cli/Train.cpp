//===- Train.cpp - the subcommand train -----------------------------------===//
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Error.h"
#include "runtime/base/Path.h"
#include "runtime/base/StopRequest.h"
#include "runtime/cli/CommandLine.h"
#include "runtime/cli/Session.h"
#include "runtime/cli/TrainData.h"
#include "runtime/cli/TrainProgress.h"
#include "runtime/files/Adapter.h"
#include "runtime/train/LossLog.h"
#include "runtime/train/LossPlot.h"
#include "runtime/train/Processes.h"
#include "runtime/train/Schedule.h"
#include "runtime/train/Trainer.h"

#include <algorithm>
#include <csignal>
#include <numeric>
#include <optional>
#include <set>

namespace transformer::runtime {
namespace {

struct TrainOptions {
  std::string data, evalData, log, plot, save, resume, definition, scheduleName = "constant";
  std::optional<int64_t> init;
  std::optional<int64_t> steps;
  int64_t saveEvery = 0, evalEvery = 0; // 0: at the end alone
  int64_t accumulate = 1;
  Hyperparameters hyperparameters;
  std::vector<const CLI::Option *> ofOptimizers; // numbers that not every optimizer takes
  Schedule schedule;
  DataOptions dataOptions;
};

/// Throws Error at an option for another optimizer than the program's.
void checkOptimizerOptions(const Trainer &trainer, const TrainOptions &options) {
  std::set<std::string> taken;
  std::string list;
  for (std::string name : trainer.optimizerNumbers()) {
    std::replace(name.begin(), name.end(), '_', '-');
    taken.insert("--" + name);
    list += (list.empty() ? "--" : ", --") + name;
  }
  for (const CLI::Option *option : options.ofOptimizers)
    if (option->count() && !taken.count(option->get_name()))
      fail("{}: expected an option of this program's optimizer: {}", option->get_name(), list);
}

/// The signal that came to one of the processes, which then all know it; 0: none.
int signalOf(const StopRequest &stop, const Processes &processes) {
  return static_cast<int>(processes.largest(stop.signal()));
}

/// The mean loss of all of `data`, of which each process takes its share; nothing when a signal
/// came before.
std::optional<double> evaluate(Trainer &trainer, const DataSource &data, const StopRequest &stop,
                               const Processes &processes) {
  std::vector<float> losses(static_cast<size_t>(data.steps()));
  for (int64_t i = processes.rank(); i < data.steps() && !stop.signal(); i += processes.size())
    losses[static_cast<size_t>(i)] = trainer.evaluate(data.inputs(i));
  if (signalOf(stop, processes))
    return std::nullopt;
  processes.sum(losses.data(), data.steps()); // of a number and zeros
  return std::accumulate(losses.begin(), losses.end(), 0.0) / double(data.steps());
}

/// Throws Error when something cannot be written.
void save(Trainer &trainer, const LossLog &log, const TrainOptions &options) {
  if (!options.save.empty())
    trainer.save(options.save);
  if (!options.plot.empty()) {
    AtomicFile file(options.plot);
    file.write(lossPlot(log.losses()));
    file.commit();
  }
}

/// The same where training goes on whatever happens.
void trySave(Trainer &trainer, const LossLog &log, const TrainOptions &options,
             TrainProgress &progress) {
  try {
    save(trainer, log, options);
  } catch (const Error &problem) {
    progress.say(
        formatted("warning: step {}: {}; training goes on", trainer.steps(), problem.what()));
  }
}

std::string stoppedText(const Trainer &trainer, const TrainOptions &options, int64_t last,
                        int signal) {
  std::string text = formatted("stopped by {} after step {} of {}",
                               signal == SIGINT ? "SIGINT" : "SIGTERM", trainer.steps(), last);
  if (options.save.empty())
    return text + "; nothing was saved, as there is no --save";
  return text + formatted("; the same command with --resume {} goes on", options.save);
}

/// Names what does not come from the weights, as it may be a mistake.
void sayInitialized(const Program &program) {
  if (program.weights().files().empty())
    return;
  std::vector<std::string> names = program.initialized();
  std::erase_if(names, isOfAdapter); // new ones are what is trained
  if (!names.empty())
    std::fputs(formatted("note: {}: initialised, as there are none: {}\n", program.weights().path(),
                         fmt::join(names, ", "))
                   .c_str(),
               stderr);
}

/// On a GPU of its own, as far as there are any.
Program openProgram(const Session &session, const TrainOptions &options,
                    const Processes &processes) {
  if (!options.definition.empty() && !isFile(options.definition + "/config.json"))
    fail("--definition {}: no config.json in this folder", options.definition);
  std::optional<Seed> seed;
  if (options.init)
    seed = {uint64_t(*options.init)};
  Program program = session.openProgram(seed, processes.localRank());
  if (session.module->description().lora && program.weights().files().empty())
    fail("--init: adapters belong to a model; give its --weights");
  return program;
}

/// Returns the exit code. What the user sees and files are the first process' business.
int train(const Session &session, const TrainOptions &given, const Processes &processes) {
  TrainOptions options = given;
  if (!processes.isFirst())
    options.log = options.plot = options.save = "";
  Program program = openProgram(session, options, processes);
  if (processes.isFirst())
    sayInitialized(program);
  Trainer trainer(program, options.definition);
  checkOptimizerOptions(trainer, options);
  if (options.accumulate > 1 || processes.size() > 1)
    trainer.divide(options.accumulate, processes);
  if (processes.isFirst() && !trainer.notice().empty())
    std::fputs((trainer.notice() + "\n").c_str(), stderr);
  auto open = [&](const std::string &path, DataUse use) {
    return openData(session, trainer, path, options.dataOptions, use);
  };
  std::unique_ptr<DataSource> data = open(options.data, DataUse::Training), evalData;
  if (!options.evalData.empty())
    evalData = open(options.evalData, DataUse::Evaluation);
  if (!options.resume.empty())
    trainer.resume(options.resume);
  int64_t last = options.steps.value_or(data->steps());
  if (last > data->steps())
    fail("--steps {}: {} has {}", last, options.data, data->steps());
  if (!options.save.empty())
    Trainer::makeFolder(options.save);
  if (!options.plot.empty())
    checkFolder(options.plot);
  Hyperparameters hyperparameters = options.hyperparameters;
  Schedule schedule = options.schedule;
  schedule.peak = hyperparameters.learningRate;
  schedule.lastStep = last;
  LossLog log(options.log, trainer.steps());
  TrainProgress progress(trainer.steps(), last, processes.isFirst());
  StopRequest stop;
  auto isDue = [&](int64_t every) { return every && trainer.steps() % every == 0; };
  int signal = 0;
  while (trainer.steps() < last && !(signal = signalOf(stop, processes))) {
    hyperparameters.learningRate = schedule.rate(trainer.steps() + 1);
    StepResult result = trainer.step(data->inputs(trainer.steps()), hyperparameters);
    log.addStep(trainer.steps(), result, hyperparameters.learningRate);
    progress.add(trainer.steps(), result);
    bool isLast = trainer.steps() == last;
    if (evalData && (isLast || isDue(options.evalEvery)))
      if (std::optional<double> loss = evaluate(trainer, *evalData, stop, processes)) {
        log.addEvaluation(trainer.steps(), *loss);
        progress.say(formatted("evaluation after step {}: loss {:.4f}", trainer.steps(), *loss));
      }
    if (!isLast && isDue(options.saveEvery) && !stop.signal())
      trySave(trainer, log, options, progress);
  }
  save(trainer, log, options);
  log.check();
  if (!signal)
    signal = signalOf(stop, processes); // one behind the last step
  if (!signal)
    return 0;
  progress.say(stoppedText(trainer, options, last, signal));
  return 128 + signal;
}

/// Where one of several processes fails, the others would wait for it.
int trainTogether(const Session &session, const TrainOptions &options) {
  Processes processes;
  if (processes.size() == 1)
    return train(session, options, processes);
  int code = guarded([&] { return train(session, options, processes); });
  if (code != 0 && code < 128)
    processes.abort(code);
  return code;
}

} // namespace

void addTrain(CLI::App &app, Session &session) {
  CLI::App *command =
      app.add_subcommand("train", "Train the model on text, or on tensors in a file");
  auto options = std::make_shared<TrainOptions>();
  addWeights(*command, session);
  CLI::Option *init =
      command
          ->add_option(
              "--init", options->init,
              "In place of weights, or for what these lack: initialise them as the model's "
              "family does, with random numbers of this seed")
          ->excludes("--packed-weights")
          ->check(CLI::Range(int64_t(0), INT64_MAX - 1)); // what is too large is read as INT64_MAX
  command
      ->add_option(
          "--definition", options->definition,
          "The folder of the model's config.json and tokenizer, which --save copies beside "
          "the weights (default: neither is copied)")
      ->needs(init);
  command
      ->add_option("--data,-d", options->data,
                   "A safetensors file: the model's inputs and labels, with a first dimension of "
                   "steps; or text: a .txt file of lines, a .tsv file of pairs")
      ->required();
  addDataOptions(*command, session, options->dataOptions);
  command->add_option("--steps", options->steps, "The last step (default: all of the data)")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  command
      ->add_option("--accumulate", options->accumulate,
                   "Compute a step in so many parts of its rows, one behind the other, which takes "
                   "less memory; mpirun -n N divides it among processes")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20));
  Hyperparameters &values = options->hyperparameters;
  auto number = [&](const char *name, double &value, const char *help, double low, double high) {
    return command->add_option(name, value, help)
        ->capture_default_str()
        ->check(CLI::Range(low, high));
  };
  constexpr double most = 1e30, almostOne = 1 - 1e-12;
  number("--learning-rate", values.learningRate, "Learning rate", 0, most);
  number("--weight-decay", values.weightDecay, "Decay of all weights, times the rate", 0, most);
  command
      ->add_option("--vector-weight-decay", values.vectorWeightDecay,
                   "That of biases and norms, all parameters of one dimension (default: the same)")
      ->check(CLI::Range(0.0, most));
  options->ofOptimizers = {
      number("--beta1", values.beta1, "AdamW: of the mean of gradients", 0, almostOne),
      number("--beta2", values.beta2, "AdamW: of the mean of their squares", 0, almostOne),
      number("--epsilon", values.epsilon, "AdamW: added to its root", 0, most),
      number("--momentum", values.momentum, "SGD: what a step keeps of the one before", 0,
             almostOne),
      number("--beta2-decay", values.beta2Decay,
             "Adafactor: new squares count step^this in their mean", -most, 0),
      number("--eps1", values.eps1, "Adafactor: the root of their mean is at least this", 0, most),
      number("--eps2", values.eps2, "Adafactor: a weight's root mean square is at least this", 0,
             most),
      number("--clip-threshold", values.clipThreshold,
             "Adafactor: the root mean square of an update is at most this", 1, most)};
  number("--max-grad-norm", values.maxGradNorm, "Clips gradients to this norm; 0: does not", 0,
         most);
  command
      ->add_option("--seed", values.seed,
                   "Of what dropout drops; text: of its order and of what is masked")
      ->capture_default_str();
  command
      ->add_option("--schedule", options->scheduleName,
                   "The rate behind the warm-up: constant, linear or cosine (to 0 at --steps), "
                   "inverse-sqrt (of the step)")
      ->capture_default_str()
      ->check(CLI::IsMember(Schedule::kinds));
  command->add_option("--warmup-steps", options->schedule.warmupSteps, "The rate rises from 0")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 40));
  auto every = [&](const char *name, int64_t &value, const char *help, CLI::Option *needed) {
    command->add_option(name, value, help)
        ->needs(needed)
        ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  };
  CLI::Option *evalData = command->add_option(
      "--eval-data", options->evalData,
      "A file like --data: the mean of its losses, from which nothing is learned, at the end");
  every("--eval-every", options->evalEvery, "Also after each so many steps", evalData);
  command->add_option("--log", options->log,
                      "Write a line of JSON a step; with --resume, go on with the file");
  command->add_option("--plot", options->plot, "Draw the losses (SVG)");
  CLI::Option *save =
      command->add_option("--save", options->save,
                          "Write the trained checkpoint, and what --resume needs, to a folder");
  every("--save-every", options->saveEvery, "Also after each so many steps", save);
  command->add_option("--resume", options->resume, "Go on from a folder that --save has written");
  command->callback([&session, options] {
    options->schedule.kind = Schedule::kinds.at(options->scheduleName);
    if (options->schedule.kind == Schedule::InverseSqrt && options->schedule.warmupSteps == 0)
      fail("--schedule inverse-sqrt: expected --warmup-steps of 1 or more");
    options->dataOptions.text.batching.seed = options->hyperparameters.seed;
    session.command = [&session, options] { session.exitCode = trainTogether(session, *options); };
  });
}

} // namespace transformer::runtime
