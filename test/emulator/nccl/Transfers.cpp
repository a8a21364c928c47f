//===- Transfers.cpp - messages between processes -------------------------===//
#include "test/emulator/nccl/Transfers.h"

#include "test/emulator/Fault.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

namespace emulator::nccl {
namespace {

const char *nameOf(Call call, bool sends) {
  return call == Call::AllGather ? "ncclAllGather" : sends ? "ncclSend" : "ncclRecv";
}

std::string describe(const World &world, const Transfer &transfer) {
  return text("rank %d: %s of %zu numbers of type %d %s rank %d", world.rank,
              nameOf(transfer.call, transfer.sends), transfer.numbers, transfer.type,
              transfer.sends ? "to" : "from", transfer.peer);
}

bool isDone(World &world, const Transfer &transfer) {
  return transfer.done == transfer.bytes &&
         !(transfer.sends && world.channel(world.rank, transfer.peer).full);
}

/// Whether anything moved.
bool send(World &world, Transfer &transfer) {
  Channel &channel = world.channel(world.rank, transfer.peer);
  if (channel.full)
    return false;
  channel.call = uint32_t(transfer.call);
  channel.type = uint32_t(transfer.type);
  channel.numbers = transfer.numbers;
  channel.bytes = std::min(transfer.bytes - transfer.done, channel.data.size());
  std::memcpy(channel.data.data(), transfer.data + transfer.done, channel.bytes);
  transfer.done += channel.bytes;
  channel.full = 1;
  return true;
}

bool receive(World &world, Transfer &transfer) {
  Channel &channel = world.channel(transfer.peer, world.rank);
  if (!channel.full)
    return false;
  if (channel.call != uint32_t(transfer.call) || channel.type != uint32_t(transfer.type) ||
      channel.numbers != transfer.numbers)
    throw text("%s, which sends %llu of type %u by %s", describe(world, transfer).c_str(),
               (unsigned long long)channel.numbers, channel.type, nameOf(Call(channel.call), true));
  std::memcpy(transfer.data + transfer.done, channel.data.data(), channel.bytes);
  transfer.done += channel.bytes;
  channel.full = 0;
  return true;
}

} // namespace

void transfer(World &world, std::vector<Transfer> &transfers) {
  Patience patience;
  for (;;) {
    std::set<std::pair<bool, int>> busy; // directions
    const Transfer *waiting = nullptr;
    bool moved = false;
    for (Transfer &one : transfers) {
      if (isDone(world, one) || !busy.insert({one.sends, one.peer}).second)
        continue;
      waiting = &one;
      if (one.done < one.bytes)
        moved |= one.sends ? send(world, one) : receive(world, one);
    }
    if (!waiting)
      return;
    if (moved)
      patience.renew();
    else if (patience.isOver())
      throw text("%s: the other side does not come", describe(world, *waiting).c_str());
    else
      std::this_thread::yield();
  }
}

} // namespace emulator::nccl
