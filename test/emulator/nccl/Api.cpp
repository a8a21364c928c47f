//===- Api.cpp - NCCL's functions, between emulated devices ---------------===//
//
// What a call or a group of calls moves goes through the host when the stream
// comes to it: from the device, to the other processes, to the device.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/Fault.h"
#include "test/emulator/nccl/Transfers.h"
#include "test/emulator/tests/Cuda.h"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#define EMULATED_NCCL extern "C" __attribute__((visibility("default"))) int

using namespace emulator;
using namespace emulator::nccl;

namespace {

enum Code { Success, UnhandledCuda, SystemError, Internal, InvalidArgument, InvalidUsage, Remote };

// ncclDataType_t's sizes.
constexpr size_t typeBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

struct UniqueId {
  char name[128];
};

struct Communicator;

/// What one group has of a communicator, with the memory that it goes through.
struct Group {
  Communicator *communicator;
  std::vector<Transfer> transfers;
};

struct Communicator {
  std::unique_ptr<World> world;
  std::vector<std::unique_ptr<Group>> groups; // kept until the end: the stream has them
  std::vector<void *> staging;
  int error = Success; // of what the stream has done
  int sends = 0, gathers = 0;
};

/// A call in a group that is still open.
struct Pending {
  Call call;
  bool sends;
  const void *from;
  void *to;
  size_t numbers;
  int type, peer;
  Communicator *communicator;
  Handle stream;
};

thread_local int depth = 0;
thread_local std::vector<Pending> open;
std::string lastError;

int failed(Code code, const std::string &what) {
  lastError = what;
  std::fprintf(stderr, "emulated NCCL: %s\n", what.c_str());
  return code;
}

void move(void *data) {
  Group &group = *static_cast<Group *>(data);
  if (group.communicator->error != Success)
    return;
  try {
    transfer(*group.communicator->world, group.transfers);
  } catch (const std::string &what) {
    group.communicator->error = failed(Remote, what);
  }
}

uint64_t addressOf(const void *memory) { return reinterpret_cast<uint64_t>(memory); }

/// Throws a code of the driver.
void check(int code) {
  if (code)
    throw code;
}

std::byte *stage(Communicator &communicator, size_t bytes) {
  void *memory = nullptr;
  check(cuMemHostAlloc(&memory, bytes, 0));
  communicator.staging.push_back(memory);
  return static_cast<std::byte *>(std::memset(memory, 0, bytes));
}

/// Queues calls of one communicator and stream.
void enqueue(const std::vector<Pending> &calls) {
  Communicator &communicator = *calls.front().communicator;
  Handle stream = calls.front().stream;
  communicator.groups.push_back(std::make_unique<Group>(Group{&communicator, {}}));
  Group &group = *communicator.groups.back();
  struct Back {
    uint64_t to;
    std::byte *from;
    size_t bytes;
  };
  std::vector<Back> back;
  const World &world = *communicator.world;
  for (const Pending &call : calls) {
    size_t bytes = call.numbers * typeBytes[call.type];
    if (bytes == 0)
      continue;
    auto add = [&](bool sends, int peer, std::byte *data) {
      group.transfers.push_back({sends, peer, call.call, call.type, call.numbers, bytes, data});
    };
    std::byte *sent = nullptr;
    if (call.from) {
      sent = stage(communicator, bytes);
      check(cuMemcpyDtoHAsync_v2(sent, addressOf(call.from), bytes, stream));
    }
    bool gathers = call.call == Call::AllGather;
    for (int other = 0; other < world.size; ++other) {
      if (gathers ? other == world.rank : other != call.peer)
        continue;
      if (call.from)
        add(true, other, sent);
      if (!call.to)
        continue;
      std::byte *received = stage(communicator, bytes);
      add(false, other, received);
      back.push_back({addressOf(call.to) + (gathers ? bytes * size_t(other) : 0), received, bytes});
    }
    if (gathers) // in place it is there
      back.push_back({addressOf(call.to) + bytes * size_t(world.rank), sent, bytes});
    (gathers ? communicator.gathers : communicator.sends) += call.from != nullptr;
  }
  check(cuLaunchHostFunc(stream, move, &group));
  for (const Back &copy : back)
    check(cuMemcpyHtoDAsync_v2(copy.to, copy.from, copy.bytes, stream));
}

int add(const Pending &call) {
  const char *name = call.call == Call::AllGather ? "ncclAllGather"
                     : call.sends                 ? "ncclSend"
                                                  : "ncclRecv";
  if (!call.communicator)
    return failed(InvalidArgument, text("%s: no communicator", name));
  const World &world = *call.communicator->world;
  if (call.type < 0 || size_t(call.type) >= std::size(typeBytes))
    return failed(InvalidArgument, text("%s: type %d", name, call.type));
  if (call.call == Call::Point && (call.peer < 0 || call.peer >= world.size))
    return failed(InvalidArgument, text("%s: rank %d of %d", name, call.peer, world.size));
  if (call.call == Call::Point && call.peer == world.rank)
    return failed(InvalidUsage, text("%s: to itself is not emulated", name));
  open.push_back(call);
  if (depth > 0)
    return Success;
  std::vector<Pending> calls = std::exchange(open, {});
  try {
    enqueue(calls);
  } catch (int code) {
    return failed(UnhandledCuda, text("%s: error %d of the driver", name, code));
  }
  return Success;
}

} // namespace

