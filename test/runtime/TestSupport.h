//===- TestSupport.h - files and errors in tests ----------------*- C++ -*-===//
#ifndef TRANSFORMER_TEST_RUNTIME_TESTSUPPORT_H
#define TRANSFORMER_TEST_RUNTIME_TESTSUPPORT_H

#include "runtime/base/Error.h"
#include "runtime/base/Tensor.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace transformer::runtime {

/// A folder that is deleted with everything in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "runtime_tests.XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder + "/" + name; }
  const std::string &path() const { return folder; }

  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  /// Files in the folder.
  size_t count() const {
    size_t files = 0;
    for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator(folder))
      ++files;
    return files;
  }

private:
  std::string folder;
};

/// The bytes of a file, read at once: one by one takes seconds with sanitizers.
inline std::string bytesOf(const std::string &path) {
  std::string bytes(std::filesystem::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(bytes.data(), std::streamsize(bytes.size()));
  return bytes;
}

/// The message of the Error that `body` throws; fails the test when it throws none.
template <typename Body> std::string errorOf(Body body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

inline void expectContains(const std::string &text, const std::vector<std::string> &parts) {
  for (const std::string &part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
}

template <typename T>
Tensor tensorOf(DataType type, std::vector<int64_t> shape, const std::vector<T> &values) {
  Tensor tensor(type, std::move(shape));
  EXPECT_EQ(tensor.bytes(), static_cast<int64_t>(values.size() * sizeof(T)));
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

inline Tensor ints(std::vector<int64_t> shape, const std::vector<int64_t> &values) {
  return tensorOf(DataType::I64, std::move(shape), values);
}

inline Tensor floats(std::vector<int64_t> shape, const std::vector<float> &values) {
  return tensorOf(DataType::F32, std::move(shape), values);
}

/// A file's only tensor, of one number.
inline TensorMap one(const std::string &name, float value) {
  TensorMap tensors;
  tensors[name] = floats({1}, {value});
  return tensors;
}

template <typename T> std::vector<T> valuesOf(const Tensor &tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.count()};
}

/// The bytes of a safetensors file with this header and data.
inline std::string safetensorsBytes(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header + data;
}

} // namespace transformer::runtime

#endif // TRANSFORMER_TEST_RUNTIME_TESTSUPPORT_H
