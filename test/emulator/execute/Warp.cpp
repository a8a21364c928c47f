//===- Warp.cpp - 32 threads in lockstep ----------------------------------===//
#include "test/emulator/execute/Warp.h"

#include "test/emulator/execute/Block.h"

namespace emulator {
namespace {

constexpr int turnsOfSlice = 1024;

} // namespace

bool Warp::run() {
  const Instruction *code = block->launch->kernel->code.data();
  turns = 0;
  mask = 0;
  yielding = false;
  for (Group &group : groups)
    if (group.state == Group::Paused)
      group.state = Group::Ready;
  settle();
  if (!mask)
    return false;
  while (mask) {
    const Instruction &in = code[pc];
    Mask active = mask;
    if (in.guard != nowhere)
      active &= in.guardNegated ? ~bits(in.guard) : bits(in.guard);
    ++pc;
    if (active) {
      ++instructions;
      laneInstructions += std::popcount(active);
      in.run(*this, in, active);
    }
    if (pc == mergePc || changed)
      settle();
  }
  return true;
}

// The running group joins the others; the one furthest behind that can go on becomes the running
// one.
void Warp::settle() {
  if (mask)
    groups.push_back({pc, mask, yielding ? Group::Paused : Group::Ready});
  yielding = changed = false;
  mask = 0;
  pc = mergePc = ~0u;
  for (const Group &group : groups)
    if (group.state == Group::Ready)
      pc = std::min(pc, group.pc);
  std::erase_if(groups, [&](const Group &group) {
    bool here = group.state == Group::Ready && group.pc == pc;
    mask |= here ? group.mask : 0;
    return here;
  });
  for (const Group &group : groups)
    if (group.state == Group::Ready)
      mergePc = std::min(mergePc, group.pc);
}

void Warp::branch(Mask taken, uint32_t target) {
  if (target < pc && ++turns > turnsOfSlice)
    yielding = changed = true;
  if (taken != mask) {
    groups.push_back({pc, mask & ~taken, Group::Ready});
    mask = taken;
    changed = true;
  }
  pc = target;
  changed |= !groups.empty();
}

void Warp::exit(Mask leaving) {
  live &= ~leaving;
  mask &= ~leaving;
  release(Group::Waiting); // for whom those that left no longer count
  changed = true;
}

bool Warp::converged(const Instruction &in, Mask here, Mask members) {
  if ((here & members & live) == (members & live)) {
    if (Mask strangers = here & ~members)
      throw Fault{Result::LaunchFailed,
                  text("executed by a thread that its mask 0x%x does not name", members),
                  std::countr_zero(strangers)};
    return true;
  }
  --pc;
  for (Group &group : groups) // those who wait look again whether all are there
    if (group.state == Group::Waiting && group.pc == pc) {
      group.mask |= here;
      group.state = Group::Ready;
      mask &= ~here;
      ++pc;
      changed = true;
      return false;
    }
  ++pc;
  Mask others = mask & ~here;
  groups.push_back({pc - 1, here, Group::Waiting});
  mask = others;
  changed = true;
  return false;
}

void Warp::park(Mask parked, Group::State state) {
  groups.push_back({pc, parked, state});
  mask &= ~parked;
  changed = true;
}

void Warp::release(Group::State state) {
  for (Group &group : groups)
    if (group.state == state)
      group.state = Group::Ready;
}

} // namespace emulator
