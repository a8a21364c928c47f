//===- DataType.cpp - element types and their conversions -----------------===//
#include "runtime/base/DataType.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

namespace transformer::runtime {
namespace {

struct TypeInfo {
  std::string_view name;
  int64_t width;
};

// In the order of DataType.
constexpr TypeInfo infos[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"U16", 2}, {"I16", 2},
                              {"U32", 4},  {"I32", 4}, {"U64", 8}, {"I64", 8}, {"F16", 2},
                              {"BF16", 2}, {"F32", 4}, {"F64", 8}};

const TypeInfo &info(DataType type) { return infos[static_cast<int>(type)]; }

template <typename T> T load(const void *source, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(source) + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

template <typename T> int64_t widen(const void *source, int64_t *result, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T value = load<T>(source, i);
    result[i] = static_cast<int64_t>(value);
    if constexpr (std::is_same_v<T, uint64_t>)
      if (value > uint64_t(INT64_MAX))
        return i;
  }
  return -1;
}

template <typename T> int64_t narrow(const int64_t *source, void *result, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!std::in_range<T>(source[i]))
      return i;
    auto value = static_cast<T>(source[i]);
    std::memcpy(static_cast<char *>(result) + i * int64_t(sizeof(T)), &value, sizeof(T));
  }
  return -1;
}

/// True and the integer, if `value` is one that an int64 holds.
bool toInteger(double value, int64_t &result) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0))
    return false;
  result = static_cast<int64_t>(value);
  return static_cast<double>(result) == value;
}

} // namespace

int64_t byteWidth(DataType type) { return info(type).width; }

std::string_view safetensorsName(DataType type) { return info(type).name; }

std::optional<DataType> parseSafetensorsName(std::string_view name) {
  for (size_t i = 0; i < std::size(infos); ++i)
    if (infos[i].name == name)
      return static_cast<DataType>(i);
  return std::nullopt;
}

std::optional<DataType> parseDescriptionName(std::string_view name) {
  std::string upper(name);
  for (char &c : upper) {
    if (std::isupper(static_cast<unsigned char>(c)))
      return std::nullopt;
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return parseSafetensorsName(upper);
}

bool isFloat(DataType type) { return type >= DataType::F16; }

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1Fu;
  uint32_t fraction = bits & 0x3FFu;
  uint32_t word;
  if (exponent == 31) {
    word = sign | 0x7F800000u | (fraction << 13);
  } else if (exponent != 0) {
    word = sign | ((exponent + 112) << 23) | (fraction << 13);
  } else {
    // A subnormal: fraction * 2^-24, exact in float.
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    std::memcpy(&word, &magnitude, 4);
    word |= sign;
  }
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

float bfloat16ToFloat(uint16_t bits) {
  uint32_t word = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

void convertToFloat(DataType type, const void *source, float *result, int64_t count) {
  switch (type) {
  case DataType::F32:
    if (count != 0)
      std::memcpy(result, source, static_cast<size_t>(count) * 4);
    return;
  case DataType::F16:
    for (int64_t i = 0; i < count; ++i)
      result[i] = halfToFloat(load<uint16_t>(source, i));
    return;
  case DataType::BF16:
    for (int64_t i = 0; i < count; ++i)
      result[i] = bfloat16ToFloat(load<uint16_t>(source, i));
    return;
  case DataType::F64:
    for (int64_t i = 0; i < count; ++i)
      result[i] = static_cast<float>(load<double>(source, i));
    return;
  default:
    fail("cannot convert {} to F32", safetensorsName(type));
  }
}

int64_t convertToInt64(DataType type, const void *source, int64_t *result, int64_t count) {
  switch (type) {
  case DataType::Bool:
    // numpy and torch write 0 and 1; any other byte is true as well.
    for (int64_t i = 0; i < count; ++i)
      result[i] = load<uint8_t>(source, i) != 0;
    return -1;
  case DataType::U8:
    return widen<uint8_t>(source, result, count);
  case DataType::I8:
    return widen<int8_t>(source, result, count);
  case DataType::U16:
    return widen<uint16_t>(source, result, count);
  case DataType::I16:
    return widen<int16_t>(source, result, count);
  case DataType::U32:
    return widen<uint32_t>(source, result, count);
  case DataType::I32:
    return widen<int32_t>(source, result, count);
  case DataType::U64:
    return widen<uint64_t>(source, result, count);
  case DataType::I64:
    return widen<int64_t>(source, result, count);
  case DataType::F64:
    for (int64_t i = 0; i < count; ++i)
      if (!toInteger(load<double>(source, i), result[i]))
        return i;
    return -1;
  default:
    for (int64_t i = 0; i < count; ++i) {
      float value;
      convertToFloat(type, static_cast<const char *>(source) + i * byteWidth(type), &value, 1);
      if (!toInteger(value, result[i]))
        return i;
    }
    return -1;
  }
}

int64_t convertFromInt64(const int64_t *source, DataType type, void *result, int64_t count) {
  switch (type) {
  case DataType::Bool: {
    auto other = std::find_if(source, source + count, [](int64_t v) { return v != 0 && v != 1; });
    return other != source + count ? other - source : narrow<uint8_t>(source, result, count);
  }
  case DataType::U8:
    return narrow<uint8_t>(source, result, count);
  case DataType::I8:
    return narrow<int8_t>(source, result, count);
  case DataType::U16:
    return narrow<uint16_t>(source, result, count);
  case DataType::I16:
    return narrow<int16_t>(source, result, count);
  case DataType::U32:
    return narrow<uint32_t>(source, result, count);
  case DataType::I32:
    return narrow<int32_t>(source, result, count);
  case DataType::U64:
    return narrow<uint64_t>(source, result, count);
  case DataType::I64:
    return narrow<int64_t>(source, result, count);
  default:
    fail("cannot convert integers to {}", safetensorsName(type));
  }
}

} // namespace transformer::runtime
