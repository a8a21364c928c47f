//===- PackedWeights.h - prepared tensors in a file -------------*- C++ -*-===//
//
// What the prepare functions of a program made from a checkpoint, kept for the
// next start, which maps it. The file begins with a text of a few lines that
// says what it was made from:
//
//   transformer-mlir packed weights 4
//   program 4f0c..., prepared tensors of 342482944 bytes at 2097152
//   weights of 437951328 bytes, modified 1763722300123456789, header 77d1...
//
// (a line of weights for each file of the checkpoint; of the program only what
// says how tensors are prepared), goes on with zeros to a
// multiple of 2 MiB, where the tensors stand, and ends with a line of the hash
// of all that, "hash 53c1...". It belongs to a program and weights if its size
// and its text are exactly those that would be written; no number in it is ever
// read but the hash.
//
// The hash is computed while the file is written and compared when somebody
// asks (`info`). A start does not compare it, as nothing there is free: for the
// 345 MB of BERT-base that takes 55 ms (one thread, pages in the cache; it is
// as fast as memory), a start and a short call together 40 ms.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_PACKEDWEIGHTS_H
#define TRANSFORMER_RUNTIME_PACKEDWEIGHTS_H

#include "runtime/base/Memory.h"

#include <cstddef>
#include <string>

namespace transformer::runtime {

class Checkpoint;
struct Description;

class PackedWeights {
public:
  /// The file at `path` for `bytes` of tensors that the module of `description` prepares from
  /// `weights`; mapped when it is there and was made for them. Throws Error when `path` is
  /// something else than a file of packed weights, which is never overwritten, or lies in no
  /// folder.
  PackedWeights(std::string path, const Description &description, const Checkpoint &weights,
                size_t bytes);

  /// The tensors, 64-byte aligned; null when the file has to be written.
  const char *data() const { return mapped.data() ? mapped.data() + offset : nullptr; }

  /// Writes the file; it appears whole or not at all. Throws Error when it cannot be written.
  void write(const char *tensors) const;

  /// Throws Error when the file is mapped and has been written to since.
  void checkUnchanged() const { mapped.checkUnchanged(); }

  /// Why there is no data(): "there was none", "it belonged to another program", ...
  const std::string &reason() const { return why; }

  /// Reads the whole file at `path` and throws Error when it is damaged or no file of packed
  /// weights. Returns why the program of `description` would make it again with `weights` (null:
  /// with those that it was made from), or nothing when it would use it.
  static std::string check(const std::string &path, const Description &description,
                           const Checkpoint *weights);

private:
  std::string path, text, why;
  size_t bytes, offset;
  MappedFile mapped;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PACKEDWEIGHTS_H
