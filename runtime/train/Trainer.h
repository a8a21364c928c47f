//===- Trainer.h - the steps of a training program --------------*- C++ -*-===//
//
//   Program program(module, Checkpoint::open("gpt2"));
//   Trainer trainer(program);
//   StepResult result = trainer.step(std::move(inputs), hyperparameters);
//   trainer.save("trained");
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_TRAINER_H
#define TRANSFORMER_RUNTIME_TRAINER_H

#include "runtime/execute/Program.h"
#include "runtime/train/GradientSum.h"
#include "runtime/train/LossScale.h"
#include "runtime/train/Processes.h"

#include <cfloat>
#include <memory>
#include <optional>
#include <string>

namespace transformer::runtime {

/// What a step is given beside its inputs, as far as the program's optimizer takes it. Defaults are
/// PyTorch's, those of all optimizers torch.optim.AdamW's, but for the rate, which is that of
/// transformers' Trainer.
struct Hyperparameters {
  double learningRate = 5e-5, weightDecay = 0.01;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;                            // AdamW
  double momentum = 0;                                                          // SGD
  double beta2Decay = -0.8, eps1 = FLT_EPSILON, eps2 = 1e-3, clipThreshold = 1; // Adafactor
  std::optional<double> vectorWeightDecay = {}; // of biases and norms; default: weightDecay
  double maxGradNorm = 1;                       // 0: gradients are not clipped
  uint64_t seed = 0;                            // of dropout
};

struct StepResult {
  float loss, gradNorm; // of the gradients before clipping
  int64_t tokens;       // of all sequences; of images, labels
  /// What its gradients were multiplied by, where they are rounded to float16. Where the norm is
  /// not finite they were too large for that, and the step was skipped.
  std::optional<float> lossScale = {};
};

/// Weights that are trained, what the optimizer keeps of them, and how many steps there were.
class Trainer {
public:
  /// Starts from the program's weights. `definition` is the folder of the config and the tokenizer
  /// that belong to what `save` writes (default: the weights'). Throws Error when the program does
  /// not train.
  explicit Trainer(Program &program, std::string definition = {});

  /// Goes on from what `save` has written to `folder`. Throws Error that names the file and what is
  /// wrong with it.
  void resume(const std::string &folder);

  /// From now on each step is the sum of `parts` parts of its rows, one behind the other, in each
  /// of the `processes`, which all take the same inputs and get the same weights. What dropout
  /// drops depends on the part. Throws Error when the program has no entries for that.
  void divide(int64_t parts, const Processes &processes);

  /// A line for the user on how processes add up gradients; empty when there is nothing to say.
  std::string notice() const { return gradientSum ? gradientSum->notice() : ""; }

  /// The next step on `inputs`, named as the model's, ready to be executed; see Program::prepare.
  /// Where the update of a step waits for the next one, it begins with that of the last `step`.
  /// Throws Error that names the input.
  Call prepare(TensorMap inputs, const Hyperparameters &hyperparameters);

  /// One step. Throws Error that names the input.
  StepResult step(TensorMap inputs, const Hyperparameters &hyperparameters);

  /// The loss of `inputs`, from which nothing is learned. Throws Error when the program has no
  /// entry for that, or names the input.
  float evaluate(TensorMap inputs);

  /// How many steps there were, those before `resume` included.
  int64_t steps() const { return count; }

  /// Makes `folder`, so that a place that cannot be written is known before the work. Throws Error.
  static void makeFolder(const std::string &folder);

  /// Ends the last step where its update waits for the next one. The weights are then those behind
  /// it, as `evaluate` and `save` need them.
  void finish();

  /// Writes `folder`/model.safetensors, with exactly the tensors that the program's weights have
  /// and those that were initialised, what belongs to them (config and tokenizer), and
  /// training.safetensors, from which `resume` goes on: each whole or not at all. Of low-rank
  /// adapters alone it writes what PEFT does, in place of the model.
  /// Throws Error when it cannot be written.
  void save(const std::string &folder);

  /// The inputs that a step takes from data.
  std::vector<const InputInfo *> inputs() const;

  /// What its labels are, by a name of the description; empty: not said.
  const std::string &objective() const { return entry.objective; }

  /// Where the config and the tokenizer lie; empty where nobody knows.
  const std::string &folder() const { return definition; }

  /// Those of Hyperparameters that its optimizer alone takes, by the names of the description.
  std::vector<std::string> optimizerNumbers() const;

  /// Those of `evaluate`. Throws Error when the program has no entry for that.
  std::vector<const InputInfo *> evaluationInputs() const;

  /// Whether a module has the entry `kEntry`, a step.
  static bool trains(const Module &module);
  static constexpr const char *kEntry = "train_step";

private:
  /// The update of a step, which the next one begins with.
  struct Update {
    int64_t step;
    float scale; // of gradients, by which they are clipped
    Hyperparameters hyperparameters;
  };

  void addNumbers(const EntryInfo &to, TensorMap &inputs, const Hyperparameters &hyperparameters,
                  int64_t part = 0) const;
  void stepInParts(TensorMap inputs, const Hyperparameters &hyperparameters, StepResult &result);
  bool isGradient(size_t state) const;
  bool isScaled() const;
  void writeWeights(AtomicFile &file) const;
  void writeAdapters(AtomicFile &file) const;

  Program &program;
  const EntryInfo &entry;
  std::string definition;
  State state;
  int64_t count = 0; // of steps, those that were skipped included
  LossScale lossScale;
  std::optional<Update> pending;
  int64_t partsOfProcess = 1;
  const Processes *processes = nullptr; // null: a step is one call
  std::unique_ptr<GradientSum> gradientSum;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TRAINER_H