EMULATED_NCCL ncclGetVersion(int *version) {
  *version = 22700;
  return Success;
}

EMULATED_NCCL ncclGetUniqueId(UniqueId *id) {
  try {
    std::string name = World::makeName();
    if (name.size() >= sizeof(id->name))
      return failed(SystemError, name + ": too long");
    std::memset(id->name, 0, sizeof(id->name));
    std::memcpy(id->name, name.data(), name.size());
    return Success;
  } catch (const std::string &what) {
    return failed(SystemError, what);
  }
}

EMULATED_NCCL ncclCommInitRank(Communicator **result, int size, UniqueId id, int rank) {
  if (rank < 0 || rank >= size)
    return failed(InvalidArgument, text("ncclCommInitRank: rank %d of %d", rank, size));
  int device = 0;
  GpuId gpu;
  if (cuCtxGetDevice(&device) || cuDeviceGetUuid(&gpu, device))
    return failed(UnhandledCuda, "ncclCommInitRank: no context is current");
  try {
    auto made = std::make_unique<Communicator>();
    made->world = std::make_unique<World>(id.name, rank, size, gpu);
    *result = made.release();
    return Success;
  } catch (const std::string &what) {
    return failed(InvalidUsage, "ncclCommInitRank: " + what);
  }
}

EMULATED_NCCL ncclCommGetAsyncError(Communicator *communicator, int *error) {
  *error = communicator->error;
  return Success;
}

/// Frees what the stream has done or never will.
EMULATED_NCCL ncclCommAbort(Communicator *communicator) {
  if (communicator->error == Success)
    communicator->error = Remote;
  for (void *memory : communicator->staging)
    cuMemFreeHost(memory);
  const char *statistics = std::getenv("EMULATED_STATISTICS");
  if (statistics && std::atoi(statistics))
    std::fprintf(stderr, "emulated NCCL: rank %d of %d: %d sends, %d gathers\n",
                 communicator->world->rank, communicator->world->size, communicator->sends,
                 communicator->gathers);
  delete communicator;
  return Success;
}

EMULATED_NCCL ncclCommDestroy(Communicator *communicator) {
  cuCtxSynchronize();
  return ncclCommAbort(communicator);
}

EMULATED_NCCL ncclGroupStart() {
  ++depth;
  return Success;
}

EMULATED_NCCL ncclGroupEnd() {
  if (depth == 0)
    return failed(InvalidUsage, "ncclGroupEnd: no group is open");
  if (--depth > 0 || open.empty())
    return Success;
  std::vector<Pending> calls = std::exchange(open, {});
  for (const Pending &call : calls)
    if (call.communicator != calls.front().communicator || call.stream != calls.front().stream)
      return failed(InvalidUsage, "ncclGroupEnd: several communicators or streams in a group are "
                                  "not emulated");
  try {
    enqueue(calls);
  } catch (int code) {
    return failed(UnhandledCuda, text("ncclGroupEnd: error %d of the driver", code));
  }
  return Success;
}

EMULATED_NCCL ncclSend(const void *from, size_t numbers, int type, int peer,
                       Communicator *communicator, Handle stream) {
  return add({Call::Point, true, from, nullptr, numbers, type, peer, communicator, stream});
}

EMULATED_NCCL ncclRecv(void *to, size_t numbers, int type, int peer, Communicator *communicator,
                       Handle stream) {
  return add({Call::Point, false, nullptr, to, numbers, type, peer, communicator, stream});
}

EMULATED_NCCL ncclAllGather(const void *from, void *to, size_t numbers, int type,
                            Communicator *communicator, Handle stream) {
  return add({Call::AllGather, true, from, to, numbers, type, -1, communicator, stream});
}

extern "C" __attribute__((visibility("default"))) const char *ncclGetErrorString(int code) {
  constexpr const char *words[] = {"no error",
                                   "unhandled cuda error",
                                   "unhandled system error",
                                   "internal error",
                                   "invalid argument",
                                   "invalid usage",
                                   "remote process exited or there was a network error"};
  return code >= 0 && size_t(code) < std::size(words) ? words[code] : "unknown result code";
}

extern "C" __attribute__((visibility("default"))) const char *ncclGetLastError(Communicator *) {
  return lastError.c_str();
}
