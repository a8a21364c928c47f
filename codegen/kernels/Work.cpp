//===- Work.cpp - what a parallel loop does, for profiles -----------------===//
#include "codegen/kernels/Work.h"

using namespace mlir;
using namespace mlir::transformer;

DictionaryAttr mlir::transformer::workAttr(MLIRContext *context, const Work &work) {
  Builder b(context);
  SmallVector<int64_t> flops, bytes;
  std::string shape;
  for (const Amount &amount : work.amounts) {
    flops.push_back(amount.flops);
    bytes.push_back(amount.bytes);
    shape += (shape.empty() ? "" : " ") + amount.name + "={}";
  }
  if (!work.sizes.empty())
    shape += (shape.empty() ? "" : " ") + work.sizes;
  NamedAttrList attributes;
  attributes.append("label", b.getStringAttr(work.label));
  attributes.append("shape", b.getStringAttr(shape));
  attributes.append("flops", b.getDenseI64ArrayAttr(flops));
  attributes.append("bytes", b.getDenseI64ArrayAttr(bytes));
  attributes.append("fixed_bytes", b.getI64IntegerAttr(work.fixedBytes));
  if (!work.layer.empty())
    attributes.append("layer", b.getStringAttr(work.layer));
  return attributes.getDictionary(context);
}

void mlir::transformer::setWork(OpBuilder &b, scf::ForallOp loop, DictionaryAttr work,
                                ValueRange amounts) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  kernel::WorkOp::create(b, loop.getLoc(), TypeRange(), amounts, work.getValue());
}

std::string mlir::transformer::layerOfParameter(Value value) {
  StringRef name;
  while (Operation *op = value.getDefiningOp()) {
    if (auto get = dyn_cast<GetParameterOp>(op))
      name = get.getName();
    else if (auto get = dyn_cast<kernel::GetParameterOp>(op))
      name = get.getName();
    if (!name.empty() || op->getNumOperands() == 0)
      break;
    value = op->getOperand(0);
  }
  name.consume_back(".prepared");
  return name.rsplit('.').first.str();
}
