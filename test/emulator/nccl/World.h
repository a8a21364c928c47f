//===- World.h - processes with a piece of memory in common -----*- C++ -*-===//
#ifndef EMULATOR_NCCL_WORLD_H
#define EMULATOR_NCCL_WORLD_H

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace emulator::nccl {

/// Who waits in vain for others gives up: EMULATED_NCCL_SECONDS without anything that moves.
class Patience {
public:
  Patience();
  void renew() { last = std::chrono::steady_clock::now(); }
  bool isOver() const { return std::chrono::steady_clock::now() - last > limit; }

private:
  std::chrono::steady_clock::duration limit;
  std::chrono::steady_clock::time_point last;
};

/// What one process says to another one: a piece of a message, until the other has taken it.
struct Channel {
  std::atomic<uint32_t> full;
  uint32_t call, type; // of the sender's call; the receiver's must be alike
  uint64_t numbers;    // of the whole message
  uint64_t bytes;      // of this piece
  std::array<std::byte, 64 * 1024> data;
};

using GpuId = std::array<char, 16>;

/// The processes that have joined under one name. Memory is a file's, which has no name as soon as
/// all have it.
class World {
public:
  /// A name for a world that nobody has joined. Throws std::string.
  static std::string makeName();

  /// Joins and waits for the others. Throws std::string where they do not come, or one has the same
  /// GPU.
  World(const std::string &name, int rank, int size, const GpuId &gpu);
  ~World();
  World(const World &) = delete;
  World &operator=(const World &) = delete;

  const int rank, size;
  Channel &channel(int from, int to) { return channels[from * size + to]; }

private:
  struct Member {
    std::atomic<uint32_t> joined;
    GpuId gpu;
  };
  Member *members = nullptr;
  Channel *channels = nullptr;
  size_t bytes = 0;
};

} // namespace emulator::nccl

#endif // EMULATOR_NCCL_WORLD_H
