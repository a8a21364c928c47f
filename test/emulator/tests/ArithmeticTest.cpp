//===- ArithmeticTest.cpp - instructions with known answers ---------------===//
#include "test/emulator/tests/Support.h"

#include <bit>
#include <cmath>
#include <limits>

namespace emulator::tests {
namespace {

class Arithmetic : public Emulated {
protected:
  uint32_t u32(const std::string &lines) { return result<uint32_t>(lines); }
  uint64_t u64(const std::string &lines) { return result<uint64_t>(lines); }
  uint16_t u16(const std::string &lines) { return result<uint16_t>(lines); }
  float f32(const std::string &lines) {
    return std::bit_cast<float>(u32(lines + "mov.b32 %r0, %f0;"));
  }
  double f64(const std::string &lines) {
    return std::bit_cast<double>(u64(lines + "mov.b64 %rd0, %fd0;"));
  }
  /// An operation on registers of f16 or bf16, or of two of them, which have no immediate operands.
  std::string narrow(const std::string &operation, const std::vector<uint32_t> &arguments) {
    bool two = operation.ends_with("x2");
    std::string reg = two ? "%r" : "%h", moves, operands = reg + "0";
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::string name = reg + std::to_string(i + 1);
      moves += std::string("mov.b") + (two ? "32 " : "16 ") + name + ", " +
               std::to_string(arguments[i]) + ";";
      operands += ", " + name;
    }
    return moves + operation + " " + operands + ";";
  }
  /// Whether %p0.
  bool holds(const std::string &lines) { return u32(lines + "selp.b32 %r0, 1, 0, %p0;"); }
};

TEST_F(Arithmetic, Integers) {
  EXPECT_EQ(u32("add.s32 %r0, -1, 3;"), 2u);
  EXPECT_EQ(u32("sub.s32 %r0, 2147483648, 1;"), 0x7fffffffu);
  EXPECT_EQ(u32("add.sat.s32 %r0, 2147483647, 1;"), 0x7fffffffu);
  EXPECT_EQ(u32("mul.hi.u32 %r0, 0xffffffff, 0xffffffff;"), 0xfffffffeu);
  EXPECT_EQ(u32("mul.hi.s32 %r0, -1, 5;"), 0xffffffffu);
  EXPECT_EQ(u64("mul.wide.s32 %rd0, -3, 5;"), uint64_t(-15));
  EXPECT_EQ(u64("mul.hi.u64 %rd0, 0xffffffffffffffff, 3;"), 2u);
  EXPECT_EQ(u64("mad.lo.s64 %rd0, 7, 8, 1;"), 57u);
  EXPECT_EQ(u64("mad.wide.u32 %rd0, 0xffffffff, 2, 1;"), 0x1ffffffffull);
  EXPECT_EQ(u32("div.s32 %r0, -7, 2;"), uint32_t(-3));
  EXPECT_EQ(u32("rem.s32 %r0, -7, 2;"), uint32_t(-1));
  EXPECT_EQ(u32("div.u32 %r0, 7, 0;"), ~0u);
  EXPECT_EQ(u64("rem.u64 %rd0, 100, 7;"), 2u);
  EXPECT_EQ(u32("min.s32 %r0, -1, 1;"), ~0u);
  EXPECT_EQ(u32("min.u32 %r0, -1, 1;"), 1u);
  EXPECT_EQ(u32("abs.s32 %r0, -9;"), 9u);
  EXPECT_EQ(u16("mul.lo.s16 %h0, 300, 300;"), uint16_t(90000));
  EXPECT_EQ(u64("add.cc.u64 %rd1, 0xffffffffffffffff, 1; addc.u64 %rd0, 5, 6;"), 12u);
  EXPECT_EQ(u64("sub.cc.u64 %rd1, 0, 1; subc.u64 %rd0, 5, 2;"), 2u);
  EXPECT_EQ(u32("dp4a.s32.s32 %r0, 0x01ff0203, 0x02020202, 10;"), 10u + 2 * (3 + 2 - 1 + 1));
}

TEST_F(Arithmetic, Bits) {
  EXPECT_EQ(u32("shl.b32 %r0, 1, 32;"), 0u);
  EXPECT_EQ(u32("shr.s32 %r0, -8, 40;"), ~0u);
  EXPECT_EQ(u64("shr.u64 %rd0, 0x100000000, 31;"), 2u);
  EXPECT_EQ(u32("popc.b64 %r0, 0xf0f0f0f0f0f0f0f0;"), 32u);
  EXPECT_EQ(u32("clz.b32 %r0, 1;"), 31u);
  EXPECT_EQ(u32("brev.b32 %r0, 1;"), 0x80000000u);
  EXPECT_EQ(u32("bfind.u32 %r0, 0x1000;"), 12u);
  EXPECT_EQ(u32("bfind.u32 %r0, 0;"), ~0u);
  EXPECT_EQ(u32("bfe.u32 %r0, 0xabcd, 4, 8;"), 0xbcu);
  EXPECT_EQ(u32("bfe.s32 %r0, 0xabcd, 4, 8;"), 0xffffffbcu);
  EXPECT_EQ(u32("bfi.b32 %r0, 0xf, 0, 8, 4;"), 0xf00u);
  EXPECT_EQ(u32("prmt.b32 %r0, 0x33221100, 0x77665544, 0x7421;"), 0x77442211u);
  EXPECT_EQ(u32("lop3.b32 %r0, 0xf0f0, 0xff00, 0xaaaa, 0x96;"), (0xf0f0u ^ 0xff00u ^ 0xaaaau));
  EXPECT_EQ(u32("shf.l.wrap.b32 %r0, 0x80000000, 1, 1;"), 3u);
  EXPECT_EQ(u32("shf.r.wrap.b32 %r0, 0, 1, 1;"), 0x80000000u);
  EXPECT_EQ(u32("mov.b64 %rd1, {7, 9}; mov.b64 {_, %r0}, %rd1;"), 9u);
  EXPECT_EQ(u32("mov.b16 %h1, 3; mov.b16 %h2, 4; mov.b32 %r0, {%h1, %h2};"), 0x40003u);
  EXPECT_EQ(
      u32("setp.eq.u32 %p1, 1, 1; not.pred %p0, %p1; or.pred %p2, %p0, %p1; and.pred %p3, %p2, %p0;"
          "selp.b32 %r0, 5, 6, %p3;"),
      6u);
}

TEST_F(Arithmetic, Floats) {
  EXPECT_EQ(f32("add.rn.f32 %f0, 0f3F800000, 0f33800000;"), 1.0f); // half an ulp: to even
  EXPECT_EQ(f32("add.rp.f32 %f0, 0f3F800000, 0f33800000;"), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(f32("add.rz.f32 %f0, 0fBF800000, 0f33000000;"), -std::nextafter(1.0f, 0.0f));
  // (1 + e)(1 - e) - 1 is -e * e only if it is fused.
  EXPECT_EQ(f32("fma.rn.f32 %f0, 0f3F800001, 0f3F7FFFFE, 0fBF800000;"), -0x1p-46f);
  EXPECT_EQ(f32("mul.rn.f32 %f1, 0f3F800001, 0f3F7FFFFE; add.rn.f32 %f0, %f1, 0fBF800000;"), 0.0f);
  EXPECT_EQ(f32("mul.rn.f32 %f0, 0f00800000, 0f3F000000;"), 0x1p-127f);
  EXPECT_EQ(f32("mul.rn.ftz.f32 %f0, 0f00800000, 0f3F000000;"), 0.0f);
  EXPECT_EQ(f32("add.sat.f32 %f0, 0f3F800000, 0f3F800000;"), 1.0f);
  EXPECT_EQ(f32("div.rn.f32 %f0, 0f3F800000, 0f40400000;"), 1.0f / 3);
  EXPECT_EQ(f32("sqrt.rn.f32 %f0, 0f40000000;"), std::sqrt(2.0f));
  EXPECT_EQ(f32("rsqrt.approx.f32 %f0, 0f40800000;"), 0.5f);
  EXPECT_EQ(f32("ex2.approx.ftz.f32 %f0, 0f40A00000;"), 32.0f);
  EXPECT_EQ(f32("lg2.approx.f32 %f0, 0f41000000;"), 3.0f);
  EXPECT_EQ(f32("sin.approx.f32 %f0, 0f3F800000;"), float(std::sin(1.0)));
  EXPECT_EQ(f32("min.f32 %f0, 0f7FC00000, 0f40000000;"), 2.0f);
  EXPECT_TRUE(std::isnan(f32("max.NaN.f32 %f0, 0f7FC00000, 0f40000000;")));
  EXPECT_TRUE(std::signbit(f32("min.f32 %f0, 0f00000000, 0f80000000;")));
  EXPECT_EQ(f32("copysign.f32 %f0, 0fBF800000, 0f40000000;"), -2.0f);
  EXPECT_EQ(f32("neg.f32 %f1, 0f40000000; abs.f32 %f0, %f1;"), 2.0f);
  EXPECT_EQ(f64("fma.rn.f64 %fd0, 0d3FF0000000000001, 0d3FEFFFFFFFFFFFFE, 0dBFF0000000000000;"),
            -0x1p-104);
  EXPECT_EQ(f64("div.rn.f64 %fd0, 0d3FF0000000000000, 0d4008000000000000;"), 1.0 / 3);
  EXPECT_EQ(f64("add.rm.f64 %fd0, 0d3FF0000000000000, 0dBC00000000000000;"),
            std::nextafter(1.0, 0.0));
}

TEST_F(Arithmetic, NarrowFloats) {
  // f16: 1 is 3c00, 2 is 4000; bf16: 1 is 3f80.
  EXPECT_EQ(u16(narrow("add.f16", {0x3c00, 0x4000})), 0x4200);
  EXPECT_EQ(u16(narrow("mul.f16", {0x7bff, 0x4000})), 0x7c00); // 65504 * 2 is infinite
  EXPECT_EQ(u16(narrow("mul.f16", {0x0001, 0x3c00})), 0x0001); // subnormal
  EXPECT_EQ(u16(narrow("fma.rn.bf16", {0x3f81, 0x3f81, 0x3f80})), 0x4001);
  // 1.5 * (1 + 2^-7) is halfway; 2^-100 more decides, which double precision alone would lose.
  EXPECT_EQ(u16(narrow("fma.rn.bf16", {0x3fc0, 0x3f81, 0x0d80})), 0x3fc2);
  EXPECT_EQ(u16(narrow("fma.rn.bf16", {0x3fc0, 0x3f81, 0x8d80})), 0x3fc1);
  EXPECT_EQ(u32(narrow("fma.rn.f16x2", {0x40003c00, 0x40004000, 0x3c003c00})), 0x45004200u);
  EXPECT_EQ(u16(narrow("fma.rn.relu.f16", {0xbc00, 0x4000, 0x3c00})), 0);
  EXPECT_EQ(u32(narrow("max.bf16x2", {0x3f80bf80, 0x40000000})), 0x40000000u);
  EXPECT_EQ(u16(narrow("neg.bf16", {0x3f80})), 0xbf80);
}

TEST_F(Arithmetic, Conversions) {
  EXPECT_EQ(u16("cvt.rn.f16.f32 %h0, 0f3F801000;"), 0x3c00); // halfway between two: to even
  EXPECT_EQ(u16("cvt.rz.f16.f32 %h0, 0f477FFFFF;"), 0x7bff);
  EXPECT_EQ(u16("cvt.rn.bf16.f32 %h0, 0f3F818000;"), 0x3f82);
  EXPECT_EQ(u32("cvt.rn.bf16x2.f32 %r0, 0f3F800000, 0f40000000;"), 0x3f804000u);
  EXPECT_EQ(u32("cvt.rna.tf32.f32 %r0, 0f3F801000;"), 0x3f802000u);
  EXPECT_EQ(f32("mov.b16 %h1, 0x0001; cvt.f32.f16 %f0, %h1;"), 0x1p-24f);
  EXPECT_EQ(f32("mov.b16 %h1, 0xc000; cvt.f32.bf16 %f0, %h1;"), -2.0f);
  EXPECT_EQ(u32("cvt.rzi.s32.f32 %r0, 0fC0200000;"), uint32_t(-2));
  EXPECT_EQ(u32("cvt.rni.s32.f32 %r0, 0f40200000;"), 2u);
  EXPECT_EQ(u32("cvt.rmi.s32.f32 %r0, 0fC0200000;"), uint32_t(-3));
  EXPECT_EQ(u32("cvt.rzi.s32.f32 %r0, 0f7F800000;"), 0x7fffffffu);
  EXPECT_EQ(u32("cvt.rzi.u32.f32 %r0, 0fBF800000;"), 0u);
  EXPECT_EQ(u32("cvt.rzi.s32.f32 %r0, 0f7FC00000;"), 0u);
  EXPECT_EQ(u64("cvt.rzi.s64.f64 %rd0, 0dC1E0000000200000;"), uint64_t(-2147483649ll));
  EXPECT_EQ(f32("cvt.rn.f32.s64 %f0, -5;"), -5.0f);
  EXPECT_EQ(f32("cvt.rn.f32.u64 %f0, 0xffffffffffffffff;"), 0x1p64f);
  EXPECT_EQ(f32("cvt.rz.f32.u32 %f0, 0xffffffff;"), 4294967040.0f);
  EXPECT_EQ(f64("cvt.rni.f64.f64 %fd0, 0d4004000000000000;"), 2.0);
  EXPECT_EQ(f32("cvt.rpi.f32.f32 %f0, 0f3F000000;"), 1.0f);
  EXPECT_EQ(f32("cvt.rn.f32.f64 %f0, 0d3FF0000010000000;"), 1.0f);
  EXPECT_EQ(f32("cvt.sat.f32.f32 %f0, 0f40000000;"), 1.0f);
  EXPECT_EQ(u32("cvt.s32.s8 %r0, 0x1ff;"), ~0u);
  EXPECT_EQ(u32("cvt.u32.u8 %r0, 0x1ff;"), 255u);
  EXPECT_EQ(u32("cvt.sat.s8.s32 %r0, -1000;"), uint32_t(-128));
  EXPECT_EQ(u64("cvt.s64.s32 %rd0, -2;"), uint64_t(-2));
  EXPECT_EQ(u64("cvt.u64.u32 %rd0, -2;"), 0xfffffffeull);
  EXPECT_EQ(u16("cvt.u16.u64 %h0, 0x12345;"), 0x2345);
}

TEST_F(Arithmetic, Comparisons) {
  EXPECT_TRUE(holds("setp.lt.s32 %p0, -1, 1;"));
  EXPECT_FALSE(holds("setp.lt.u32 %p0, -1, 1;"));
  EXPECT_TRUE(holds("setp.hs.u64 %p0, -1, 1;"));
  EXPECT_FALSE(holds("setp.ne.f32 %p0, 0f7FC00000, 0f7FC00000;"));
  EXPECT_TRUE(holds("setp.neu.f32 %p0, 0f7FC00000, 0f7FC00000;"));
  EXPECT_TRUE(holds("setp.geu.f64 %p0, 0d7FF8000000000000, 0d0000000000000000;"));
  EXPECT_TRUE(holds("setp.nan.f32 %p0, 0f7FC00000, 0f00000000;"));
  EXPECT_TRUE(holds("setp.num.f32 %p0, 0f3F800000, 0f00000000;"));
  EXPECT_TRUE(holds("mov.b16 %h1, 0x3c00; mov.b16 %h2, 0xbc00; setp.gt.f16 %p0, %h1, %h2;"));
  EXPECT_TRUE(holds("setp.eq.ftz.f32 %p0, 0f00000001, 0f00000000;"));
  EXPECT_TRUE(holds("setp.eq.s32 %p1, 1, 2; setp.eq.or.s32 %p0, 1, 2, !%p1;"));
  EXPECT_TRUE(holds("setp.eq.s32 %p1|%p0, 1, 2;"));
  EXPECT_TRUE(holds("testp.subnormal.f32 %p0, 0f00000001;"));
}

} // namespace
} // namespace emulator::tests
