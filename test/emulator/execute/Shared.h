//===- Shared.h - a block's shared memory and who touched it ----*- C++ -*-===//
//
// Per byte: whether it was written, and who wrote and read it last, and when.
// "When" is a clock of the thread's warp; each warp knows how far it has seen the
// others' (a vector clock), from barriers. An access races with one by another
// thread that it does not know of, if one of them writes. Who knows of a write
// knows of what that one knew: readers before it need not be remembered.
//
// Four bytes that are touched together, as nearly all are, are noted once.
//
//===----------------------------------------------------------------------===//
#ifndef EMULATOR_EXECUTE_SHARED_H
#define EMULATOR_EXECUTE_SHARED_H

#include <array>
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
    uint32_t granules = (size + granule - 1) / granule, all = granules * granule;
    if (data.size() < all) {
      data.resize(all);
      states.resize(all);
      touched.resize(granules);
      touchedApart.resize(granules);
      apart.resize(granules);
    }
    this->size = size;
    std::memset(states.data(), 0, all);
    std::memset(touched.data(), 0, granules * sizeof(Touch));
    std::memset(apart.data(), 0, granules);
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
    uint32_t tag = accessTag(clock, warp, lane);
    if (isWhole(at, bytes))
      for (uint32_t i = at; i < at + bytes; i += granule)
        setTogether(i, {tag, 0, 0});
    else
      for (uint32_t i = at; i < at + bytes; ++i)
        byteAt(i) = {tag, 0, 0};
  }

  uint32_t size = 0;
  std::vector<std::byte> data;
  uint32_t other = 0; ///< the tag that the last Race was with

private:
  struct Touch {
    uint32_t writer = 0, reader = 0,
             earlierReader = 0; // of two threads: one is not the next writer
  };
  static constexpr uint32_t granule = 4, allWritten = Written * 0x01010101;

  static bool isWhole(uint32_t at, uint32_t bytes) { return (at | bytes) % granule == 0; }
  uint32_t statesFrom(uint32_t at) const {
    uint32_t four;
    std::memcpy(&four, &states[at], granule);
    return four;
  }
  void setTogether(uint32_t at, const Touch &touch) {
    touched[at / granule] = touch;
    apart[at / granule] = false;
  }
  /// A byte's own, from now on.
  Touch &byteAt(uint32_t at) {
    uint32_t number = at / granule;
    if (!apart[number]) {
      apart[number] = true;
      touchedApart[number].fill(touched[number]);
    }
    return touchedApart[number][at % granule];
  }
  bool races(uint32_t tag, const Clocks &clocks, uint32_t own) {
    if (!tag || ((tag ^ own) & 0x3ff) == 0)
      return false;
    uint32_t warp = tag >> 5 & 31, clock = tag >> 10;
    // What another lane of the warp did is known once the warp's clock has moved on.
    bool known = warp == (own >> 5 & 31) ? clock < clocks.of[warp] : clock <= clocks.of[warp];
    other = known ? other : tag;
    return !known;
  }
  bool racesAsReader(Touch &touch, const Clocks &clocks, uint32_t own) {
    if (touch.reader == own) // and nobody has written since
      return false;
    if (races(touch.writer, clocks, own))
      return true;
    if (((touch.reader ^ own) & 0x3ff) != 0)
      touch.earlierReader = touch.reader;
    touch.reader = own;
    return false;
  }
  bool racesAsWriter(const Touch &touch, const Clocks &clocks, uint32_t own) {
    return races(touch.writer, clocks, own) || races(touch.reader, clocks, own) ||
           races(touch.earlierReader, clocks, own);
  }
  Conflict readBytes(uint32_t at, uint32_t bytes, const Clocks &clocks, uint32_t own,
                     bool uninitialized, bool races);
  Conflict writeBytes(uint32_t at, uint32_t bytes, const Clocks &clocks, uint32_t own, bool races);

  std::vector<uint8_t> states;
  std::vector<Touch> touched;                           ///< four bytes; unless they are apart
  std::vector<std::array<Touch, granule>> touchedApart; ///< theirs
  std::vector<uint8_t> apart;                           ///< whether four are
};

inline Shared::Conflict Shared::read(uint32_t at, uint32_t bytes, const Clocks &clocks, int warp,
                                     int lane, bool uninitialized, bool checkRaces) {
  uint32_t own = accessTag(clocks.of[warp], warp, lane);
  if (!isWhole(at, bytes))
    return readBytes(at, bytes, clocks, own, uninitialized, checkRaces);
  for (uint32_t i = at; i < at + bytes; i += granule) {
    if (statesFrom(i) != allWritten || apart[i / granule]) {
      Conflict conflict = readBytes(i, granule, clocks, own, uninitialized, checkRaces);
      if (conflict != Conflict::None)
        return conflict;
    } else if (checkRaces && racesAsReader(touched[i / granule], clocks, own))
      return Conflict::Race;
  }
  return Conflict::None;
}

inline Shared::Conflict Shared::write(uint32_t at, uint32_t bytes, const Clocks &clocks, int warp,
                                      int lane, bool checkRaces) {
  uint32_t own = accessTag(clocks.of[warp], warp, lane);
  if (!isWhole(at, bytes))
    return writeBytes(at, bytes, clocks, own, checkRaces);
  constexpr uint32_t anyPending = Pending * 0x01010101;
  for (uint32_t i = at; i < at + bytes; i += granule) {
    if ((statesFrom(i) & anyPending) || apart[i / granule]) {
      Conflict conflict = writeBytes(i, granule, clocks, own, checkRaces);
      if (conflict != Conflict::None)
        return conflict;
    } else if (checkRaces && racesAsWriter(touched[i / granule], clocks, own))
      return Conflict::Race;
    std::memset(&states[i], Written, granule);
    setTogether(i, {own, 0, 0});
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
