//===- Formats.h - the formats that there are -----------------------------===//
#ifndef CODEGEN_CPU_LINEAR_FORMATS_H
#define CODEGEN_CPU_LINEAR_FORMATS_H

#include "codegen/cpu/linear/LinearFormat.h"

namespace mlir::transformer {

const LinearFormat &float32Format();
const LinearFormat &winogradFormat();
const LinearFormat &bfloat16Format();
const LinearFormat &int8Format();
const LinearFormat &int4Format();
/// Weights of these formats, rows of integers or of bfloat16.
const LinearFormat &int8IntegerFormat();
const LinearFormat &int4IntegerFormat();
const LinearFormat &bfloat16PairsFormat();
const LinearFormat &bfloat16MatrixFormat();
/// Of float32 that is not rounded.
const LinearFormat &float32MatrixFormat();

} // namespace mlir::transformer

#endif // CODEGEN_CPU_LINEAR_FORMATS_H
