//===- Shared.cpp - bytes of shared memory that are touched apart ---------===//
#include "test/emulator/execute/Shared.h"

namespace emulator {

Shared::Conflict Shared::readBytes(uint32_t at, uint32_t bytes, const Clocks &clocks, uint32_t own,
                                   bool uninitialized, bool checkRaces) {
  for (uint32_t i = at; i < at + bytes; ++i) {
    if (states[i] == Pending)
      return Conflict::Pending;
    if (uninitialized && states[i] == Unwritten)
      return Conflict::Unwritten;
    if (checkRaces && racesAsReader(byteAt(i), clocks, own))
      return Conflict::Race;
  }
  return Conflict::None;
}

Shared::Conflict Shared::writeBytes(uint32_t at, uint32_t bytes, const Clocks &clocks, uint32_t own,
                                    bool checkRaces) {
  for (uint32_t i = at; i < at + bytes; ++i) {
    if (states[i] == Pending)
      return Conflict::Pending;
    states[i] = Written;
    Touch &touch = byteAt(i);
    if (checkRaces && racesAsWriter(touch, clocks, own))
      return Conflict::Race;
    touch = {own, 0, 0};
  }
  return Conflict::None;
}

} // namespace emulator
