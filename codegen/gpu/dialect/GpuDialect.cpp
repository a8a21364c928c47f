//===- GpuDialect.cpp - what only a GPU's code generation knows -----------===//
#include "codegen/gpu/dialect/GpuDialect.h"
#include "codegen/kernels/KernelBufferization.h"
#include "codegen/kernels/KernelVerify.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::simt;

#include "codegen/gpu/dialect/GpuDialect.cpp.inc"

void GpuDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "codegen/gpu/dialect/GpuOps.cpp.inc"
      >();
}

/// The region takes as many indices as `loops`, then `more`, then an element of each buffer, and
/// yields `results`.
static LogicalResult verifyRegion(ProductOp op, StringRef what, Region &region, unsigned loops,
                                  ArrayRef<Type> more, ValueRange buffers, TypeRange results) {
  SmallVector<Type> expected(loops, IndexType::get(op.getContext()));
  llvm::append_range(expected, more);
  for (Value buffer : buffers)
    expected.push_back(cast<ShapedType>(buffer.getType()).getElementType());
  if (TypeRange found = region.getArgumentTypes(); found != TypeRange(expected))
    return op.emitOpError() << what << ": expected arguments of " << expected << ", found "
                            << llvm::to_vector(found);
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield)
    return op.emitOpError() << what << ": expected transformer_gpu.yield at the end, found "
                            << region.front().getTerminator()->getName();
  if (yield.getOperandTypes() != results)
    return op.emitOpError() << what << ": expected to yield " << llvm::to_vector(results)
                            << ", found " << llvm::to_vector(yield.getOperandTypes());
  return success();
}

LogicalResult ProductOp::verify() {
  if (failed(kernel::verifyKernel(*this, std::max<size_t>(getOuts().size(), 1))) ||
      failed(kernel::verifyCount(*this, "maps", getFactors().size() + getOthers().size(),
                                 getMaps().size())))
    return failure();
  for (unsigned i = 0; i < getMaps().size(); ++i) {
    unsigned loops = i < getFactors().size() ? 3 : 2;
    int64_t rank = cast<ShapedType>(getOperand(i).getType()).getRank();
    AffineMap map = mapAt(i);
    if (map.getNumDims() != loops || map.getNumSymbols() || map.getNumResults() != rank)
      return emitOpError() << "map " << i << ": expected " << loops << " dimensions and " << rank
                           << " results, found " << getMaps()[i];
  }
  Type f32 = kernel::f32(*this);
  SmallVector<Type> elements;
  for (Value out : getOuts()) {
    auto type = cast<ShapedType>(out.getType());
    if (type.getRank() != 2)
      return emitOpError() << "expected an out of rank 2, found " << type;
    elements.push_back(type.getElementType());
  }
  if (failed(verifyRegion(*this, "terms", getTerms(), 3, {}, getFactors(), {f32, f32})))
    return failure();
  return verifyRegion(*this, "result", getResult(), 2, {f32}, getOthers(), elements);
}

namespace {

struct ProductBufferization
    : bufferization::DstBufferizableOpInterfaceExternalModel<ProductBufferization, ProductOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return !cast<ProductOp>(op).isDpsInit(&operand);
  }
  /// What is read of others at the very place that is written is read before.
  bool isNotConflicting(Operation *op, OpOperand *read, OpOperand *write,
                        const bufferization::AnalysisState &) const {
    auto product = cast<ProductOp>(op);
    if (read->getOwner() != op || write->getOwner() != op || !product.isDpsInit(write))
      return false;
    auto factors = static_cast<unsigned>(product.getFactors().size());
    unsigned other = read->getOperandNumber() - factors;
    return read->getOperandNumber() >= factors && other < product.getOthers().size() &&
           product.otherMap(other).isIdentity() && read->get().getType() == write->get().getType();
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    return kernel::bufferizeKernel(op, rewriter, options, state);
  }
};

} // namespace

void transformer::simt::registerBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, GpuDialect *) {
    ProductOp::attachInterface<ProductBufferization>(*context);
  });
}

#define GET_OP_CLASSES
#include "codegen/gpu/dialect/GpuOps.cpp.inc"
