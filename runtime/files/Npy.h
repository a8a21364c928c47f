//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_NPY_H
#define TRANSFORMER_RUNTIME_NPY_H

#include "runtime/base/Tensor.h"

#include <string>

namespace transformer::runtime {

/// Reads a .npy file (versions 1 to 3) of bool, i1..i8, u1..u8, f2, f4 or f8, little-endian; a
/// Fortran-ordered one is transposed to row-major. Throws Error that names the file.
Tensor readNpy(const std::string &path);

/// Writes version 1.0, row-major; the file appears whole or not at all. BF16 is not a NumPy type
/// and throws Error.
void writeNpy(const std::string &path, const Tensor &tensor);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_NPY_H
