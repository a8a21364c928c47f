//===- BulkCopy.cpp - cp.async.bulk, of lines and of boxes of tensors -----===//
//
// To shared memory: read now, there when the mbarrier's phase ends. From shared
// memory: at once; the group that is waited for has nothing left to do.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/decode/Lanes.h"
#include "test/emulator/execute/Cluster.h"

#include <algorithm>

namespace emulator {
namespace {

constexpr uint32_t chunkBytes = 16;
using Chunk = std::array<std::byte, chunkBytes>;

// Places of an instruction, in the order in which they are listed.
enum Listed { Target, Source, Completion, Bytes, Ranks, Coordinates };

uint64_t value(const Warp &w, Place place, int bytes, int lane) {
  return bytes == 4 ? w.in<uint32_t>(place)[lane] : w.in<uint64_t>(place)[lane];
}

const TensorMap &mapAt(Warp &w, int lane, uint64_t address) {
  const std::byte *at;
  if (isIn(Window::Parameter, address)) {
    uint64_t offset = address & ~windowOf(Window::Parameter);
    const auto &parameters = w.block->launch->parameters;
    if (offset + 128 > parameters.size())
      faultOutside(w, lane, offset, 128, Space::Parameter);
    at = parameters.data() + offset;
  } else
    at = allocationOf(w, lane, address, 128, Space::Global)->data +
         (address & ((uint64_t{1} << Allocation::shift) - 1));
  const auto &map = *reinterpret_cast<const TensorMap *>(at);
  if (map.magic != TensorMap::magicNumber)
    throw Fault{Result::IllegalAddress,
                text("there is no tensor map at 0x%llx", (unsigned long long)address), lane};
  return map;
}

// body(offset in the box, address in global memory or 0 where the tensor has ended) for each
// element.
template <typename Body> void eachElement(const TensorMap &map, const int32_t *at, Body body) {
  uint32_t index[5] = {}, offset = 0;
  while (true) {
    uint64_t address = map.address;
    for (int d = 0; d < map.rank; ++d) {
      int64_t coordinate = int64_t(at[d]) + index[d];
      bool inside = coordinate >= 0 && coordinate <= map.last[d];
      address = inside && address ? address + coordinate * map.stride[d] : 0;
    }
    body(offset, address);
    offset += map.elementBytes;
    int d = 0;
    while (d < map.rank && ++index[d] == map.box[d])
      index[d++] = 0;
    if (d == map.rank)
      return;
  }
}

void expectIn(Block &block, Warp &w, int lane, const BulkCopy &copy) {
  for (const auto &[at, bytes] : copy.contents) {
    sharedAt(w, lane, at + sharedBase, chunkBytes);
    auto conflict =
        block.shared.expectCopy(at, chunkBytes, w.clocks, w.number, lane, options().sharedRaces);
    if (conflict != Shared::Conflict::None)
      faultShared(w, lane, at + sharedBase, chunkBytes, conflict, true, block.shared);
  }
  if (!block.mbarriers.count(copy.barrier))
    throw Fault{Result::LaunchFailed,
                text("no mbarrier was initialised at shared address 0x%x%s", copy.barrier,
                     &block == w.block ? "" : " of the other block"),
                lane};
  checkInitialised(block, w, lane, copy.barrier);
  block.bulkCopies.push_back(copy);
}

// To the same places of this block, or of those of the cluster that `ranks` names.
void expect(Warp &w, int lane, BulkCopy &copy, Mask ranks) {
  copy.warp = w.number;
  copy.lane = lane;
  copy.clock = w.clocks.of[w.number];
  if (!ranks)
    expectIn(*w.block, w, lane, copy);
  for (; ranks; ranks &= ranks - 1)
    expectIn(w.block->cluster->block(std::countr_zero(ranks), lane), w, lane, copy);
  ++w.clocks.of[w.number];
}

// in.variant: bytes of the target's register (4 bits), of the barrier's. immediate: offsets of the
// three addresses, 20 bits each.
struct Operands {
  uint64_t target, source;
  uint32_t barrier, bytes;
  Mask ranks; ///< of a multicast, else 0
  int32_t coordinates[5];

