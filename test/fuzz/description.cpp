//===- description.cpp - fuzz target: what a module says of itself --------===//
#include "runtime/abi/Description.h"
#include "runtime/base/Error.h"
#include "test/fuzz/Fuzz.h"

using namespace transformer;
using namespace transformer::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t functions = 3;
  try {
    Description module = parseDescription("module", std::string(fuzz::text(data, size)), functions);
    // What follows indexes without looking again.
    for (const PreparedInfo &item : module.prepared) {
      if (item.function >= functions)
        abort();
      for (size_t source : item.sources)
        if (source >= module.parameters.size() + module.prepared.size())
          abort();
    }
    for (const SlotInfo &slot : module.slots)
      if (slot.index >=
          (slot.kind == SlotInfo::Parameter ? module.parameters.size() : module.prepared.size()))
        abort();
    for (const EntryInfo &entry : module.entries) {
      if (entry.function >= functions)
        abort();
      for (size_t state : entry.states)
        if (state >= module.states.size())
          abort();
      entry.firstMask();
    }
  } catch (const Error &) {
  }
  return 0;
}
