//===- Schedule.h - the learning rate of each step --------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_SCHEDULE_H
#define TRANSFORMER_RUNTIME_SCHEDULE_H

#include <cstdint>
#include <map>
#include <string>

namespace transformer::runtime {

/// A learning rate that rises from 0 over `warmupSteps` and then is that of its kind. Constant,
/// linear and cosine are those of transformers (get_constant_schedule_with_warmup, ...): the first
/// step has the factor for 0 steps done. Inverse square root is that of "Attention Is All You Need"
/// (5.3), whose first step is 1: `peak` is reached at step `warmupSteps`, at least 1.
struct Schedule {
  enum Kind { Constant, Linear, Cosine, InverseSqrt };

  Kind kind = Constant;
  double peak = 0;
  int64_t warmupSteps = 0;
  int64_t lastStep = 0; // behind which linear and cosine are 0

  /// The rate of `step`, counted from 1.
  double rate(int64_t step) const;

  /// By the names of the command line.
  static const std::map<std::string, Kind> kinds;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_SCHEDULE_H
