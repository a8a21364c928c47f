//===- DataType.h - element types and their conversions ---------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_DATATYPE_H
#define TRANSFORMER_RUNTIME_DATATYPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace transformer::runtime {

enum class DataType { Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64 };

/// Bytes of one element.
int64_t byteWidth(DataType type);

/// The name in safetensors headers: "F32", "BOOL", ...
std::string_view safetensorsName(DataType type);

/// The type of a safetensors name; none if it is unknown (sub-byte and 8-bit floats are).
std::optional<DataType> parseSafetensorsName(std::string_view name);

/// The type of a name in a module's description: "f32", "i64", "bf16", ...
std::optional<DataType> parseDescriptionName(std::string_view name);

bool isFloat(DataType type);

/// The value of IEEE binary16 bits; exact, NaN payloads are kept.
float halfToFloat(uint16_t bits);

/// The value of bfloat16 bits; exact.
float bfloat16ToFloat(uint16_t bits);

/// Converts `count` elements of F16, BF16, F32 or F64 at `source` (any alignment) to float.
/// F64 is rounded to nearest; the others are exact.
void convertToFloat(DataType type, const void *source, float *result, int64_t count);

/// Converts `count` elements of any integer, bool or float type at `source` (any alignment) to
/// int64. Returns the index of the first element that no int64 equals (a fraction, infinity,
/// a u64 that is too large), or -1.
int64_t convertToInt64(DataType type, const void *source, int64_t *result, int64_t count);

/// Converts `count` elements to an integer type or bool at `result`. Returns the index of the first
/// that the type does not hold (a bool holds 0 and 1), or -1.
int64_t convertFromInt64(const int64_t *source, DataType type, void *result, int64_t count);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_DATATYPE_H
