//===- Safetensors.cpp - reading and writing safetensors files ------------===//
#include "runtime/files/Safetensors.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Error.h"
#include "runtime/base/Json.h"

#include <algorithm>
#include <cstring>

namespace transformer::runtime {
namespace {

// The limit of Hugging Face's own reader.
constexpr uint64_t maxHeaderBytes = 100'000'000;

/// A JSON number that is an integer >= 0 and fits an int64.
bool readSize(const Json &value, int64_t &result) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t(INT64_MAX))
    return false;
  result = value.get<int64_t>();
  return true;
}

TensorView parseEntry(const std::string &where, const Json &entry, uint64_t dataBytes) {
  auto field = [&](const char *key) -> const Json & {
    if (!entry.is_object() || !entry.contains(key))
      fail("{}: the header has no \"{}\"", where, key);
    return entry[key];
  };
  TensorView view{};
  const Json &dtype = field("dtype");
  auto type =
      dtype.is_string() ? parseSafetensorsName(dtype.get_ref<const std::string &>()) : std::nullopt;
  if (!type)
    fail("{}: unsupported dtype {}", where, describe(dtype));
  view.dtype = *type;
  const Json &shape = field("shape");
  if (!shape.is_array())
    fail("{}: \"shape\" is not a list", where);
  for (const Json &item : shape) {
    int64_t size;
    if (!readSize(item, size))
      fail("{}: \"shape\" holds {}, expected sizes of 0 or more", where, describe(item));
    view.shape.push_back(size);
  }
  int64_t bytes = byteSize(view.shape, byteWidth(view.dtype));
  if (bytes < 0)
    fail("{}: shape {} overflows", where, shapeText(view.shape));
  const Json &range = field("data_offsets");
  int64_t begin, end;
  if (!range.is_array() || range.size() != 2 || !readSize(range[0], begin) ||
      !readSize(range[1], end) || begin > end)
    fail("{}: \"data_offsets\" is not a pair [begin, end] with begin <= end", where);
  if (static_cast<uint64_t>(end) > dataBytes)
    fail("{}: data_offsets [{}, {}] lie outside the file's {} bytes of data (truncated?)", where,
         begin, end, dataBytes);
  if (end - begin != bytes)
    fail("{}: expected {} bytes for {} {}, found data_offsets of {} bytes", where, bytes,
         safetensorsName(view.dtype), shapeText(view.shape), end - begin);
  view.offset = static_cast<uint64_t>(begin);
  view.bytes = static_cast<uint64_t>(bytes);
  return view;
}

} // namespace

SafetensorsFile::SafetensorsFile(const std::string &path, uint64_t offset, uint64_t size)
    : file(path), mapping(path, offset, size) {
  parse();
  checkLayout();
}

void SafetensorsFile::parse() {
  if (mapping.size() < 8)
    fail("{}: not a safetensors file: {} bytes, expected at least 8", file, mapping.size());
  uint64_t headerBytes;
  std::memcpy(&headerBytes, mapping.data(), 8);
  if (headerBytes > maxHeaderBytes)
    fail("{}: not a safetensors file: header length {}, expected at most {}", file, headerBytes,
         maxHeaderBytes);
  if (headerBytes > mapping.size() - 8)
    fail("{}: truncated: the header has {} bytes, the file {}", file, headerBytes, mapping.size());
  // A copy: whoever writes to the file changes nothing between two looks at it.
  headerText.assign(mapping.data() + 8, headerBytes);
  Json header = parseJson(file + ": the header", headerText);
  if (!header.is_object())
    fail("{}: the header is not a JSON object", file);
  uint64_t dataBytes = mapping.size() - 8 - headerBytes;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    std::string where = formatted("{}: tensor \"{}\"", file, printable(name));
    TensorView view = parseEntry(where, entry, dataBytes);
    view.offset += 8 + headerBytes;
    view.data = mapping.data() + view.offset;
    views.emplace(name, std::move(view));
  }
}

void SafetensorsFile::checkLayout() const {
  using Item = std::pair<const std::string, TensorView>;
  std::vector<const Item *> order;
  for (const Item &item : views)
    order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const Item *a, const Item *b) {
    return std::pair(a->second.offset, a->second.bytes) <
           std::pair(b->second.offset, b->second.bytes);
  });
  uint64_t start = 8 + headerText.size();
  uint64_t next = start;
  for (const Item *item : order) {
    if (item->second.offset != next)
      fail("{}: tensor \"{}\": data starts at {}, expected {} ({})", file, printable(item->first),
           item->second.offset - start, next - start,
           item->second.offset < next ? "it overlaps another tensor" : "bytes of no tensor before");
    next += item->second.bytes;
  }
  if (next != mapping.size())
    fail("{}: {} bytes at the end belong to no tensor", file, mapping.size() - next);
}

const TensorView *SafetensorsFile::find(const std::string &name) const {
  auto found = views.find(name);
  return found == views.end() ? nullptr : &found->second;
}

TensorMap readSafetensors(const std::string &path) {
  SafetensorsFile file(path);
  TensorMap result;
  for (const auto &[name, view] : file.tensors()) {
    Tensor tensor(view.dtype, view.shape);
    if (view.bytes != 0)
      std::memcpy(tensor.data<char>(), view.data, view.bytes);
    result.emplace(name, std::move(tensor));
  }
  return result;
}

void writeSafetensors(const std::string &path, const TensorMap &tensors) {
  std::vector<NamedTensor> all;
  for (const auto &[name, tensor] : tensors)
    all.emplace_back(name, tensor);
  AtomicFile file(path);
  writeSafetensors(file, std::move(all));
  file.commit();
}

void writeSafetensors(AtomicFile &file, std::vector<NamedTensor> tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  int64_t offset = 0;
  // Wider types first, as Hugging Face's writer does, so that every tensor is aligned.
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
    return byteWidth(a.dtype) > byteWidth(b.dtype);
  });
  for (const NamedTensor &tensor : tensors) {
    int64_t end = offset + byteSize(tensor.shape, byteWidth(tensor.dtype));
    header[tensor.name] = {{"dtype", std::string(safetensorsName(tensor.dtype))},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t headerBytes = text.size();
  file.write(&headerBytes, 8);
  file.write(text);
  for (const NamedTensor &tensor : tensors)
    file.write(tensor.data, static_cast<size_t>(byteSize(tensor.shape, byteWidth(tensor.dtype))));
}

} // namespace transformer::runtime
