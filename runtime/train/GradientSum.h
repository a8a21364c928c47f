//===- GradientSum.h - gradients of all processes -----------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_GRADIENTSUM_H
#define TRANSFORMER_RUNTIME_GRADIENTSUM_H

#include "runtime/cuda/DeviceSum.h"
#include "runtime/execute/State.h"
#include "runtime/train/Processes.h"

#include <memory>
#include <string>
#include <vector>

namespace transformer::runtime {

/// Adds up what the processes have of each gradient, in the order of their ranks: on their GPUs,
/// where each has one of its own and finds NCCL, else on the host, with the same bits.
class GradientSum {
public:
  /// `device` is null where the gradients lie on the host. All processes make one at once. Throws
  /// Error.
  GradientSum(const Processes &processes, std::shared_ptr<Device> device);

  /// Adds up the tensors of `state` that have these places. Throws Error.
  void add(State &state, const std::vector<size_t> &gradients) const;

  /// Why GPUs do not add up themselves, a line for the user; empty when there is nothing to say.
  const std::string &notice() const { return problem; }

private:
  const Processes &processes;
  std::shared_ptr<Device> device;
  std::string problem;
  std::unique_ptr<DeviceSum> onDevices; // null: on the host
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_GRADIENTSUM_H
