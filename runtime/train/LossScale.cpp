//===- LossScale.cpp - what gradients in float16 are multiplied by --------===//
#include "runtime/train/LossScale.h"

#include <cfloat>

namespace transformer::runtime {

void LossScale::update(bool isFinite) {
  if (!isFinite) {
    ++skippedSteps;
    goodSteps = 0;
    if (scale > FLT_MIN)
      scale /= 2;
  } else if (++goodSteps == growthInterval) {
    goodSteps = 0;
    if (scale < FLT_MAX / 2)
      scale *= 2;
  }
}

} // namespace transformer::runtime
