//===- Types.cpp - names and sizes of PTX's types -------------------------===//
#include "test/emulator/ptx/Ast.h"

namespace emulator::ptx {
namespace {

struct NamedType {
  const char *name;
  Type type;
  int bytes;
};
constexpr NamedType types[] = {
    {"pred", Type::Pred, 0},   {"b8", Type::B8, 1},     {"b16", Type::B16, 2},
    {"b32", Type::B32, 4},     {"b64", Type::B64, 8},   {"b128", Type::B128, 16},
    {"u8", Type::U8, 1},       {"u16", Type::U16, 2},   {"u32", Type::U32, 4},
    {"u64", Type::U64, 8},     {"s8", Type::S8, 1},     {"s16", Type::S16, 2},
    {"s32", Type::S32, 4},     {"s64", Type::S64, 8},   {"f16", Type::F16, 2},
    {"f16x2", Type::F16x2, 4}, {"bf16", Type::BF16, 2}, {"bf16x2", Type::BF16x2, 4},
    {"tf32", Type::TF32, 4},   {"f32", Type::F32, 4},   {"f64", Type::F64, 8}};

} // namespace

int bytesOf(Type type) {
  for (const NamedType &named : types)
    if (named.type == type)
      return named.bytes;
  return 0;
}

Type typeOf(const std::string &name) {
  for (const NamedType &named : types)
    if (name == named.name)
      return named.type;
  return Type::None;
}

} // namespace emulator::ptx
