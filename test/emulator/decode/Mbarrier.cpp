//===- Mbarrier.cpp - mbarrier --------------------------------------------===//
//
// A phase ends when all arrivals and all bytes have come. Who then sees that it
// has knows what those knew who arrived.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/execute/Cluster.h"

#include <algorithm>

namespace emulator {
namespace {

uint32_t addressOf(const Warp &w, const Instruction &in, int lane) {
  uint64_t address =
      in.variant2 == 4 ? w.in<uint32_t>(in.op[4])[lane] : w.in<uint64_t>(in.op[4])[lane];
  return ofBlock(w, uint32_t((address & ~windowOf(Window::Shared)) + in.immediate));
}

Mbarrier &barrierAt(Warp &w, int lane, Block &block, uint32_t address) {
  sharedAt(w, lane, address, 8);
  auto found = block.mbarriers.find(address);
  if (found == block.mbarriers.end())
    throw Fault{Result::LaunchFailed,
                text("no mbarrier was initialised at shared address 0x%x%s", address,
                     &block == w.block ? "" : " of the other block"),
                lane};
  return found->second;
}
Mbarrier &barrierAt(Warp &w, int lane, uint32_t address) {
  return barrierAt(w, lane, *w.block, address);
}

void endPhase(Mbarrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.released.join(barrier.arrived);
}

// What it waits for besides arrivals comes now, the copy that was issued last first.
void deliver(Warp &w, uint32_t address, Mbarrier &barrier) {
  Block &block = *w.block;
  if (barrier.pending)
    return;
  for (size_t i = block.bulkCopies.size(); i-- > 0;) {
    const BulkCopy &copy = block.bulkCopies[i];
    if (copy.barrier != address)
      continue;
    for (const auto &[at, bytes] : copy.contents) {
      std::memcpy(block.shared.data.data() + at, bytes.data(), bytes.size());
      block.shared.arrive(at, bytes.size(), copy.clock, copy.warp, copy.lane);
    }
    barrier.bytes -= copy.contents.size() * 16;
    barrier.arrived.of[copy.warp] = std::max(barrier.arrived.of[copy.warp], copy.clock);
    block.bulkCopies.erase(block.bulkCopies.begin() + i);
  }
  endPhase(barrier);
}

void initialise(Warp &w, const Instruction &in, Mask mask) {
  eachLane(mask, [&](int i) {
    uint32_t address = addressOf(w, in, i), count = w.in<uint32_t>(in.op[1])[i];
    writeShared(w, i, address, 8);
    if (count == 0 || count >= 1 << 20)
      throw Fault{Result::LaunchFailed, text("an mbarrier of %u arrivals", count), i};
    Mbarrier &barrier = w.block->mbarriers[address] = {};
    barrier.expected = barrier.pending = count;
  });
}

void invalidate(Warp &w, const Instruction &in, Mask mask) {
  eachLane(mask, [&](int i) {
    barrierAt(w, i, addressOf(w, in, i));
    w.block->mbarriers.erase(addressOf(w, in, i));
  });
}

void arriveAt(Warp &w, int lane, Mbarrier &barrier, uint32_t count) {
  if (count > barrier.pending)
    throw Fault{Result::LaunchFailed,
                text("%u arrivals at an mbarrier that waits for %u more", count, barrier.pending),
                lane};
  barrier.pending -= count;
  barrier.arrived.join(w.clocks);
  ++w.clocks.of[w.number];
  endPhase(barrier);
}

// Where a shared::cluster address leads.
Mbarrier &barrierInCluster(Warp &w, int lane, uint32_t address) {
  auto [block, there] = clusterAddress(w, lane, address);
  Mbarrier &barrier = barrierAt(w, lane, *block, there);
  checkInitialised(*block, w, lane, there);
  return barrier;
}

// op[0] the state or nowhere, op[1] how many or how many bytes. variant: 1 expects bytes, 2
// arrives, 4 in the cluster.
void arrive(Warp &w, const Instruction &in, Mask mask) {
  eachLane(mask, [&](int i) {
    uint32_t address = addressOf(w, in, i);
    Mbarrier &barrier = in.variant & 4 ? barrierInCluster(w, i, address) : barrierAt(w, i, address);
    uint32_t count = in.op[1] == nowhere ? 1 : w.in<uint32_t>(in.op[1])[i];
    uint64_t phase = barrier.phase;
    if (in.variant & 1) {
      barrier.bytes += count;
      count = 1;
    }
    if (in.variant & 2)
      arriveAt(w, i, barrier, count);
    if (in.op[0] != nowhere)
      w.reg<uint64_t>(in.op[0])[i] = phase;
  });
}

// op[0] the predicate, op[1] the state or the parity. variant: 1 is a parity, 2 may wait.
void wait(Warp &w, const Instruction &in, Mask mask) {
  bool all = true;
  eachLane(mask, [&](int i) {
    uint32_t address = addressOf(w, in, i);
    Mbarrier &barrier = barrierAt(w, i, address);
    deliver(w, address, barrier);
    uint64_t asked = in.variant & 1 ? w.in<uint32_t>(in.op[1])[i] : w.in<uint64_t>(in.op[1])[i];
    bool done = in.variant & 1 ? (barrier.phase & 1) != (asked & 1) : barrier.phase != asked;
    if (done)
      w.clocks.join(barrier.released);
    all &= done;
    Mask &p = *w.reg<Mask>(in.op[0]);
    p = (p & ~(1u << i)) | Mask(done) << i;
  });
  if (!all) // others shall have their turn
    w.yielding = w.changed = true;
}

// cp.async.mbarrier.arrive: once the thread's copies have arrived.
void arriveOfCopies(Warp &w, const Instruction &in, Mask mask) {
  deliverCopies(w, mask, -1);
  eachLane(mask, [&](int i) {
    Mbarrier &barrier = barrierAt(w, i, addressOf(w, in, i));
    if (!in.variant)
      ++barrier.pending;
    arriveAt(w, i, barrier, 1);
  });
}

void setAddress(Decoder &d, Instruction &in, size_t operand) {
  Decoder::Address address = d.address(d.operand(operand), Space::Shared);
  in.op[4] = address.base;
  in.variant2 = address.baseBytes;
  in.immediate = address.offset;
}

void decode(Decoder &d) {
  const std::string &what = d.statement().parts.size() > 1 ? d.statement().parts[1] : "";
  if (what == "init" || what == "inval") {
    Instruction &in = d.add(what == "init" ? initialise : invalidate);
    setAddress(d, in, 0);
    if (what == "init")
      in.op[1] = d.source(1, 4);
  } else if (what == "test_wait" || what == "try_wait") {
    bool parity = d.has("parity");
    Instruction &in = d.add(wait, {d.destination(0, 0), d.source(2, parity ? 4 : 8)});
    setAddress(d, in, 1);
    in.variant = parity;
  } else if (what == "expect_tx") {
    Instruction &in = d.add(arrive, {nowhere, d.source(1, 4)});
    setAddress(d, in, 0);
    in.variant = 1;
  } else if (what == "arrive" && !d.has("noComplete")) {
    bool returns = d.operand(0).kind != ptx::Operand::Address;
    Instruction &in = d.add(arrive, {returns ? d.destination(0, 8) : nowhere});
    setAddress(d, in, returns);
    if (d.numOperands() > 1u + returns)
      in.op[1] = d.source(1 + returns, 4);
    in.variant = (d.has("expect_tx") ? 3 : 2) | (d.has("shared::cluster") ? 4 : 0);
    if (d.has("shared::cluster") && d.operand(0).kind == ptx::Operand::Register)
      d.fail("the state of another block's mbarrier");
  } else
    d.unknown();
}

} // namespace

bool decodeArriveOfCopies(Decoder &d) {
  if (!d.has("mbarrier") || !d.has("arrive"))
    return false;
  Instruction &in = d.add(arriveOfCopies);
  setAddress(d, in, 0);
  in.variant = d.has("noinc");
  return true;
}

void addMbarrier(Table &table) { table["mbarrier"] = decode; }

} // namespace emulator
