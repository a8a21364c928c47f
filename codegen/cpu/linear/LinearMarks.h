//===- LinearMarks.h - the parts of linear layers -------------------------===//
//
// `#transformer_cpu.linear` says how passes on linear layers know each other's ops.
//
//===----------------------------------------------------------------------===//
#ifndef CODEGEN_CPU_LINEAR_LINEARMARKS_H
#define CODEGEN_CPU_LINEAR_LINEARMARKS_H

#include "codegen/cpu/dialect/CpuDialect.h"
#include "codegen/cpu/linear/LinearFormat.h"

namespace mlir::transformer {

using cpu::LinearPart;

/// Null where `op` is no part of a linear layer.
inline cpu::LinearAttr linearMark(Operation *op) {
  return op->getAttrOfType<cpu::LinearAttr>(cpu::LinearAttr::attributeName);
}

inline bool isPart(Operation *op, LinearPart part) {
  cpu::LinearAttr mark = linearMark(op);
  return mark && mark.getPart() == part;
}

/// A contraction over all of k or a block of it.
inline bool isContraction(Operation *op) {
  return isPart(op, LinearPart::Contraction) || isPart(op, LinearPart::Partial);
}

inline void markPart(Operation *op, LinearPart part, StringAttr format = {}, int64_t steps = 0,
                     int64_t before = 0, int64_t panels = 1) {
  op->setAttr(cpu::LinearAttr::attributeName,
              cpu::LinearAttr::get(op->getContext(), part, format, steps, before, panels));
}

/// The format of a contraction or of a loop over k; the attribute's verifier has seen to it that
/// there is one.
inline const LinearFormat &formatOf(Operation *op) {
  return *linearFormatNamed(linearMark(op).getFormat());
}

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_LINEARMARKS_H
