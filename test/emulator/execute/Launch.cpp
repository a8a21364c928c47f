//===- Launch.cpp - blocks over the host's threads ------------------------===//
#include "test/emulator/execute/Cluster.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

namespace emulator {
namespace {

constexpr uint64_t lastLaunch = 0xfffff;  // that writerTag has bits for
constexpr uint64_t threadsOfHelper = 512; // fewer than so many are not worth one
uint64_t launches = 0;

uint64_t nextLaunch() {
  if (launches == lastLaunch) {
    memory().forgetWriters();
    launches = 0;
  }
  return ++launches;
}

// What kernels did, printed when the process ends.
struct Statistics {
  struct Row {
    uint64_t launches = 0, instructions = 0, laneInstructions = 0;
    double seconds = 0;
  };
  std::map<std::string, Row> rows;

  ~Statistics() {
    if (!options().statistics)
      return;
    Row all;
    for (const auto &[name, row] : rows) {
      print(name, row);
      all.launches += row.launches;
      all.instructions += row.instructions;
      all.laneInstructions += row.laneInstructions;
      all.seconds += row.seconds;
    }
    print("all", all);
  }

  static void print(const std::string &name, const Row &row) {
    std::fprintf(
        stderr,
        "emulated CUDA: %s: %llu launches, %.3f s, %.1f million instructions of warps, %.1f of "
        "threads, %.0f million of threads a second\n",
        name.c_str(), (unsigned long long)row.launches, row.seconds, row.instructions / 1e6,
        row.laneInstructions / 1e6, row.laneInstructions / 1e6 / std::max(row.seconds, 1e-9));
  }
} statistics;

} // namespace

void execute(const Launch &launch) {
  Statistics::Row &row = statistics.rows[launch.kernel->name];
  uint32_t together = clusterBlocks(*launch.kernel);
  uint64_t clusters = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2] / together;
  uint64_t id = nextLaunch();
  auto begin = std::chrono::steady_clock::now();
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::optional<Fault> fault;
  uint64_t faultyCluster = ~uint64_t{0};

  auto work = [&] {
    Cluster cluster(launch, id);
    for (uint64_t i; (i = next++) < clusters;)
      try {
        cluster.run(i);
      } catch (const Fault &caught) {
        next = clusters;
        std::lock_guard lock(mutex);
        if (i < faultyCluster) {
          faultyCluster = i;
          fault = caught;
        }
      }
    std::lock_guard lock(mutex);
    for (const Block &block : cluster.blocks)
      for (const Warp &warp : block.warps) {
        row.instructions += warp.instructions;
        row.laneInstructions += warp.laneInstructions;
      }
  };
  uint64_t size = clusters * together * launch.block[0] * launch.block[1] * launch.block[2];
  std::vector<std::thread> helpers(
      std::min({uint64_t(options().threads) - 1, clusters - 1, size / threadsOfHelper}));
  for (std::thread &helper : helpers)
    helper = std::thread(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  ++row.launches;
  row.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (fault)
    throw *fault;
}

} // namespace emulator
