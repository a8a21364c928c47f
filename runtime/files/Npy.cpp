//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
#include "runtime/files/Npy.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Error.h"

#include <cctype>
#include <cstring>
#include <optional>
#include <string_view>

namespace transformer::runtime {
namespace {

struct NpyType {
  std::string_view descr; // without the byte order
  DataType type;
};

constexpr NpyType types[] = {{"b1", DataType::Bool}, {"u1", DataType::U8},  {"i1", DataType::I8},
                             {"u2", DataType::U16},  {"i2", DataType::I16}, {"u4", DataType::U32},
                             {"i4", DataType::I32},  {"u8", DataType::U64}, {"i8", DataType::I64},
                             {"f2", DataType::F16},  {"f4", DataType::F32}, {"f8", DataType::F64}};

/// The header is a Python literal: {'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }.
/// This finds a key and returns the text from its value on.
std::string_view valueOf(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = formatted("{}{}{}", quote, key, quote);
    size_t at = header.find(quoted);
    if (at == std::string_view::npos)
      continue;
    at = header.find_first_not_of(" ", at + quoted.size());
    if (at == std::string_view::npos || header[at] != ':')
      continue;
    at = header.find_first_not_of(" ", at + 1);
    return at == std::string_view::npos ? std::string_view() : header.substr(at);
  }
  return {};
}

DataType parseDescr(const std::string &path, std::string_view text) {
  std::string_view descr;
  if (text.size() > 1 && (text[0] == '\'' || text[0] == '"')) {
    size_t end = text.find(text[0], 1);
    if (end != std::string_view::npos)
      descr = text.substr(1, end - 1);
  }
  if (!descr.empty() && (descr[0] == '<' || descr[0] == '|' || descr[0] == '='))
    for (const NpyType &known : types)
      if (known.descr == descr.substr(1))
        return known.type;
  fail("{}: unsupported dtype '{}', expected little-endian bool, integers or floats", path,
       printable(std::string(descr), 40));
}

std::optional<std::vector<int64_t>> parseShape(std::string_view text) {
  if (text.empty() || text[0] != '(')
    return std::nullopt;
  std::vector<int64_t> shape;
  for (size_t i = 1; i < text.size();) {
    if (text[i] == ')')
      return shape;
    if (text[i] == ' ' || text[i] == ',' || text[i] == 'L') {
      ++i;
      continue;
    }
    if (!std::isdigit(static_cast<unsigned char>(text[i])))
      return std::nullopt;
    int64_t size = 0;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i)
      if (__builtin_mul_overflow(size, 10, &size) ||
          __builtin_add_overflow(size, text[i] - '0', &size))
        return std::nullopt;
    shape.push_back(size);
  }
  return std::nullopt;
}

/// Copies column-major elements at `source` into row-major order.
void transpose(const char *source, Tensor &tensor) {
  int64_t width = byteWidth(tensor.dtype());
  std::vector<int64_t> index(tensor.shape().size(), 0);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    int64_t from = 0;
    for (size_t d = index.size(); d-- > 0;)
      from = from * tensor.shape()[d] + index[d];
    std::memcpy(tensor.data<char>() + i * width, source + from * width, static_cast<size_t>(width));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.shape()[d])
        break;
      index[d] = 0;
    }
  }
}

} // namespace

Tensor readNpy(const std::string &path) {
  MappedFile file(path);
  if (file.size() < 10 || std::memcmp(file.data(), "\x93NUMPY", 6) != 0)
    fail("{}: not a .npy file", path);
  int major = static_cast<unsigned char>(file.data()[6]);
  if (major < 1 || major > 3)
    fail("{}: .npy version {} is unknown, expected 1 to 3", path, major);
  uint64_t lengthBytes = major == 1 ? 2 : 4;
  uint64_t headerBytes = 0;
  if (file.size() < 8 + lengthBytes)
    fail("{}: truncated header", path);
  std::memcpy(&headerBytes, file.data() + 8, lengthBytes);
  uint64_t start = 8 + lengthBytes + headerBytes;
  if (start > file.size())
    fail("{}: truncated: the header has {} bytes, the file {}", path, headerBytes, file.size());
  std::string_view header(file.data() + 8 + lengthBytes, headerBytes);
  DataType type = parseDescr(path, valueOf(header, "descr"));
  auto shape = parseShape(valueOf(header, "shape"));
  std::string_view order = valueOf(header, "fortran_order");
  bool fortran = order.substr(0, 4) == "True";
  if (!shape || (!fortran && order.substr(0, 5) != "False"))
    fail("{}: the header is not understood: {}", path, printable(std::string(header)));
  int64_t bytes = byteSize(*shape, byteWidth(type));
  if (bytes < 0 || static_cast<uint64_t>(bytes) != file.size() - start)
    fail("{}: expected {} bytes of data for shape {}, found {}", path,
         bytes < 0 ? std::string("too many") : std::to_string(bytes), shapeText(*shape),
         file.size() - start);
  Tensor result(type, std::move(*shape));
  if (fortran && result.rank() > 1)
    transpose(file.data() + start, result);
  else if (bytes != 0)
    std::memcpy(result.data<char>(), file.data() + start, static_cast<size_t>(bytes));
  return result;
}

void writeNpy(const std::string &path, const Tensor &tensor) {
  std::string_view descr;
  for (const NpyType &known : types)
    if (known.type == tensor.dtype())
      descr = known.descr;
  if (descr.empty())
    fail("{}: cannot write {} as .npy", path, safetensorsName(tensor.dtype()));
  std::string shape =
      formatted("{}{}", fmt::join(tensor.shape(), ", "), tensor.rank() == 1 ? "," : "");
  std::string header = formatted("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 byteWidth(tensor.dtype()) == 1 ? '|' : '<', descr, shape);
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  char prefix[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
  auto length = static_cast<uint16_t>(header.size());
  std::memcpy(prefix + 8, &length, 2);
  AtomicFile file(path);
  file.write(prefix, sizeof(prefix));
  file.write(header);
  file.write(tensor.data<char>(), static_cast<size_t>(tensor.bytes()));
  file.commit();
}

} // namespace transformer::runtime
