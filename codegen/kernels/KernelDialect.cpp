//===- KernelDialect.cpp - destination-style kernels ----------------------===//
#include "codegen/kernels/KernelDialect.h"
#include "codegen/kernels/KernelBufferization.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

using namespace mlir::transformer::kernel;

#include "codegen/kernels/KernelDialect.cpp.inc"

void KernelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "codegen/kernels/KernelOps.cpp.inc"
      >();
}

void mlir::transformer::kernel::addKernelEffects(Operation *op, Effects &effects) {
  auto kernel = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (kernel.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

/// Of an op that reads its operands alone.
static void addReads(Operation *op, Effects &effects) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
}

void CountTokensOp::getEffects(Effects &effects) { addReads(*this, effects); }

void CountLabelledTokensOp::getEffects(Effects &effects) { addReads(*this, effects); }

LogicalResult
mlir::transformer::kernel::bufferizeKernel(Operation *op, RewriterBase &rewriter,
                                           const bufferization::BufferizationOptions &options,
                                           bufferization::BufferizationState &state) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!isa<TensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    FailureOr<Value> buffer = bufferization::getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    operands.push_back(*buffer);
  }
  bool keepsResults = op->getNumResults() && !isa<TensorType>(op->getResult(0).getType());
  OperationState newState(op->getLoc(), op->getName(), operands,
                          keepsResults ? TypeRange(op->getResultTypes()) : TypeRange(),
                          op->getAttrs());
  newState.propertiesAttr = op->getPropertiesAsAttribute();
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    newState.addRegion();
  Operation *newOp = rewriter.create(newState);
  for (auto [to, from] : llvm::zip_equal(newOp->getRegions(), op->getRegions()))
    to.takeBody(from);
  SmallVector<Value> results(newOp->getResults());
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    for (OpOperand &init : dps.getDpsInitsMutable())
      results.push_back(operands[init.getOperandNumber()]);
  results.resize(op->getNumResults());
  bufferization::replaceOpWithBufferizedValues(rewriter, op, results);
  return success();
}

void mlir::transformer::kernel::setOut(OpResult result, Value out) {
  cast<DestinationStyleOpInterface>(result.getOwner()).getTiedOpOperand(result)->set(out);
  result.setType(out.getType());
}

Operation *mlir::transformer::kernel::withOut(DestinationStyleOpInterface op, Value out) {
  op.getDpsInitsMutable().append(out);
  SmallVector<Type> types(op->getResultTypes());
  types.push_back(out.getType());
  Operation *made =
      Operation::create(op.getLoc(), op->getName(), types, op->getOperands(),
                        op->getDiscardableAttrDictionary(), op->getPropertiesStorage(), {}, 0);
  OpBuilder(op).insert(made);
  op->replaceAllUsesWith(made->getResults().drop_back());
  op->erase();
  return made;
}

bool mlir::transformer::kernel::readsOuts(Operation *op) {
  return isa<AdafactorUpdateOp>(op) || op->hasAttr("onto");
}

bool mlir::transformer::kernel::mayShareMemory(Operation *op, OpOperand *read, OpOperand *write) {
  if (read->getOwner() != op || write->getOwner() != op)
    return false;
  if (isa<RotaryEmbeddingOp, DropoutOp, CrossEntropyGradientOp>(op))
    return read->getOperandNumber() == 0;
  if (auto gradient = dyn_cast<NormGradientOp>(op)) { // not dy, even if it is the same
    bool isOnto = gradient.getOnto() && read == &*gradient.getOntoMutable().begin();
    return isOnto && write == &gradient.getOutsMutable()[0];
  }
  auto norm = dyn_cast<LayerNormOp>(op);
  return norm && read->getOperandNumber() <= norm.getResidual().size();
}

namespace {

/// Of ops that count what they read.
template <typename OpTy>
struct CountBufferization
    : bufferization::BufferizableOpInterface::ExternalModel<CountBufferization<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const bufferization::AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const bufferization::AnalysisState &) const {
    return false;
  }
  bufferization::AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                                     const bufferization::AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    return bufferizeKernel(op, rewriter, options, state);
  }
};

/// A parameter is a buffer that nobody may write to.
struct GetParameterBufferization
    : bufferization::BufferizableOpInterface::ExternalModel<GetParameterBufferization,
                                                            transformer::GetParameterOp> {
  bool isWritable(Operation *, Value, const bufferization::AnalysisState &) const { return false; }
  FailureOr<bufferization::BufferLikeType>
  getBufferType(Operation *, Value value, const bufferization::BufferizationOptions &,
                const bufferization::BufferizationState &, SmallVector<Value> &) const {
    auto type = cast<RankedTensorType>(value.getType());
    return cast<bufferization::BufferLikeType>(
        MemRefType::get(type.getShape(), type.getElementType()));
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &,
                          bufferization::BufferizationState &) const {
    auto get = cast<transformer::GetParameterOp>(op);
    auto type = cast<RankedTensorType>(get.getType());
    bufferization::replaceOpWithNewBufferizedOp<GetParameterOp>(
        rewriter, op, MemRefType::get(type.getShape(), type.getElementType()), get.getNameAttr());
    return success();
  }
};

} // namespace

void mlir::transformer::kernel::registerBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KernelDialect *) {
    attachKernelBufferization<
#define GET_OP_LIST
#include "codegen/kernels/KernelOps.cpp.inc"
        >(*context);
    CountTokensOp::attachInterface<CountBufferization<CountTokensOp>>(*context);
    CountLabelledTokensOp::attachInterface<CountBufferization<CountLabelledTokensOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, TransformerDialect *) {
    transformer::GetParameterOp::attachInterface<GetParameterBufferization>(*context);
  });
}

#define GET_OP_CLASSES
#include "codegen/kernels/KernelOps.cpp.inc"
