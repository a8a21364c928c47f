//===- AsyncCopy.cpp - cp.async -------------------------------------------===//
//
// As late as the hardware may: the bytes arrive when the thread waits for them,
// and who touches them before is at fault.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"

namespace emulator {
namespace {

// cp.async.ca.shared.global [d], [a], size, sourceSize: what is not read is zero.
void copy(Warp &w, const Instruction &in, Mask mask) {
  uint32_t bytes = in.variant;
  eachLane(mask, [&](int i) {
    uint64_t to = in.variant2 & 1 ? w.in<uint32_t>(in.op[0])[i] : w.in<uint64_t>(in.op[0])[i];
    to = ofBlock(w, sharedAddress(to, int32_t(in.immediate)));
    uint64_t from = w.in<uint64_t>(in.op[1])[i] + (in.immediate >> 32);
    uint32_t sourceBytes = in.op[2] == nowhere ? bytes : w.in<uint32_t>(in.op[2])[i];
    if (sourceBytes > bytes)
      throw Fault{Result::LaunchFailed, text("%u of %u bytes from the source", sourceBytes, bytes),
                  i};
    sharedAt(w, i, to, bytes);
    if (from & (bytes - 1))
      faultMisaligned(i, from, bytes);
    const std::byte *source = nullptr;
    if (sourceBytes) {
      Allocation &found = *allocationOf(w, i, from, sourceBytes, Space::Global);
      if (options().uninitialized && !found.isWritten(from - found.address, sourceBytes))
        faultUnwritten(i, from, sourceBytes, "global memory");
      source = found.data + (from - found.address);
    }
    auto conflict = w.block->shared.expectCopy(to - sharedBase, bytes, w.clocks, w.number, i,
                                               options().sharedRaces);
    if (conflict != Shared::Conflict::None)
      faultShared(w, i, to, bytes, conflict, true, w.block->shared);
    w.copies.push_back({i, uint32_t(to - sharedBase), bytes, sourceBytes, source, -1});
  });
}

void commit(Warp &w, const Instruction &, Mask mask) {
  for (PendingCopy &copy : w.copies)
    if (mask >> copy.lane & 1 && copy.group < 0)
      copy.group = w.committed[copy.lane];
  eachLane(mask, [&](int i) { ++w.committed[i]; });
}

void wait(Warp &w, const Instruction &in, Mask mask) { deliverCopies(w, mask, in.immediate); }

void decode(Decoder &d) {
  if (decodeBulkCopy(d) || decodeArriveOfCopies(d))
    return;
  if (d.statement().parts.size() < 3 || d.statement().parts[1] != "async")
    d.unknown();
  if (d.has("commit_group"))
    d.add(commit);
  else if (d.has("wait_all"))
    d.add(wait).immediate = -1;
  else if (d.has("wait_group"))
    d.add(wait).immediate = d.operand(0).value;
  else {
    Decoder::Address to = d.address(d.operand(0), Space::Shared);
    Decoder::Address from = d.address(d.operand(1), Space::Global);
    int64_t bytes = d.operand(2).value;
    if ((bytes != 4 && bytes != 8 && bytes != 16) || from.baseBytes != 8 ||
        (d.has("cg") && bytes != 16))
      d.unknown();
    Instruction &in = d.add(copy, {to.base, from.base});
    if (d.numOperands() > 3)
      in.op[2] = d.source(3, 4);
    in.variant = bytes;
    in.variant2 = to.baseBytes == 4;
    in.immediate = int64_t(from.offset) << 32 | uint32_t(to.offset);
  }
}

} // namespace

void deliverCopies(Warp &w, Mask mask, int64_t left) {
  Shared &shared = w.block->shared;
  std::erase_if(w.copies, [&](const PendingCopy &copy) {
    bool arrives = mask >> copy.lane & 1 &&
                   (left < 0 || (copy.group >= 0 && copy.group < w.committed[copy.lane] - left));
    if (arrives) {
      std::byte *at = shared.data.data() + copy.at;
      std::memset(at, 0, copy.bytes);
      if (copy.sourceBytes)
        std::memcpy(at, copy.source, copy.sourceBytes);
      shared.arrive(copy.at, copy.bytes, w.clocks.of[w.number], w.number, copy.lane);
    }
    return arrives;
  });
}

void addAsyncCopy(Table &table) { table["cp"] = decode; }

} // namespace emulator
