//===- TensorMaps.cpp - cuTensorMapEncodeTiled ----------------------------===//
#include "test/emulator/driver/Driver.h"
#include "test/emulator/execute/Asynchronous.h"

using namespace emulator;

namespace {

// In the order of CUtensorMapDataType.
constexpr uint8_t elementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

} // namespace

EMULATED_CUDA cuTensorMapEncodeTiled(void *result, unsigned type, unsigned rank, void *address,
                                     const uint64_t *sizes, const uint64_t *strides,
                                     const uint32_t *box, const uint32_t *elementStrides,
                                     int interleave, int swizzle, int, int outside) {
  return inContext("cuTensorMapEncodeTiled", [&] {
    auto check = [](bool condition, const std::string &message) {
      require(condition, Result::InvalidValue, message);
    };
    check(type < std::size(elementBytes), text("data type %u", type));
    check(rank >= 1 && rank <= 5, text("%u dimensions", rank));
    check(interleave == 0, text("interleave %d is not emulated", interleave));
    check(swizzle >= 0 && swizzle <= 3, text("swizzle %d is not emulated", swizzle));
    check(reinterpret_cast<uintptr_t>(result) % 64 == 0, "the map is not aligned to 64 bytes");
    TensorMap map = {TensorMap::magicNumber,
                     elementBytes[type],
                     uint8_t(rank),
                     uint8_t(swizzle),
                     uint8_t(outside),
                     reinterpret_cast<uint64_t>(address),
                     {elementBytes[type]},
                     {},
                     {}};
    check(map.address % 16 == 0, "the address is not aligned to 16 bytes");
    check(memory().find(map.address, 1), memory().describe(map.address, 1));
    for (unsigned d = 0; d < rank; ++d) {
      check(sizes[d] >= 1 && sizes[d] <= uint64_t{1} << 32,
            text("dimension %u is 0 or too large", d));
      check(box[d] >= 1 && box[d] <= 256,
            text("the box has %u elements in dimension %u", box[d], d));
      check(elementStrides[d] == 1, text("element stride %u is not emulated", elementStrides[d]));
      map.last[d] = uint32_t(sizes[d] - 1);
      map.box[d] = uint16_t(box[d]);
      if (d == 0)
        continue;
      map.stride[d] = strides[d - 1];
      check(map.stride[d] % 16 == 0 && map.stride[d] < uint64_t{1} << 40,
            text("stride %llu is no multiple of 16", (unsigned long long)map.stride[d]));
    }
    unsigned inner = box[0] * map.elementBytes;
    check(inner % 16 == 0, text("rows of the box have %u bytes, no multiple of 16", inner));
    check(swizzle == 0 || inner <= 16u << swizzle,
          text("rows of the box have %u bytes, more than the swizzle's span", inner));
    std::memset(result, 0, 128);
    std::memcpy(result, &map, sizeof map);
  });
}
