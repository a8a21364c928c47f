//===- DotProducts.cpp - products of parts of words -----------------------===//
#include "codegen/cpu/linear/DotProducts.h"
#include "codegen/cpu/nests/Bfloat16.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// x86 instructions on registers of one width.
struct X86Names {
  int64_t lanes; // of 32 bits
  StringRef dotBytes, multiplyBytes, multiplyHalves;
};
constexpr X86Names x86Names[] = {
    {16, "llvm.x86.avx512.vpdpbusd.512", "llvm.x86.avx512.pmaddubs.w.512",
     "llvm.x86.avx512.pmaddw.d.512"},
    {8, "llvm.x86.avx512.vpdpbusd.256", "llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd"},
    {4, "llvm.x86.avx512.vpdpbusd.128", "llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.sse2.pmadd.wd"},
};

/// Of one register.
class DotEmitter {
public:
  DotEmitter(ImplicitLocOpBuilder &b, cpu::TargetAttr target, Value sum)
      : b(b), target(target), type(cast<VectorType>(sum.getType())), sum(sum) {}

  Value emit(Value w, Value x, bool nibbles) {
    const X86Names *names = nullptr;
    if (target.getTriple().starts_with("x86"))
      names = llvm::find_if(x86Names,
                            [&](const X86Names &of) { return of.lanes == type.getNumElements(); });
    if (!names || names == std::end(x86Names))
      return byArithmetic(w, x);
    bool wide = type.getNumElements() == 16;
    if (has("avx512vnni") || (!wide && has("avxvnni")))
      return call(names->dotBytes, type, {sum, bytes(w), bytes(x)});
    // 16 bits hold what two products of 15 and 127 sum up to, not of 255 and 127.
    if (nibbles && has(wide ? "avx512bw" : type.getNumElements() == 8 ? "avx2" : "ssse3")) {
      Value pairs = call(names->multiplyBytes, halvesType(), {bytes(w), bytes(x)});
      return add(call(names->multiplyHalves, type, {pairs, halves(1)}));
    }
    if (!has(wide ? "avx512bw" : type.getNumElements() == 8 ? "avx2" : "sse2"))
      return byArithmetic(w, x);
    Value ofW = bitcast(w, halvesType()), ofX = bitcast(x, halvesType()), eight = halves(8);
    Value oddW = arith::ShRUIOp::create(b, ofW, eight),
          oddX = arith::ShRSIOp::create(b, ofX, eight);
    Value evenW = arith::AndIOp::create(b, ofW, halves(255));
    Value evenX = arith::ShRSIOp::create(b, arith::ShLIOp::create(b, ofX, eight), eight);
    sum = add(call(names->multiplyHalves, type, {evenW, evenX}));
    return add(call(names->multiplyHalves, type, {oddW, oddX}));
  }

private:
  Value byArithmetic(Value w, Value x) {
    for (int64_t i = 0; i < 4; ++i) {
      Value ofW = arith::AndIOp::create(b, arith::ShRUIOp::create(b, w, words(8 * i)), words(255));
      Value ofX =
          arith::ShRSIOp::create(b, arith::ShLIOp::create(b, x, words(24 - 8 * i)), words(24));
      sum = add(arith::MulIOp::create(b, ofW, ofX));
    }
    return sum;
  }

  bool has(StringRef feature) const { return target.has(feature); }

  VectorType halvesType() const {
    return VectorType::get({2 * type.getNumElements()}, b.getI16Type());
  }
  Value constant(VectorType of, int64_t value) {
    Attribute element = b.getIntegerAttr(of.getElementType(), value);
    return arith::ConstantOp::create(b, cast<TypedAttr>(DenseElementsAttr::get(of, element)));
  }
  Value words(int64_t value) { return constant(type, value); }
  Value halves(int64_t value) { return constant(halvesType(), value); }
  Value bitcast(Value value, VectorType to) { return vector::BitCastOp::create(b, to, value); }
  Value bytes(Value value) {
    return bitcast(value, VectorType::get({4 * type.getNumElements()}, b.getI8Type()));
  }
  Value add(Value products) { return arith::AddIOp::create(b, sum, products); }
  Value call(StringRef name, Type result, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name), operands).getResult(0);
  }

  ImplicitLocOpBuilder &b;
  cpu::TargetAttr target;
  VectorType type;
  Value sum;
};

/// Replaces `op` by what `emit` makes of each register of w, x and the sum.
template <typename OpTy>
void lowerByRegisters(
    RewriterBase &rewriter, OpTy op, cpu::TargetAttr target,
    function_ref<Value(ImplicitLocOpBuilder &b, Value w, Value x, Value sum)> emit) {
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  int64_t count = cast<VectorType>(op.getSum().getType()).getNumElements();
  int64_t lanes = std::min(target.getVectorLanes(), count);
  Value result = op.getSum();
  for (int64_t first = 0; first < count; first += lanes) {
    auto part = [&](Value value) -> Value {
      return vector::ExtractStridedSliceOp::create(b, value, first, lanes, 1);
    };
    Value sum = emit(b, part(op.getW()), part(op.getX()), part(op.getSum()));
    result = vector::InsertStridedSliceOp::create(b, sum, result, first, 1);
  }
  rewriter.replaceOp(op, result);
}

} // namespace

void mlir::transformer::lowerDotBytes(RewriterBase &rewriter, cpu::DotBytesOp op,
                                      cpu::TargetAttr target) {
  lowerByRegisters(rewriter, op, target, [&](ImplicitLocOpBuilder &b, Value w, Value x, Value sum) {
    return DotEmitter(b, target, sum).emit(w, x, op.getNibbles());
  });
}

void mlir::transformer::lowerDotBfloat16(RewriterBase &rewriter, cpu::DotBfloat16Op op,
                                         cpu::TargetAttr target) {
  lowerByRegisters(rewriter, op, target, emitDotBfloat16);
}
