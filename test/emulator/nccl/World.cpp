//===- World.cpp - processes with a piece of memory in common -------------===//
#include "test/emulator/nccl/World.h"

#include "test/emulator/Fault.h"

#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace emulator::nccl {

Patience::Patience() {
  const char *value = std::getenv("EMULATED_NCCL_SECONDS");
  limit = std::chrono::seconds(value && *value ? std::atoi(value) : 60);
  renew();
}

std::string World::makeName() {
  const char *folder = std::getenv("TMPDIR");
  std::string name = std::string(folder && *folder ? folder : "/tmp") + "/emulated-nccl-XXXXXX";
  int file = mkstemp(name.data());
  if (file < 0)
    throw text("%s: cannot be made", name.c_str());
  close(file);
  return name;
}

World::World(const std::string &name, int rank, int size, const GpuId &gpu)
    : rank(rank), size(size) {
  size_t before = (size_t(size) * sizeof(Member) + 63) / 64 * 64;
  bytes = before + size_t(size) * size_t(size) * sizeof(Channel);
  int file = open(name.c_str(), O_RDWR);
  if (file < 0 || ftruncate(file, off_t(bytes)) != 0)
    throw text("%s: cannot be opened", name.c_str());
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED)
    throw text("%s: cannot be mapped", name.c_str());
  members = static_cast<Member *>(memory); // zeros
  channels = reinterpret_cast<Channel *>(static_cast<char *>(memory) + before);
  members[rank].gpu = gpu;
  members[rank].joined = 1;
  Patience patience;
  for (int other = 0; other < size; ++other) {
    while (!members[other].joined) {
      if (patience.isOver())
        throw text("rank %d waits for rank %d, which does not join", rank, other);
      std::this_thread::yield();
    }
    if (other != rank && members[other].gpu == gpu)
      throw text("ranks %d and %d have the same GPU", std::min(rank, other), std::max(rank, other));
  }
  unlink(name.c_str());
}

World::~World() { munmap(members, bytes); }

} // namespace emulator::nccl
