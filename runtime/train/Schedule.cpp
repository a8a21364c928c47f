//===- Schedule.cpp - the learning rate of each step ----------------------===//
#include "runtime/train/Schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace transformer::runtime {

const std::map<std::string, Schedule::Kind> Schedule::kinds = {
    {"constant", Constant}, {"linear", Linear}, {"cosine", Cosine}, {"inverse-sqrt", InverseSqrt}};

double Schedule::rate(int64_t step) const {
  double warmup = double(warmupSteps);
  if (kind == InverseSqrt)
    return peak * std::min(double(step) / warmup, std::sqrt(warmup / double(step)));
  int64_t done = step - 1;
  if (done < warmupSteps)
    return peak * (double(done) / warmup);
  double rest = double(std::max<int64_t>(1, lastStep - warmupSteps));
  if (kind == Linear)
    return peak * std::max(0.0, double(lastStep - done) / rest);
  if (kind == Cosine)
    return peak * 0.5 * (1 + std::cos(std::numbers::pi * double(done - warmupSteps) / rest));
  return peak;
}

} // namespace transformer::runtime
