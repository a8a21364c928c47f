//===- Control.cpp - branches, calls and barriers -------------------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/execute/Cluster.h"

namespace emulator {
namespace {

void branch(Warp &w, const Instruction &in, Mask mask) { w.branch(mask, in.target); }

// Lanes go where their index says, one target after the other.
void branchByIndex(Warp &w, const Instruction &in, Mask mask) {
  const auto &targets = w.block->launch->kernel->branchTables[in.target];
  const uint32_t *index = w.in<uint32_t>(in.op[0]);
  eachLane(mask, [&](int i) {
    if (index[i] >= targets.size())
      throw Fault{Result::LaunchFailed,
                  text("index %u of %d targets", index[i], (int)targets.size()), i};
    w.groups.push_back({targets[index[i]], Mask{1} << i, Group::Ready});
  });
  w.mask &= ~mask;
  w.changed = true;
}

void leave(Warp &w, const Instruction &in, Mask mask) {
  eachLane(mask, [&](int i) {
    for (const PendingCopy &copy : w.copies)
      if (copy.lane == i)
        throw Fault{Result::LaunchFailed,
                    "the thread ends with an asynchronous copy not waited for", i};
  });
  if (!w.products.empty())
    throw Fault{Result::LaunchFailed, "the thread ends with a wgmma not waited for",
                std::countr_zero(mask)};
  w.exit(mask);
  w.block->cluster->threadsExited();
}

void trap(Warp &, const Instruction &, Mask mask) {
  throw Fault{Result::LaunchFailed, "trap", std::countr_zero(mask)};
}

// bar.sync, bar.arrive: op[0] which, op[1] how many threads. All of a warp come together.
template <bool waits, bool aligned> void barrier(Warp &w, const Instruction &in, Mask mask) {
  if (aligned && !w.converged(in, mask, allLanes))
    return;
  if (mask != (aligned ? w.launched : mask))
    throw Fault{Result::LaunchFailed,
                text("barrier of a warp of which %d threads have exited: not all reach it",
                     std::popcount(w.launched & ~w.live))};
  int lane = std::countr_zero(mask);
  uint32_t count = in.op[1] == nowhere ? 0 : w.in<uint32_t>(in.op[1])[lane];
  w.block->arrive(w, mask, w.in<uint32_t>(in.op[0])[lane], count, waits, in.line);
}

template <bool waits> void clusterBarrier(Warp &w, const Instruction &in, Mask mask) {
  if (in.variant && !w.converged(in, mask, allLanes)) // .aligned
    return;
  if (waits)
    w.block->cluster->wait(w, mask);
  else
    w.block->cluster->arrive(w, mask, in.variant2);
}

void warpBarrier(Warp &w, const Instruction &in, Mask mask) {
  if (w.converged(in, mask, w.in<Mask>(in.op[0])[std::countr_zero(mask)]))
    ++w.clocks.of[w.number];
}

// op[0] how many, variant: more. Who wants more waits for others to have fewer, now or later: what
// all want together is looked at when they have ended.
void setRegisters(Warp &w, const Instruction &in, Mask mask) {
  if (!w.converged(in, mask, allLanes))
    return;
  int lane = std::countr_zero(mask);
  uint32_t wanted = w.in<uint32_t>(in.op[0])[lane];
  if (wanted < 24 || wanted > 256 || wanted % 8 ||
      (in.variant ? wanted < w.registers : wanted > w.registers))
    throw Fault{Result::LaunchFailed,
                text("setmaxnreg: from %u registers to %u", w.registers, wanted), lane};
  w.registers = wanted;
}

void decodeBarrier(Decoder &d) {
  if (d.has("warp")) {
    d.add(warpBarrier, {d.source(0, 4)});
    return;
  }
  bool isBar = d.statement().parts[0] == "bar", arrives = d.has("arrive");
  if (d.has("cluster") && (arrives || d.has("wait"))) {
    Instruction &in = d.add(arrives ? clusterBarrier<false> : clusterBarrier<true>);
    in.variant = d.has("aligned");
    in.variant2 = d.has("relaxed");
    return;
  }
  if (d.has("red") || d.has("cluster") || (!arrives && !d.has("sync")))
    d.unknown();
  bool aligned = isBar || d.has("aligned");
  Handler handler = arrives ? (aligned ? barrier<false, true> : barrier<false, false>)
                            : (aligned ? barrier<true, true> : barrier<true, false>);
  Instruction &in = d.add(handler, {d.source(0, 4)});
  if (d.numOperands() > 1)
    in.op[1] = d.source(1, 4);
}

} // namespace

void addControl(Table &table) {
  table["bra"] = [](Decoder &d) { d.branchTo(d.add(branch), d.operand(0).name); };
  table["brx"] = [](Decoder &d) {
    d.add(branchByIndex, {d.source(0, 4)}).target = d.branchTable(d.operand(1).name);
  };
  table["ret"] = [](Decoder &d) { d.returnBy(branch); };
  table["exit"] = [](Decoder &d) { d.add(leave); };
  table["call"] = [](Decoder &d) { d.call(); };
  table["trap"] = [](Decoder &d) { d.add(trap); };
  table["bar"] = decodeBarrier;
  table["barrier"] = decodeBarrier;
  // Memory is one here and every access is in order.
  for (const char *order : {"membar", "fence", "nanosleep", "pmevent"})
    table[order] = [](Decoder &) {};
  // Kernels run one after the other; but one that may be started early touches nothing before.
  table["griddepcontrol"] = [](Decoder &d) {
    if (!d.has("wait"))
      return;
    d.kernel.waits = true;
    d.add([](Warp &w, const Instruction &, Mask mask) { w.waited |= mask; });
  };
  table["setmaxnreg"] = [](Decoder &d) {
    d.add(setRegisters, {d.source(0, 4)}).variant = d.has("inc");
  };
}

} // namespace emulator
