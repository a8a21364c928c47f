//===- Formats.h - the formats that there are -----------------------------===//
#ifndef CODEGEN_CPU_LINEAR_FORMATS_H
#define CODEGEN_CPU_LINEAR_FORMATS_H

#include "codegen/cpu/linear/LinearFormat.h"

namespace mlir::transformer {

const LinearFormat &float32Format();
const LinearFormat &winogradFormat();

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_FORMATS_H
