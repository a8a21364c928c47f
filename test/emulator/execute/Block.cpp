//===- Block.cpp - the warps of a thread block and its barriers -----------===//
#include "test/emulator/execute/Cluster.h"

#include <algorithm>

namespace emulator {
namespace {

template <typename F> void fill(const Warp &warp, Place place, F value) {
  for (int lane = 0; lane < lanes; ++lane)
    warp.reg<uint32_t>(place)[lane] = value(lane);
}

constexpr size_t cacheLine = 64;
size_t aligned(size_t bytes) { return (bytes + cacheLine - 1) / cacheLine * cacheLine; }

} // namespace

Block::Block(const Launch &launch, uint64_t launchId, Cluster &cluster, uint32_t rank, uint32_t tag)
    : launch(&launch), cluster(&cluster), rank(rank), tag(tag), launchId(launchId) {
  const Kernel &kernel = *launch.kernel;
  auto *pool = reinterpret_cast<const std::byte *>(kernel.constants.data());
  if (tag) {
    constants.resize(kernel.constants.size() + cacheLine / 8);
    auto start = reinterpret_cast<uintptr_t>(constants.data());
    std::byte *own = reinterpret_cast<std::byte *>(constants.data()) + aligned(start) - start;
    std::memcpy(own, pool, kernel.constants.size() * 8);
    for (auto [place, bytes] : kernel.sharedAddresses)
      for (int lane = 0; bytes >= 4 && lane < lanes; ++lane)
        own[place + lane * bytes + 3] = std::byte(tag); // of a little-endian number
    pool = own;
  }
  threads = launch.block[0] * launch.block[1] * launch.block[2];
  // ptxas gives such a kernel what a block of that size can have.
  registersAtLaunch = std::min<uint32_t>(65536 / kernel.maxThreads / 8 * 8, 255);
  warps.resize((threads + lanes - 1) / lanes);
  size_t frameBytes = aligned(kernel.frameBytes);
  frames.resize(warps.size() * frameBytes + cacheLine);
  auto begin = reinterpret_cast<uintptr_t>(frames.data());
  std::byte *first = frames.data() + aligned(begin) - begin;
  size_t localBytes = size_t{kernel.localBytes} * lanes;
  locals.resize(warps.size() * localBytes);
  localsWritten.resize(locals.size());
  for (size_t i = 0; i < warps.size(); ++i) {
    Warp &warp = warps[i];
    warp.block = this;
    warp.index = i;
    warp.number = rank * warps.size() + i;
    warp.frame = first + i * frameBytes;
    warp.constants = pool;
    warp.local = locals.data() + i * localBytes;
    warp.localWritten = localsWritten.data() + i * localBytes;
    warp.instructions = warp.laneInstructions = 0;
    warp.lastFound = nullptr;
    uint32_t left = threads - i * lanes;
    warp.launched = left >= lanes ? allLanes : (Mask{1} << left) - 1;
  }
}

uint32_t Block::coordinate(uint32_t thread, int dimension) const {
  const uint32_t *size = launch->block;
  return dimension == 0   ? thread % size[0]
         : dimension == 1 ? thread / size[0] % size[1]
                          : thread / size[0] / size[1];
}

std::string Block::place(const Warp &warp, int lane) const {
  uint32_t thread = warp.index * lanes + lane;
  return text("block (%u, %u, %u), thread (%u, %u, %u)", index[0], index[1], index[2],
              coordinate(thread, 0), coordinate(thread, 1), coordinate(thread, 2));
}

void Block::startWarp(Warp &warp) {
  const Kernel &kernel = *launch->kernel;
  for (int d = 0; d < 3; ++d) {
    fill(warp, threadX + d * 128,
         [&](int lane) { return coordinate(warp.index * lanes + lane, d); });
    fill(warp, blockX + d * 128, [&](int) { return index[d]; });
    fill(warp, blockSizeX + d * 128, [&](int) { return launch->block[d]; });
    fill(warp, gridX + d * 128, [&](int) { return launch->grid[d]; });
  }
  fill(warp, laneId, [](int lane) { return lane; });
  fill(warp, warpId, [&](int) { return warp.index; });
  fill(warp, numWarps, [&](int) { return warps.size(); });
  fill(warp, maskEq, [](int lane) { return 1u << lane; });
  fill(warp, maskLt, [](int lane) { return (1u << lane) - 1; });
  fill(warp, maskLe, [](int lane) { return (2u << lane) - 1; });
  fill(warp, maskGt, [](int lane) { return ~((2u << lane) - 1); });
  fill(warp, maskGe, [](int lane) { return ~((1u << lane) - 1); });
  fill(warp, dynamicShared, [&](int) { return launch->dynamicShared; });
  fill(warp, totalShared, [&](int) { return kernel.sharedBytes + launch->dynamicShared; });
  fill(warp, smId, [&](int) { return linear % 8; });
  uint32_t blocks = cluster->size();
  fill(warp, clusterRank, [&](int) { return rank; });
  fill(warp, clusterSize, [&](int) { return blocks; });
  fill(warp, clusterX, [&](int) { return index[0] / blocks; });
  fill(warp, clustersX, [&](int) { return launch->grid[0] / blocks; });
  fill(warp, zero, [](int) { return 0; });
  fill(warp, one, [](int) { return 1; });
  warp.live = warp.launched;
  warp.instructionsBefore = warp.instructions;
  warp.groups.assign(1, {0, warp.launched, Group::Ready});
  warp.registers = registersAtLaunch;
  warp.waited = kernel.waits ? 0 : allLanes;
  warp.clocks = {};
  warp.clocks.of[warp.number] = 1;
  warp.arrivedAtCluster = 0;
  warp.clusterPhase = 0;
  warp.ofCluster = {};
  warp.copies.clear();
  warp.committed.fill(0);
  warp.products.clear();
  warp.accumulators.clear();
  warp.committedProducts = 0;
}

void Block::start(uint64_t number) {
  linear = number;
  running = nullptr;
  const uint32_t *grid = launch->grid;
  index[0] = linear % grid[0];
  index[1] = linear / grid[0] % grid[1];
  index[2] = linear / grid[0] / grid[1];
  shared.reset(launch->kernel->sharedBytes + launch->dynamicShared);
  std::fill(localsWritten.begin(), localsWritten.end(), 0);
  barriers.fill({});
  mbarriers.clear();
  bulkCopies.clear();
  for (Warp &warp : warps)
    startWarp(warp);
}

void Block::fail(const Fault &fault) const {
  const Kernel &kernel = *launch->kernel;
  if (!running)
    throw Fault{fault.code, text("kernel %s, block (%u, %u, %u): %s", kernel.name.c_str(), index[0],
                                 index[1], index[2], fault.message.c_str())};
  int lane = fault.lane >= 0 ? fault.lane : std::countr_zero(running->launched);
  size_t pc = std::min<size_t>(running->pc - 1, kernel.code.size() - 1);
  throw Fault{fault.code, text("kernel %s, line %d (%s), %s: %s", kernel.name.c_str(),
                               kernel.code[pc].line, kernel.opcodes[pc].c_str(),
                               place(*running, lane).c_str(), fault.message.c_str())};
}

bool Block::isAlive() const {
  return std::any_of(warps.begin(), warps.end(), [](const Warp &warp) { return warp.live != 0; });
}

bool Block::runWarps(bool &progress) {
  const uint64_t limit = uint64_t(options().instructions) * 1000000;
  bool alive = false;
  try {
    for (Warp &warp : warps) {
      running = &warp;
      progress |= warp.live && warp.run();
      if (warp.instructions - warp.instructionsBefore > limit)
        endless(warp);
      alive |= warp.live != 0;
    }
  } catch (const Fault &fault) {
    fail(fault);
  }
  running = nullptr;
  return alive;
}

void Block::end() {
  uint32_t registers = 0;
  for (const Warp &warp : warps)
    registers += warp.registers;
  if (registers > registersAtLaunch * warps.size())
    fail({Result::LaunchTimeout,
          text("setmaxnreg waits for ever: a block of %d warps has %u registers a thread, and its "
               "warps want %u together",
               (int)warps.size(), registersAtLaunch, registers)});
  if (!bulkCopies.empty())
    fail({Result::LaunchFailed, "the block ends with a bulk copy not waited for"});
}

void Block::endless(const Warp &warp) {
  for (const Group &group : warp.groups) // the first one that could go on
    if (group.state == Group::Ready || group.state == Group::Paused) {
      running->pc = group.pc + 1;
      throw Fault{Result::LaunchTimeout,
                  text("no end after %d million instructions of a warp (EMULATED_INSTRUCTIONS)",
                       options().instructions),
                  std::countr_zero(group.mask)};
    }
}

void Block::stuck() {
  uint32_t exited = 0;
  std::string where;
  int lane = 0;
  for (Warp &warp : warps) {
    exited += std::popcount(warp.launched & ~warp.live);
    for (const Group &group : warp.groups) {
      uint32_t next = group.pc + (group.state != Group::Barrier &&
                                  group.state != Group::Cluster); // behind what they wait at
      if (where.size() < 300)
        where += text("; %d of warp %d wait at line %d", std::popcount(group.mask), warp.index,
                      launch->kernel->code[next - 1].line);
      if (running)
        continue;
      running = &warp; // the first one is the fault's place
      warp.pc = next;
      lane = std::countr_zero(group.mask);
    }
  }
  fail({Result::LaunchFailed,
        text("no thread can go on, not all reach what others wait for: %u of %u have exited%s",
             exited, threads, where.c_str()),
        lane});
}

void Block::arrive(Warp &warp, Mask mask, uint32_t id, uint32_t expected, bool wait, int line) {
  if (id >= barriers.size())
    throw Fault{Result::LaunchFailed, text("barrier %u: expected 0 to 15", id)};
  Barrier &barrier = barriers[id];
  expected = (expected ? expected + lanes - 1 : uint32_t(warps.size()) * lanes) / lanes * lanes;
  if (barrier.arrived && barrier.expected != expected)
    throw Fault{Result::LaunchFailed, text("barrier %u: %u threads expected here, %u at line %d",
                                           id, expected, barrier.expected, barrier.line)};
  barrier.expected = expected;
  barrier.line = line;
  barrier.arrived += mask == warp.launched ? lanes : std::popcount(mask);
  barrier.clocks.join(warp.clocks);
  ++warp.clocks.of[warp.number];
  if (wait) {
    barrier.waiting |= Mask{1} << warp.index;
    warp.park(mask, Group::Barrier);
  }
  if (barrier.arrived < barrier.expected)
    return;
  for (Mask left = barrier.waiting; left; left &= left - 1) {
    Warp &other = warps[std::countr_zero(left)];
    other.clocks.join(barrier.clocks);
    other.release(Group::Barrier);
  }
  barrier = {};
}

} // namespace emulator
