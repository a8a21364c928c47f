#include "runtime/files/Safetensors.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

/// The message for a file with this header and so many bytes of data.
std::string headerError(const std::string &header, size_t dataBytes) {
  TemporaryFolder folder;
  std::string path =
      folder.write("bad.safetensors", safetensorsBytes(header, std::string(dataBytes, '\0')));
  std::string message = errorOf([&] { SafetensorsFile file(path); });
  expectContains(message, {"bad.safetensors"});
  return message;
}

TEST(Safetensors, RoundTrip) {
  TemporaryFolder folder;
  TensorMap tensors;
  tensors["b"] = floats({2, 2}, {1, -2.5f, 3e-30f, 4});
  tensors["a"] = ints({3}, {-1, INT64_MAX, INT64_MIN});
  tensors["scalar"] = floats({}, {7});
  tensors["empty"] = floats({0, 5}, {});
  writeSafetensors(folder.path("x.safetensors"), tensors);
  EXPECT_EQ(folder.count(), 1u);
  TensorMap read = readSafetensors(folder.path("x.safetensors"));
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(valuesOf<float>(read["b"]), (std::vector<float>{1, -2.5f, 3e-30f, 4}));
  EXPECT_EQ(valuesOf<int64_t>(read["a"]), (std::vector<int64_t>{-1, INT64_MAX, INT64_MIN}));
  EXPECT_EQ(read["b"].shape(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(read["scalar"].rank(), 0);
  EXPECT_EQ(read["scalar"].data<float>()[0], 7);
  EXPECT_EQ(read["empty"].shape(), (std::vector<int64_t>{0, 5}));
}

TEST(Safetensors, WidestTypesComeFirstSoThatDataIsAligned) {
  TemporaryFolder folder;
  TensorMap tensors;
  tensors["a"] = tensorOf<uint8_t>(DataType::U8, {1}, {1});
  tensors["b"] = ints({1}, {2});
  writeSafetensors(folder.path("x.safetensors"), tensors);
  SafetensorsFile file(folder.path("x.safetensors"));
  EXPECT_EQ(file.find("b")->offset % 8, 0u);
  EXPECT_GT(file.find("a")->offset, file.find("b")->offset);
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(Safetensors, PartOfABiggerFile) {
  TemporaryFolder folder;
  std::string inner =
      safetensorsBytes(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "hi");
  std::string path = folder.write("big", std::string(5001, '#') + inner + "tail");
  SafetensorsFile file(path, 5001, inner.size());
  EXPECT_EQ(std::string(file.find("x")->data, 2), "hi");
  releasePages(file.pages(*file.find("x")));
  EXPECT_EQ(std::string(file.find("x")->data, 2), "hi");
}

TEST(Safetensors, BadFiles) {
  TemporaryFolder folder;
  auto message = [&](const std::string &bytes) {
    std::string path = folder.write("f", bytes);
    return errorOf([&] { SafetensorsFile file(path); });
  };
  expectContains(message(""), {"/f", "0 bytes"});
  expectContains(message("1234567"), {"7 bytes"});
  expectContains(message(std::string("\0\0\0\0\0\0\0\x80", 8) + "{}"),
                 {"header length 9223372036854775808"});
  expectContains(message(std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8)), {"header length"});
  expectContains(message(std::string("\x20\0\0\0\0\0\0\0", 8) + "{}"), {"truncated", "32 bytes"});
  expectContains(message(safetensorsBytes("{\"x\": ", "")),
                 {"/f: the header: not JSON", "line 1, column 7"});
  expectContains(message(safetensorsBytes("[]", "")), {"not a JSON object"});
  expectContains(errorOf([&] { SafetensorsFile file(folder.path("none")); }),
                 {"/none", "No such file"});
  expectContains(errorOf([&] { SafetensorsFile file(folder.path()); }), {"not a regular file"});
}

TEST(Safetensors, BadEntries) {
  expectContains(headerError(R"({"x":3})", 0), {"tensor \"x\"", "dtype"});
  expectContains(headerError(R"({"x":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1),
                 {"tensor \"x\"", "F8_E4M3"});
  expectContains(headerError(R"({"x":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})", 1),
                 {"dtype 7"});
  expectContains(headerError(R"({"x":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1),
                 {"-1"});
  expectContains(headerError(R"({"x":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", 1),
                 {"1.5"});
  expectContains(headerError(R"({"x":{"dtype":"U8","shape":"a","data_offsets":[0,1]}})", 1),
                 {"shape"});
  expectContains(
      headerError(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
                  0),
      {"tensor \"x\"", "[4294967296, 4294967296] overflows"});
  std::string ones = "1";
  for (int i = 1; i < 100'000; ++i)
    ones += ",1";
  std::string problem =
      headerError("{\"x\":{\"dtype\":\"F32\",\"shape\":[" + ones + "],\"data_offsets\":[0,8]}}", 8);
  expectContains(problem, {"expected 4 bytes", "[1, 1, 1", "... 100000 sizes]"});
  EXPECT_LT(problem.size(), 300u);
  expectContains(headerError(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4),
                 {"tensor \"x\"", "[0, 8]", "4 bytes"});
  expectContains(headerError(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
                 {"expected 8 bytes for F32 [2]", "found data_offsets of 4"});
  expectContains(headerError(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
                 {"data_offsets"});
  expectContains(headerError(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4),
                 {"data_offsets"});
  expectContains(
      headerError(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551615]}})", 1),
      {"data_offsets"});
}

TEST(Safetensors, OverlapsHolesAndRests) {
  expectContains(headerError(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
                                 "y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                             3),
                 {"tensor \"y\"", "overlaps"});
  expectContains(headerError(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                                 "y":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                             3),
                 {"tensor \"y\"", "no tensor"});
  expectContains(headerError(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 3),
                 {"2 bytes at the end"});
}

/// Opening either works or throws Error; all bytes of every tensor can be read.
void openAnything(const std::string &path) {
  try {
    SafetensorsFile file(path);
    unsigned sum = 0;
    for (const auto &[name, view] : file.tensors())
      for (uint64_t i = 0; i < view.bytes; ++i)
        sum += static_cast<unsigned char>(view.data[i]);
    EXPECT_LE(sum, 255u * 64);
  } catch (const Error &) {
  }
}

TEST(Safetensors, EveryTruncationAndEveryFlippedBit) {
  TemporaryFolder folder;
  const std::string good =
      safetensorsBytes(R"({"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                       R"("y":{"dtype":"U8","shape":[8],"data_offsets":[24,32]}})",
                       std::string(32, 'd'));
  for (size_t size = 0; size < good.size(); ++size) {
    std::string path = folder.write("f", good.substr(0, size));
    expectContains(errorOf([&] { SafetensorsFile file(path); }), {"/f"});
  }
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    openAnything(folder.write("f", bad));
  }
}

TEST(Safetensors, WritingFailsCleanly) {
  TemporaryFolder folder;
  TensorMap tensors;
  tensors["a"] = ints({1}, {1});
  expectContains(errorOf([&] { writeSafetensors(folder.path("no/x"), tensors); }),
                 {"no/x", "cannot write"});
  EXPECT_EQ(folder.count(), 0u);
  expectContains(errorOf([&] { writeSafetensors(folder.path(), tensors); }), {"directory"});
}

} // namespace
