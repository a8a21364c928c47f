//===- Shared.h - a block's shared memory and who touched it ----*- C++ -*-===//
//
// Per byte: whether it was written, and who wrote and read it last, and when.
// "When" is a clock of the thread's warp; each warp knows how far it has seen the
// others' (a vector clock), from barriers. An access races with one by another
// thread that it does not know of, if one of them writes.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_EXECUTE_SHARED_H
#define EMULATOR_EXECUTE_SHARED_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace emulator {

constexpr int maxWarps = 32;
struct Clocks {
  uint32_t of[maxWarps];
  void join(const Clocks &other) {
    for (int i = 0; i < maxWarps; ++i)
      of[i] = of[i] < other.of[i] ? other.of[i] : of[i];
  }
};

/// 22 bits of a warp's clock, 5 of the warp, 5 of the lane.
constexpr uint32_t accessTag(uint32_t clock, int warp, int lane) {
  return clock << 10 | warp << 5 | lane;
}

class Shared {
public:
  enum State : uint8_t { Unwritten, Written, Pending };
  enum class Conflict { None, Unwritten, Pending, Race };

  void reset(uint32_t size) {
    if (data.size() < size) {
      data.resize(size);
      states.resize(size);
      touched.resize(size);
    }
    this->size = size;
    std::memset(states.data(), 0, size);
    std::memset(touched.data(), 0, size * sizeof(Touch));
  }

  /// Notes it and returns what is wrong with it; `at` counts from the block's first byte.
  Conflict read(uint32_t at, uint32_t bytes, const Clocks &clocks, int warp, int lane,
                bool uninitialized, bool races);
  Conflict write(uint32_t at, uint32_t bytes, const Clocks &clocks, int warp, int lane, bool races);
  /// A copy is under way: who touches the bytes before it has arrived is wrong.
  Conflict expectCopy(uint32_t at, uint32_t bytes, const Clocks &clocks, int warp, int lane,
                      bool races);

  /// It has: as if the thread had written the bytes at that time.
  void arrive(uint32_t at, uint32_t bytes, uint32_t clock, int warp, int lane) {
    std::memset(&states[at], Written, bytes);
    for (uint32_t i = at; i < at + bytes; ++i)
      touched[i].writer = accessTag(clock, warp, lane);
  }

  uint32_t size = 0;
  std::vector<std::byte> data;
  uint32_t other = 0; ///< the tag that the last Race was with

private:
  struct Touch {
    uint32_t writer = 0, reader = 0,
             earlierReader = 0; // of two threads: one is not the next writer
  };
  bool races(uint32_t tag, const Clocks &clocks, uint32_t own) {
    if (!tag || ((tag ^ own) & 0x3ff) == 0)
      return false;
    uint32_t warp = tag >> 5 & 31, clock = tag >> 10;
    // What another lane of the warp did is known once the warp's clock has moved on.
    bool known = warp == (own >> 5 & 31) ? clock < clocks.of[warp] : clock <= clocks.of[warp];
    other = known ? other : tag;
    return !known;
  }

  std::vector<uint8_t> states;
  std::vector<Touch> touched;
};

inline Shared::Conflict Shared::read(uint32_t at, uint32_t bytes, const Clocks &clocks, int warp,
                                     int lane, bool uninitialized, bool checkRaces) {
  uint32_t own = accessTag(clocks.of[warp], warp, lane);
  for (uint32_t i = at; i < at + bytes; ++i) {
    if (states[i] == Pending)
      return Conflict::Pending;
    if (uninitialized && states[i] == Unwritten)
      return Conflict::Unwritten;
    if (!checkRaces)
      continue;
    Touch &touch = touched[i];
    if (races(touch.writer, clocks, own))
      return Conflict::Race;
    if (((touch.reader ^ own) & 0x3ff) != 0)
      touch.earlierReader = touch.reader;
    touch.reader = own;
  }
  return Conflict::None;
}

inline Shared::Conflict Shared::write(uint32_t at, uint32_t bytes, const Clocks &clocks, int warp,
                                      int lane, bool checkRaces) {
  uint32_t own = accessTag(clocks.of[warp], warp, lane);
  for (uint32_t i = at; i < at + bytes; ++i) {
    if (states[i] == Pending)
      return Conflict::Pending;
    states[i] = Written;
    if (!checkRaces)
      continue;
    Touch &touch = touched[i];
    if (races(touch.writer, clocks, own) || races(touch.reader, clocks, own) ||
        races(touch.earlierReader, clocks, own))
      return Conflict::Race;
    touch.writer = own;
  }
  return Conflict::None;
}

inline Shared::Conflict Shared::expectCopy(uint32_t at, uint32_t bytes, const Clocks &clocks,
                                           int warp, int lane, bool checkRaces) {
  Conflict conflict = write(at, bytes, clocks, warp, lane, checkRaces);
  if (conflict == Conflict::None)
    std::memset(&states[at], Pending, bytes);
  return conflict;
}

} // namespace emulator

#endif // EMULATOR_EXECUTE_SHARED_H
