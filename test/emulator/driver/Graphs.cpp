//===- Graphs.cpp - graphs of launches ------------------------------------===//
#include "test/emulator/driver/Driver.h"

#include <algorithm>

using namespace emulator;

namespace {

/// CUDA_KERNEL_NODE_PARAMS of cuda.h, its second version.
struct KernelNode {
  Function *function;
  uint32_t grid[3], block[3], shared;
  void **parameters, **extra;
  void *kernel, *context;
};

Work launchOf(const KernelNode &node) {
  Launch launch =
      checkedLaunch(node.function, node.grid, node.block, node.shared, node.parameters, node.extra);
  return [launch] { execute(launch); };
}

// Printed when the process ends, beside what kernels did.
struct Statistics {
  uint64_t launches = 0;
  ~Statistics() {
    if (options().statistics)
      std::fprintf(stderr, "emulated CUDA: %llu launches of graphs\n",
                   (unsigned long long)launches);
  }
} statistics;

// A node's handle is its place, counted from 1: the same in a graph and what is made of it.
size_t placeOf(void *node) { return reinterpret_cast<uintptr_t>(node) - 1; }

} // namespace

EMULATED_CUDA cuGraphCreate(Graph **graph, unsigned) {
  return inContext("cuGraphCreate", [&] { driver().graphs.insert(*graph = new Graph); });
}

// Nodes that do not follow each other may run at once on a GPU, which would hide here.
EMULATED_CUDA cuGraphAddKernelNode_v2(void **node, Graph *graph, void *const *dependencies,
                                      size_t count, const KernelNode *kernel) {
  return inContext("cuGraphAddKernelNode", [&] {
    require(driver().graphs.count(graph), Result::InvalidHandle, "no graph");
    size_t nodes = graph->work.size();
    require(count == 0 || (count == 1 && placeOf(*dependencies) == nodes - 1), Result::InvalidValue,
            "a node that is not behind all others: only chains are emulated");
    graph->work.push_back(launchOf(*kernel));
    graph->isBehind.push_back(count == 1);
    graph->waits.push_back(kernel->function->kernel->waits);
    *node = reinterpret_cast<void *>(graph->work.size());
  });
}

// A kernel that may be started while the one before it runs waits by itself: here it is not.
EMULATED_CUDA cuGraphAddDependencies_v2(Graph *graph, void *const *from, void *const *to,
                                        const unsigned char *edges, size_t count) {
  return inContext("cuGraphAddDependencies", [&] {
    require(driver().graphs.count(graph), Result::InvalidHandle, "no graph");
    require(count == 1 && placeOf(*to) < graph->work.size() && placeOf(*from) + 1 == placeOf(*to),
            Result::InvalidValue, "an edge that is no chain's: only chains are emulated");
    // CUgraphEdgeData: ports of both nodes, and a type, 1 for programmatic launches.
    require(edges[0] == 1 && edges[1] == 0 && edges[2] == 1, Result::InvalidValue,
            "an edge of another kind than from a kernel that lets the next one start");
    require(graph->waits[placeOf(*to)], Result::InvalidValue,
            "a kernel that would start early and waits for nothing");
    graph->isBehind[placeOf(*to)] = true;
  });
}

EMULATED_CUDA cuGraphExecKernelNodeSetParams_v2(Graph *executable, void *node,
                                                const KernelNode *kernel) {
  return inContext("cuGraphExecKernelNodeSetParams", [&] {
    require(driver().executables.count(executable), Result::InvalidHandle, "no executable graph");
    require(placeOf(node) < executable->work.size(), Result::InvalidHandle, "no node of the graph");
    executable->work[placeOf(node)] = launchOf(*kernel);
  });
}

EMULATED_CUDA cuGraphInstantiateWithFlags(Graph **executable, Graph *graph, uint64_t) {
  return inContext("cuGraphInstantiate", [&] {
    require(driver().graphs.count(graph), Result::InvalidHandle, "no graph");
    bool isChain = std::all_of(graph->isBehind.begin() + !graph->isBehind.empty(),
                               graph->isBehind.end(), [](bool behind) { return behind; });
    require(isChain, Result::InvalidValue, "nodes beside each other: only chains are emulated");
    driver().executables.insert(*executable = new Graph(*graph));
  });
}

EMULATED_CUDA cuGraphLaunch(Graph *executable, void *stream) {
  return inContext("cuGraphLaunch", [&] {
    require(driver().executables.count(executable), Result::InvalidHandle, "no executable graph");
    for (const Work &work : executable->work)
      enqueue(stream, work);
    ++statistics.launches;
  });
}

EMULATED_CUDA cuGraphExecDestroy(Graph *executable) {
  return inContext("cuGraphExecDestroy", [&] {
    require(driver().executables.erase(executable), Result::InvalidHandle, "no executable graph");
    delete executable;
  });
}

EMULATED_CUDA cuGraphDestroy(Graph *graph) {
  return inContext("cuGraphDestroy", [&] {
    require(driver().graphs.erase(graph), Result::InvalidHandle, "no graph");
    delete graph;
  });
}
