//===- MatrixTest.cpp - mma.sync and ldmatrix beside plain loops ----------===//
#include "test/emulator/tests/Support.h"

#include <bit>
#include <cstring>

namespace emulator::tests {
namespace {

// Numbers that every one of the formats has exactly, the float32 sums of their products too.
int number(int i, int k) { return (i * 7 + k * 5 + i * k) % 13 - 6; }

uint16_t half(float value) { // of small integers
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return value == 0
             ? 0
             : (bits >> 16 & 0x8000) | (((bits >> 23 & 0xff) - 112) << 10) | (bits >> 13 & 0x3ff);
}
uint16_t bfloat(float value) { return std::bit_cast<uint32_t>(value) >> 16; }

class Matrix : public Emulated {
protected:
  // A is [16][depth] and B [depth][8]; C is i - k. Each lane loads its elements with plain loads,
  // laid out here as in the manual's figures, and stores its part of D.
  template <typename Element>
  void check(const std::string &instruction, int depth, const std::function<Element(int)> &element,
             bool floats) {
    constexpr int e = 4 / sizeof(Element);
    int registersB = depth / (4 * e), registersA = 2 * registersB;
    std::vector<uint32_t> a(32 * registersA), b(32 * registersB), c(128);
    for (int lane = 0; lane < 32; ++lane) {
      int group = lane / 4, t = lane % 4;
      for (int r = 0; r < registersA; ++r)
        for (int i = 0; i < e; ++i) {
          Element value =
              element(number(group + (r % 2 ? 8 : 0), t * e + i + (r >= 2 ? 4 * e : 0)));
          std::memcpy(reinterpret_cast<Element *>(&a[lane * registersA + r]) + i, &value,
                      sizeof value);
        }
      for (int r = 0; r < registersB; ++r)
        for (int i = 0; i < e; ++i) {
          Element value = element(number(t * e + i + (r ? 4 * e : 0), group + 3));
          std::memcpy(reinterpret_cast<Element *>(&b[lane * registersB + r]) + i, &value,
                      sizeof value);
        }
      for (int r = 0; r < 4; ++r) {
        int value = group + (r >= 2 ? 8 : 0) - (t * 2 + r % 2);
        c[lane * 4 + r] = floats ? std::bit_cast<uint32_t>(float(value)) : uint32_t(value);
      }
    }
    std::string loads, as, bs;
    for (int r = 0; r < registersA; ++r) {
      loads += "ld.global.b32 %r" + std::to_string(r) + ", [%rd1+" + std::to_string(4 * r) + "];\n";
      as += (r ? ", %r" : "%r") + std::to_string(r);
    }
    for (int r = 0; r < registersB; ++r) {
      loads +=
          "ld.global.b32 %r" + std::to_string(4 + r) + ", [%rd2+" + std::to_string(4 * r) + "];\n";
      bs += (r ? ", %r" : "%r") + std::to_string(4 + r);
    }
    std::string t = floats ? "%f" : "%r1", type = floats ? "f32" : "b32";
    auto four = [&](int from) {
      std::string result = "{";
      for (int r = from; r < from + 4; ++r)
        result += (r > from ? ", " : "") + t + std::to_string(r);
      return result + "}";
    };
    uint64_t out = allocate(512);
    ASSERT_EQ(
        launch(moduleOf(
                   4, "mad.wide.u32 %rd1, %t, " + std::to_string(4 * registersA) + ", %a0;\n" +
                          "mad.wide.u32 %rd2, %t, " + std::to_string(4 * registersB) + ", %a1;\n" +
                          "mad.wide.u32 %rd3, %t, 16, %a2;\nmad.wide.u32 %rd4, %t, 16, %a3;\n" +
                          loads + "ld.global.v4." + type + " " + four(0) + ", [%rd3];\n" +
                          instruction + " " + four(4) + ", {" + as + "}, {" + bs + "}, " + four(0) +
                          ";\nst.global.v4." + type + " [%rd4], " + four(4) + ";"),
               {upload(a), upload(b), upload(c), out}),
        success)
        << said;
    auto got = download<uint32_t>(out, 128);
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < 4; ++r) {
        int row = lane / 4 + (r >= 2 ? 8 : 0), column = lane % 4 * 2 + r % 2,
            expected = row - column;
        for (int k = 0; k < depth; ++k)
          expected += number(row, k) * number(k, column + 3);
        int value = floats ? int(std::bit_cast<float>(got[lane * 4 + r])) : int(got[lane * 4 + r]);
        EXPECT_EQ(value, expected) << instruction << " row " << row << " column " << column;
      }
  }
};

TEST_F(Matrix, Half) {
  check<uint16_t>("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, half, true);
  check<uint16_t>("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 8, half, true);
}
TEST_F(Matrix, Bfloat) {
  check<uint16_t>("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, bfloat, true);
}
TEST_F(Matrix, TensorFloat) {
  auto element = [](float value) {
    return std::bit_cast<uint32_t>(value) | 0x1fff;
  }; // is not looked at
  auto zero = [&](float value) { return value == 0 ? 0 : element(value); };
  check<uint32_t>("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 8, zero, true);
  check<uint32_t>("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 4, zero, true);
}
TEST_F(Matrix, Bytes) {
  auto element = [](int value) { return uint8_t(value); };
  check<uint8_t>("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 32, element, false);
}

TEST_F(Matrix, LoadsFourMatrices) {
  // Shared memory holds 0, 1, 2, ... as 16-bit numbers, 8 a row: matrix m is rows 8m to 8m + 7.
  auto load = [&](const std::string &modifier) {
    uint64_t out = allocate(512);
    EXPECT_EQ(launch(moduleOf(1, R"(
    .shared .align 16 .b8 tile[512];
    mov.u32 %r1, tile;
    shl.b32 %r2, %t, 4;
    add.u32 %r3, %r1, %r2;
    mov.u32 %r4, 0;
FILL:
    mad.lo.u32 %r5, %t, 8, %r4;
    cvt.u16.u32 %h1, %r5;
    shl.b32 %r6, %r4, 1;
    add.u32 %r6, %r6, %r3;
    st.shared.b16 [%r6], %h1;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, 8;
    @%p1 bra FILL;
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x4)" + modifier +
                                     R"(.shared.b16 {%r10, %r11, %r12, %r13}, [%r3];
    mad.wide.u32 %rd1, %t, 16, %a0;
    st.global.v4.b32 [%rd1], {%r10, %r11, %r12, %r13};)"),
                     {out}),
              success)
        << said;
    return download<uint16_t>(out, 256);
  };
  auto plain = load(""), transposed = load(".trans");
  for (int lane = 0; lane < 32; ++lane)
    for (int m = 0; m < 4; ++m)
      for (int i = 0; i < 2; ++i) {
        int row = lane / 4, column = lane % 4 * 2 + i, at = lane * 8 + m * 2 + i;
        EXPECT_EQ(plain[at], 64 * m + 8 * row + column);
        EXPECT_EQ(transposed[at], 64 * m + 8 * column + row);
      }
}

} // namespace
} // namespace emulator::tests
