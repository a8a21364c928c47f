//===- TransformerDialect.cpp - the transformer dialect -------------------===//
#include "dialect/TransformerDialect.h"
#include "dialect/GradientOps.h"
#include "dialect/OptimizerOps.h"
#include "dialect/ParameterOps.h"
#include "dialect/QuantizeOps.h"
#include "dialect/State.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::transformer;

#include "dialect/CostInterface.cpp.inc"
#include "dialect/TransformerDialect.cpp.inc"
#include "dialect/TransformerEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/TransformerAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/TransformerTypes.cpp.inc"

void TransformerDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/TransformerAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/TransformerTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/TransformerOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/QuantizeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/GradientOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/OptimizerOps.cpp.inc"
      >();
}

static LogicalResult verifyAttrKind(Operation *op, NamedAttribute attribute, bool ok,
                                    StringRef expected) {
  if (ok)
    return success();
  return op->emitOpError() << "attribute '" << attribute.getName() << "' must be " << expected
                           << ", found " << attribute.getValue();
}

LogicalResult TransformerDialect::verifyOperationAttribute(Operation *op,
                                                           NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == attr::entry)
    return verifyAttrKind(op, attribute,
                          isa<UnitAttr>(attribute.getValue()) && isa<FunctionOpInterface>(op),
                          "a unit attribute on a function");
  if (name == attr::objective)
    return verifyAttrKind(op, attribute,
                          isa<ObjectiveAttr>(attribute.getValue()) && isa<FunctionOpInterface>(op),
                          "a #transformer.objective on a function");
  if (name == attr::scope || name == attr::modelType || name == attr::otherDropping)
    return verifyAttrKind(op, attribute, isa<StringAttr>(attribute.getValue()), "a string");
  return success();
}

static LogicalResult verifyValueAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == attr::name)
    return verifyAttrKind(op, attribute, isa<StringAttr>(value), "a string");
  if (name == attr::defaultValue)
    return verifyAttrKind(op, attribute, isa<DefaultAttr>(value), "a #transformer.default");
  if (name == attr::range) {
    auto range = dyn_cast<DenseI64ArrayAttr>(value);
    return verifyAttrKind(op, attribute, range && range.size() == 2 && range[0] < range[1],
                          "array<i64: low, high> with low < high");
  }
  if (name == attr::maxLength || name == attr::ignored)
    return verifyAttrKind(op, attribute, isa<IntegerAttr>(value), "an integer");
  if (name == attr::dims)
    return verifyAttrKind(op, attribute,
                          isa<ArrayAttr>(value) &&
                              llvm::all_of(cast<ArrayAttr>(value), llvm::IsaPred<StringAttr>),
                          "an array of names");
  if (name == attr::state || name == attr::below)
    return verifyAttrKind(op, attribute, isa<StringAttr>(value), "a string");
  return success();
}

LogicalResult TransformerDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                           unsigned argument,
                                                           NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (failed(verifyValueAttribute(op, attribute)))
    return failure();
  return function && attribute.getName() == attr::state ? verifyStateArgument(function, argument)
                                                        : success();
}

LogicalResult TransformerDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                              NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (failed(verifyValueAttribute(op, attribute)))
    return failure();
  return function && attribute.getName() == attr::state ? verifyStateResult(function) : success();
}

int64_t transformer::widthOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

LogicalResult transformer::verifyWidth(Operation *op, StringRef what, Value value,
                                       int64_t expected) {
  int64_t width = widthOf(value);
  if (width == expected)
    return success();
  return op->emitOpError() << "expected " << what << " of width " << expected << ", found "
                           << width;
}

LogicalResult transformer::verifyNorm(Operation *op, int64_t width, Value gamma, Value beta,
                                      NormAttr norm) {
  if (failed(verifyWidth(op, "gamma", gamma, width)) ||
      failed(verifyWidth(op, "beta", beta, width)))
    return failure();
  if (norm.getUnbiased() && width < 2)
    return op->emitOpError() << "an unbiased variance needs a width of at least 2, found " << width;
  return success();
}

LogicalResult transformer::verifyRmsNorm(Operation *op, int64_t width, Value gamma, NormAttr norm) {
  if (norm.getUnbiased() || norm.getEpsOutside())
    return op->emitOpError() << "a root mean square takes eps alone, found " << norm;
  return verifyWidth(op, "gamma", gamma, width);
}

LogicalResult transformer::verifyPositionBias(Operation *op, Value bias, int64_t numHeads) {
  if (!bias)
    return success();
  auto type = cast<RankedTensorType>(bias.getType());
  bool slopes = type.getRank() == 1, table = type.getRank() == 2 && type.getDimSize(1) % 2;
  if ((slopes || table) && type.getDimSize(0) == numHeads)
    return success();
  return op->emitOpError() << "expected a position_bias of " << numHeads << " heads, [heads] or "
                           << "[heads, P] with an odd P, found " << type;
}

LogicalResult transformer::verifyLinear(Operation *op, StringRef what, int64_t inputWidth,
                                        Value weight, Value bias, WeightLayout layout,
                                        int64_t &outputWidth) {
  auto type = cast<RankedTensorType>(weight.getType());
  bool outIn = layout == WeightLayout::OutIn;
  int64_t in = type.getDimSize(outIn ? 1 : 0);
  outputWidth = type.getDimSize(outIn ? 0 : 1);
  if (in != inputWidth)
    return op->emitOpError() << what << " of layout " << stringifyWeightLayout(layout)
                             << " takes rows of width " << in << ", found width " << inputWidth;
  if (bias)
    return verifyWidth(op, (what + " bias").str(), bias, outputWidth);
  return success();
}

#define GET_OP_CLASSES
#include "dialect/TransformerOps.cpp.inc"
