//===- LossScale.h - what gradients in float16 are multiplied by -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_LOSSSCALE_H
#define TRANSFORMER_RUNTIME_LOSSSCALE_H

#include <cstdint>

namespace transformer::runtime {

/// As large as gradients allow, so that few are too small for float16: doubled after so many steps
/// without an overflow, halved by a step with one, which is skipped. A power of 2: what is
/// multiplied and divided by it is not rounded. Rule and numbers are torch.amp.GradScaler's.
struct LossScale {
  static constexpr int64_t growthInterval = 2000;

  float scale = 65536;
  int64_t goodSteps = 0;    // since it has changed
  int64_t skippedSteps = 0; // of all

  /// Behind a step, by whether its gradients were all finite.
  void update(bool isFinite);
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_LOSSSCALE_H