  Operands(const Warp &w, const Instruction &in, int lane) {
    const Place *places = &w.block->launch->kernel->places[in.list];
    auto offset = [&](int i) { return in.immediate << (44 - 20 * i) >> 44; };
    target = value(w, places[Target], in.variant & 15, lane) + offset(0);
    source = value(w, places[Source], in.variant2, lane) + offset(1);
    barrier = places[Completion] == nowhere
                  ? 0
                  : value(w, places[Completion], in.variant >> 4, lane) + offset(2);
    target = ofBlock(w, target), source = ofBlock(w, source), barrier = ofBlock(w, barrier);
    bytes = places[Bytes] == nowhere ? 0 : w.in<uint32_t>(places[Bytes])[lane];
    ranks = places[Ranks] == nowhere ? 0 : w.in<uint16_t>(places[Ranks])[lane];
    if (places[Ranks] != nowhere && !ranks)
      throw Fault{Result::LaunchFailed, "a multicast to no block", lane};
    for (int i = Coordinates; i < in.count; ++i)
      coordinates[i - Coordinates] = w.in<int32_t>(places[i])[lane];
  }
};

void checkRank(const TensorMap &map, const Instruction &in, int lane) {
  if (map.rank != in.count - Coordinates)
    throw Fault{
        Result::LaunchFailed,
        text("a tensor map of %d dimensions with %d coordinates", map.rank, in.count - Coordinates),
        lane};
}

void loadBox(Warp &w, const Instruction &in, Mask mask) {
  eachLane(mask, [&](int lane) {
    Operands o(w, in, lane);
    const TensorMap &map = mapAt(w, lane, o.source);
    checkRank(map, in, lane);
    uint32_t to = uint32_t(o.target) & ~uint32_t(windowOf(Window::Shared));
    if (to % 128)
      faultMisaligned(lane, to, 128);
    BulkCopy copy;
    copy.barrier = o.barrier;
    eachElement(map, o.coordinates, [&](uint32_t offset, uint64_t address) {
      if (offset % chunkBytes == 0)
        copy.contents.push_back({swizzled(to + offset, map.swizzle) - sharedBase, {}});
      std::byte *at = copy.contents.back().second.data() + offset % chunkBytes;
      if (address)
        std::memcpy(at, readGlobal(w, lane, address, map.elementBytes, Space::Global),
                    map.elementBytes);
      else if (map.fillNan)
        std::memset(at, 0xff, map.elementBytes);
    });
    expect(w, lane, copy, o.ranks);
  });
}

void storeBox(Warp &w, const Instruction &in, Mask mask) {
  eachLane(mask, [&](int lane) {
    Operands o(w, in, lane);
    const TensorMap &map = mapAt(w, lane, o.target);
    checkRank(map, in, lane);
    uint32_t from = uint32_t(o.source);
    if (from % 128)
      faultMisaligned(lane, from, 128);
    eachElement(map, o.coordinates, [&](uint32_t offset, uint64_t address) {
      const std::byte *at =
          readShared(w, lane, swizzled(from + offset, map.swizzle), map.elementBytes);
      if (address)
        std::memcpy(writeGlobal(w, lane, address, map.elementBytes, Space::Global), at,
                    map.elementBytes);
    });
  });
}

void checkLine(const Operands &o, int lane) {
  if (o.bytes % chunkBytes || !o.bytes)
    throw Fault{Result::LaunchFailed, text("a bulk copy of %u bytes: no multiple of 16", o.bytes),
                lane};
  if ((o.target | o.source) % chunkBytes)
    faultMisaligned(lane, o.target % chunkBytes ? o.target : o.source, chunkBytes);
}

void loadLine(Warp &w, const Instruction &in, Mask mask) {
  eachLane(mask, [&](int lane) {
    Operands o(w, in, lane);
    checkLine(o, lane);
    BulkCopy copy;
    copy.barrier = o.barrier;
    uint32_t to = uint32_t(o.target);
    for (uint32_t at = 0; at < o.bytes; at += chunkBytes) {
      copy.contents.push_back({to + at - sharedBase, {}});
      std::memcpy(copy.contents.back().second.data(),
                  readGlobal(w, lane, o.source + at, chunkBytes, Space::Global), chunkBytes);
    }
    expect(w, lane, copy, o.ranks);
  });
}

void storeLine(Warp &w, const Instruction &in, Mask mask) {
  eachLane(mask, [&](int lane) {
    Operands o(w, in, lane);
    checkLine(o, lane);
    for (uint32_t at = 0; at < o.bytes; at += chunkBytes) {
      const std::byte *from = readShared(w, lane, uint32_t(o.source) + at, chunkBytes);
      std::memcpy(writeGlobal(w, lane, o.target + at, chunkBytes, Space::Global), from, chunkBytes);
    }
  });
}

} // namespace

bool decodeBulkCopy(Decoder &d) {
  if (!d.has("bulk"))
    return false;
  if (d.has("commit_group") || d.has("wait_group") || d.has("prefetch"))
    return true;
  if (d.has("reduce") || d.has("im2col") || d.statement().parts[0] != "cp")
    d.unknown();
  bool box = d.has("tensor"), store = d.has("bulk_group");
  if (!store && !d.has("mbarrier::complete_tx::bytes"))
    d.unknown();
  std::vector<Place> places(Coordinates, nowhere);
  Decoder::Address target = d.address(d.operand(0), store ? Space::Global : Space::Shared);
  Decoder::Address source = d.address(d.operand(1), store ? Space::Shared : Space::Global);
  Decoder::Address barrier = {nowhere, 4, 0, Space::Shared};
  places[Target] = target.base;
  places[Source] = source.base;
  if (!box)
    places[Bytes] = d.source(2, 4);
  if (!store)
    barrier = d.address(d.operand(box ? 2 : 3), Space::Shared);
  if (d.has("multicast::cluster"))
    places[Ranks] = d.source(box ? 3 : 4, 2);
  places[Completion] = barrier.base;
  if (box)
    for (const ptx::Operand &one : d.operand(store ? 0 : 1).elements)
      places.push_back(d.source(one, 4));
  Instruction &in = d.add(box ? (store ? storeBox : loadBox) : (store ? storeLine : loadLine));
  d.list(in, places);
  in.variant = target.baseBytes | barrier.baseBytes << 4;
  in.variant2 = source.baseBytes;
  in.immediate = (target.offset & 0xfffff) | (source.offset & 0xfffff) << 20 |
                 (barrier.offset & 0xfffff) << 40;
  return true;
}

} // namespace emulator
