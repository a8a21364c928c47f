//===- LaunchGraph.cpp - the launches of a call as one --------------------===//
#include "runtime/cuda/LaunchGraph.h"

#include <algorithm>

namespace transformer::runtime {

bool Launch::operator==(const Launch &other) const {
  return kernel == other.kernel && std::equal(blocks, blocks + 3, other.blocks) &&
         std::equal(threads, threads + 3, other.threads) && sharedBytes == other.sharedBytes &&
         arguments == other.arguments;
}

CudaKernelNode Launch::node(std::vector<void *> &pointers) const {
  pointers.clear();
  for (unsigned offset : *offsets)
    pointers.push_back(const_cast<char *>(arguments.data()) + offset);
  return {.function = function,
          .blocks = {blocks[0], blocks[1], blocks[2]},
          .threads = {threads[0], threads[1], threads[2]},
          .sharedBytes = sharedBytes,
          .arguments = pointers.data(),
          .extra = nullptr,
          .kernel = nullptr,
          .context = nullptr};
}

LaunchGraph::LaunchGraph(const CudaDriver &driver, std::vector<Launch> given, bool wait)
    : driver(driver), launches(std::move(given)) {
  try {
    driver.check(driver.cuGraphCreate(&graph, 0), "cuGraphCreate");
    std::vector<void *> pointers;
    bool startsEarly = wait && driver.cuGraphAddDependencies;
    for (const Launch &launch : launches) {
      CudaKernelNode node = launch.node(pointers);
      CUgraphNode made = nullptr;
      size_t before = nodes.empty() || startsEarly ? 0 : 1;
      driver.check(driver.cuGraphAddKernelNode(&made, graph, before ? &nodes.back() : nullptr,
                                               before, &node),
                   "cuGraphAddKernelNode");
      nodes.push_back(made);
    }
    CudaGraphEdge early = {
        CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
    for (size_t i = 1; startsEarly && i < nodes.size(); ++i)
      driver.check(driver.cuGraphAddDependencies(graph, &nodes[i - 1], &nodes[i], &early, 1),
                   "cuGraphAddDependencies");
    driver.check(driver.cuGraphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
  } catch (...) {
    release();
    throw;
  }
}

LaunchGraph::~LaunchGraph() { release(); }

void LaunchGraph::release() noexcept {
  if (executable)
    driver.cuGraphExecDestroy(executable);
  if (graph)
    driver.cuGraphDestroy(graph);
}

bool LaunchGraph::hasKernelsOf(const std::vector<Launch> &others) const {
  return std::equal(launches.begin(), launches.end(), others.begin(), others.end(),
                    [](const Launch &a, const Launch &b) { return a.kernel == b.kernel; });
}

bool LaunchGraph::launch(std::vector<Launch> &others, CUstream stream) {
  std::vector<void *> pointers;
  for (size_t i = 0; i < others.size(); ++i) {
    if (others[i] == launches[i])
      continue;
    CudaKernelNode node = others[i].node(pointers);
    if (driver.cuGraphExecKernelNodeSetParams(executable, nodes[i], &node) != CUDA_SUCCESS)
      return false;
  }
  launches.swap(others);
  driver.check(driver.cuGraphLaunch(executable, stream), "cuGraphLaunch");
  return true;
}

} // namespace transformer::runtime
