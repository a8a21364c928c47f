//===- TrainProgress.h - how far training is ----------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TRAINPROGRESS_H
#define TRANSFORMER_RUNTIME_TRAINPROGRESS_H

#include "runtime/train/Trainer.h"

#include <chrono>

namespace transformer::runtime {

/// A line on stderr: on a terminal always the same one, else one for each ten steps.
class TrainProgress {
public:
  /// Of the steps behind `first`, up to `last`. One that is not `visible` says nothing.
  TrainProgress(int64_t first, int64_t last, bool visible = true);

  void add(int64_t step, const StepResult &result);

  /// A line of its own.
  void say(const std::string &text);

private:
  int64_t first, last, tokens = 0;
  bool visible, isTerminal, lineIsOpen = false;
  std::chrono::steady_clock::time_point begin;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TRAINPROGRESS_H
