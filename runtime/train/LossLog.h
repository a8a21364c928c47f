//===- LossLog.h - the losses of a training run -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_LOSSLOG_H
#define TRANSFORMER_RUNTIME_LOSSLOG_H

#include "runtime/train/Trainer.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace transformer::runtime {

struct LossPoint {
  int64_t step;
  double loss;
};

/// In the order of steps.
struct Losses {
  std::vector<LossPoint> training, evaluation;
};

/// The losses of a run, in memory and as a file of a JSON line each. Times are not among them:
/// equal runs give equal logs.
class LossLog {
public:
  /// `path` empty: no file. A run that goes on after `steps` steps goes on with the file that is
  /// there: it reads its losses, and drops what lies behind that step, of a run that was stopped
  /// later than it was saved. Throws Error when it cannot be written or is no such file.
  LossLog(const std::string &path, int64_t steps);

  void addStep(int64_t step, const StepResult &result, double learningRate);
  void addEvaluation(int64_t step, double loss);

  const Losses &losses() const { return all; }

  /// Throws Error when a line could not be written. There are none in the file behind it.
  void check() const;

private:
  void read(int64_t steps);
  void write(const std::string &line);

  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };

  std::string path, problem;
  std::unique_ptr<std::FILE, Close> file;
  Losses all;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_LOSSLOG_H
