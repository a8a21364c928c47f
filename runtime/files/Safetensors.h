//===- Safetensors.h - reading and writing safetensors files ----*- C++ -*-===//
//
// A file: 8 bytes little-endian header length, a JSON object from tensor name
// to dtype, shape and byte range, then the data. Nothing in a file is
// believed before it has been checked.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_SAFETENSORS_H
#define TRANSFORMER_RUNTIME_SAFETENSORS_H

#include "runtime/base/DataType.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Tensor.h"

#include <map>
#include <string>
#include <vector>

namespace transformer::runtime {

class AtomicFile;

/// A tensor inside a mapped file. `data` lives as long as the file object, at any alignment.
struct TensorView {
  DataType dtype;
  std::vector<int64_t> shape;
  const char *data;
  uint64_t offset; // of data in the mapping
  uint64_t bytes;
};

class SafetensorsFile {
public:
  /// Maps and checks `path`, or `size` bytes of it from `offset`. Throws Error that names the file
  /// and the tensor when anything is wrong: header length, JSON, dtype, shape, byte ranges that
  /// overlap, leave holes or disagree with the shape.
  explicit SafetensorsFile(const std::string &path, uint64_t offset = 0,
                           uint64_t size = MappedFile::npos);

  const std::string &path() const { return file; }
  const std::map<std::string, TensorView> &tensors() const { return views; }

  /// Null when there is no tensor of that name.
  const TensorView *find(const std::string &name) const;

  /// The whole pages that a tensor fills.
  Pages pages(const TensorView &view) const { return mapping.pages(view.offset, view.bytes); }
  /// The same with the rest of the huge pages that it begins and ends in.
  Pages hugePages(const TensorView &view) const {
    return mapping.hugePages(view.offset, view.bytes);
  }

  /// What the tensors lie in.
  const MappedFile &bytes() const { return mapping; }

  /// The JSON text that names the tensors.
  const std::string &header() const { return headerText; }

private:
  void parse();
  void checkLayout() const;

  std::string file, headerText;
  MappedFile mapping;
  std::map<std::string, TensorView> views;
};

/// Reads all tensors into memory of their own.
TensorMap readSafetensors(const std::string &path);

/// Writes tensors under their names, in the order of the map; the file appears whole or not at
/// all. Throws Error when it cannot be written.
void writeSafetensors(const std::string &path, const TensorMap &tensors);

/// A tensor that lies somewhere.
struct NamedTensor {
  std::string name;
  DataType dtype;
  std::vector<int64_t> shape;
  const void *data;

  NamedTensor(std::string name, const Tensor &tensor)
      : name(std::move(name)), dtype(tensor.dtype()), shape(tensor.shape()),
        data(tensor.data<char>()) {}
  NamedTensor(std::string name, const TensorView &view)
      : name(std::move(name)), dtype(view.dtype), shape(view.shape), data(view.data) {}
};

/// The same for tensors of any kind, in their order, to a file that the caller commits.
void writeSafetensors(AtomicFile &file, std::vector<NamedTensor> tensors);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_SAFETENSORS_H
