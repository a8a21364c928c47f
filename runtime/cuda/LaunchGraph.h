//===- LaunchGraph.h - the launches of a call as one ------------*- C++ -*-===//
//
// A function that is called again launches the same kernels in the same order:
// as a graph they cost the host one launch. What changes from call to call,
// sizes and arguments, is written into the graph's nodes.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_CUDA_LAUNCHGRAPH_H
#define TRANSFORMER_RUNTIME_CUDA_LAUNCHGRAPH_H

#include "runtime/cuda/Driver.h"

#include <vector>

namespace transformer::runtime {

/// A launch with a copy of its arguments: all that a node of a graph has.
struct Launch {
  int64_t kernel = 0; // its number in the module
  CUfunction function = nullptr;
  unsigned blocks[3] = {}, threads[3] = {}, sharedBytes = 0;
  std::vector<char> arguments;                    // their bytes, one behind the other
  const std::vector<unsigned> *offsets = nullptr; // where each begins: the kernel's

  bool operator==(const Launch &other) const;
  /// For a call of the driver; points into this object and `pointers`.
  CudaKernelNode node(std::vector<void *> &pointers) const;
};

/// An executable graph of the launches of a call, each behind the one before.
class LaunchGraph {
public:
  /// `wait`: the kernels wait for those before them by themselves. Throws Error when the driver
  /// refuses.
  LaunchGraph(const CudaDriver &driver, std::vector<Launch> launches, bool wait);
  ~LaunchGraph();
  LaunchGraph(const LaunchGraph &) = delete;
  LaunchGraph &operator=(const LaunchGraph &) = delete;

  /// Whether it has the kernels of `others`, in their order.
  bool hasKernelsOf(const std::vector<Launch> &others) const;
  /// Queues `others`, whose kernels it has, and gives back launches that nobody needs any more,
  /// whose memory the next call's can take. False where the driver does not change a node so:
  /// nothing is queued then, and the graph is of no use any more.
  bool launch(std::vector<Launch> &others, CUstream stream);

private:
  void release() noexcept;

  const CudaDriver &driver;
  std::vector<Launch> launches; // as the nodes are now
  std::vector<CUgraphNode> nodes;
  CUgraph graph = nullptr; // keeps the nodes
  CUgraphExec executable = nullptr;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CUDA_LAUNCHGRAPH_H
