//===- Evaluate.cpp - attaches the interpreter to ops ---------------------===//
#include "dialect/reference/Evaluate.h"
#include "dialect/reference/Operations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

#include "dialect/reference/EvaluateInterface.cpp.inc"

namespace {

template <typename OpTy>
concept HasEvaluation = requires(OpTy op, Frame &frame) { reference::evaluate(op, frame); };

template <typename OpTy>
struct Evaluation : EvaluateOpInterface::ExternalModel<Evaluation<OpTy>, OpTy> {
  LogicalResult evaluate(Operation *op, Frame &frame) const {
    return reference::evaluate(cast<OpTy>(op), frame);
  }
};

/// Attaches to each op what stands in Operations.h for it.
template <typename... Ops> void attach(MLIRContext *context) {
  (
      [&] {
        if constexpr (HasEvaluation<Ops>)
          Ops::template attachInterface<Evaluation<Ops>>(*context);
      }(),
      ...);
}

} // namespace

void reference::registerEvaluation(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TransformerDialect *) {
    attach<
#define GET_OP_LIST
#include "dialect/TransformerOps.cpp.inc"
        >(context);
    attach<QuantizeWeightOp, QuantizeRowsOp>(context);
    attach<
#define GET_OP_LIST
#include "dialect/GradientOps.cpp.inc"
        >(context);
    attach<
#define GET_OP_LIST
#include "dialect/OptimizerOps.cpp.inc"
        >(context);
  });
  // Upstream ops that models and prepare functions use.
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::ConstantOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
           arith::MaximumFOp, arith::NegFOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
           arith::MinUIOp>(context);
  });
  registry.addExtension(
      +[](MLIRContext *context, func::FuncDialect *) { attach<func::CallOp>(context); });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attach<linalg::TransposeOp, linalg::CopyOp>(context);
  });
  registry.addExtension(
      +[](MLIRContext *context, scf::SCFDialect *) { attach<scf::ForOp>(context); });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::DimOp, tensor::SplatOp, tensor::EmptyOp, tensor::CastOp, tensor::ConcatOp,
           tensor::ExtractOp, tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::ExpandShapeOp,
           tensor::CollapseShapeOp>(context);
  });
}
