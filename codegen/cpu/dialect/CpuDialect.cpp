//===- CpuDialect.cpp - what only a CPU's code generation knows -----------===//
#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/cpu/linear/LinearFormat.h"
#include "codegen/kernels/KernelBufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::cpu;

/// , "f32", steps = 3, before = 1, panels = 2, each where it is not the default.
static ParseResult parseLinearDetails(AsmParser &parser, StringAttr &format, int64_t &steps,
                                      int64_t &before, int64_t &panels) {
  format = StringAttr(), steps = 0, before = 0, panels = 1;
  while (succeeded(parser.parseOptionalComma())) {
    StringAttr text;
    if (parser.parseOptionalAttribute(text).has_value()) {
      format = text;
      continue;
    }
    StringRef name;
    SMLoc where = parser.getCurrentLocation();
    int64_t value;
    if (parser.parseKeyword(&name) || parser.parseEqual() || parser.parseInteger(value))
      return failure();
    if (name != "steps" && name != "before" && name != "panels")
      return parser.emitError(where, "expected a format, steps, before or panels, found ") << name;
    (name == "steps" ? steps : name == "before" ? before : panels) = value;
  }
  return success();
}

static void printLinearDetails(AsmPrinter &printer, StringAttr format, int64_t steps,
                               int64_t before, int64_t panels) {
  if (format)
    printer << ", " << format;
  if (steps)
    printer << ", steps = " << steps;
  if (before)
    printer << ", before = " << before;
  if (panels != 1)
    printer << ", panels = " << panels;
}

#include "codegen/cpu/dialect/CpuDialect.cpp.inc"
#include "codegen/cpu/dialect/CpuEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cpu/dialect/CpuAttrs.cpp.inc"

void CpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "codegen/cpu/dialect/CpuAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/cpu/dialect/CpuOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/cpu/dialect/MatrixOps.cpp.inc"
      >();
}

LogicalResult CpuDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  auto linear = dyn_cast<LinearAttr>(attribute.getValue());
  if (attribute.getName() != LinearAttr::attributeName || !linear)
    return op->emitOpError() << "has an unknown attribute " << attribute.getName();
  auto fail = [&](const Twine &expected) {
    return op->emitOpError() << attribute.getName() << ": expected " << expected << ", found "
                             << linear;
  };
  LinearPart part = linear.getPart();
  bool isPlainLoop = part == LinearPart::Blocks || part == LinearPart::Rows;
  bool isLoop = part == LinearPart::Loop || isPlainLoop;
  if (isLoop ? !isa<scf::ForOp>(op) : !isa<linalg::GenericOp>(op))
    return fail(isLoop ? "a scf.for" : "a linalg.generic");
  if (part == LinearPart::Epilogue || part == LinearPart::Beside || isPlainLoop)
    return success();
  if (!linear.getFormat() || !linearFormatNamed(linear.getFormat()))
    return fail("a format that there is");
  if (part == LinearPart::Loop && linear.getSteps() < 1)
    return fail("a number of steps");
  return success();
}

void mlir::transformer::cpu::registerBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, CpuDialect *) {
    kernel::attachKernelBufferization<
#define GET_OP_LIST
#include "codegen/cpu/dialect/CpuOps.cpp.inc"
        >(*context);
  });
}

#define GET_OP_CLASSES
#include "codegen/cpu/dialect/CpuOps.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/cpu/dialect/MatrixOps.cpp.inc"
