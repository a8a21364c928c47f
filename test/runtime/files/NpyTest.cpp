#include "runtime/files/Npy.h"
#include "runtime/files/TensorFiles.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

std::string npyBytes(const std::string &header, const std::string &data) {
  std::string bytes("\x93NUMPY\x01\0", 8);
  auto length = static_cast<uint16_t>(header.size());
  return bytes + std::string(reinterpret_cast<const char *>(&length), 2) + header + data;
}

TEST(Npy, RoundTrip) {
  TemporaryFolder folder;
  std::string path = folder.path("x.npy");
  writeNpy(path, floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(std::filesystem::file_size(path), 128u + 24u);
  Tensor read = readNpy(path);
  EXPECT_EQ(read.dtype(), DataType::F32);
  EXPECT_EQ(read.shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(valuesOf<float>(read), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  writeNpy(path, ints({2}, {-1, 7}));
  EXPECT_EQ(valuesOf<int64_t>(readNpy(path)), (std::vector<int64_t>{-1, 7}));
  writeNpy(path, floats({}, {3}));
  EXPECT_EQ(readNpy(path).rank(), 0);
}

TEST(Npy, FortranOrderIsTransposed) {
  TemporaryFolder folder;
  std::string path =
      folder.write("f.npy", npyBytes("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n",
                                     std::string("\1\4\2\5\3\6", 6)));
  EXPECT_EQ(valuesOf<uint8_t>(readNpy(path)), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, BadFiles) {
  TemporaryFolder folder;
  auto message = [&](const std::string &bytes) {
    std::string path = folder.write("b.npy", bytes);
    return errorOf([&] { readNpy(path); });
  };
  const std::string good = "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }\n";
  expectContains(message("no"), {"b.npy", "not a .npy"});
  expectContains(message(npyBytes(good, "1234567")), {"expected 8 bytes", "found 7"});
  expectContains(message(npyBytes(good, "123456789")), {"expected 8 bytes", "found 9"});
  expectContains(message(std::string("\x93NUMPY\x01\0\xFF\xFF{", 11)), {"truncated"});
  expectContains(message(std::string("\x93NUMPY\x09\0\0\0", 10)), {"version 9"});
  expectContains(message(npyBytes("{'descr': '>i8', 'fortran_order': False, 'shape': (1,)}", "")),
                 {"'>i8'"});
  expectContains(message(npyBytes("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "")),
                 {"'|O'"});
  expectContains(message(npyBytes("{'descr': '<i8', 'fortran_order': False, 'shape': (-1,)}", "")),
                 {"not understood"});
  expectContains(message(npyBytes("{'descr': '<i8', 'fortran_order': False, "
                                  "'shape': (9223372036854775807, 9223372036854775807)}",
                                  "")),
                 {"too many"});
}

TEST(TensorFiles, NamesAndMixes) {
  TemporaryFolder folder;
  std::string npy = folder.path("ids.npy");
  writeNpy(npy, ints({1, 2}, {5, 6}));
  TensorMap read = readTensors({"input_ids=" + npy, "mask=" + npy});
  EXPECT_EQ(valuesOf<int64_t>(read["mask"]), (std::vector<int64_t>{5, 6}));
  std::string all = folder.path("all.safetensors");
  std::string one = folder.path("one.npy");
  writeTensors({all, "mask=" + one}, read);
  EXPECT_EQ(readTensors({all}).size(), 2u);
  EXPECT_EQ(valuesOf<int64_t>(readNpy(one)), (std::vector<int64_t>{5, 6}));
  expectContains(errorOf([&] { readTensors({all, "mask=" + npy}); }), {"\"mask\"", "twice"});
  expectContains(errorOf([&] { readTensors({npy}); }), {"which tensor"});
  expectContains(errorOf([&] { writeTensors({"logits=" + one}, read); }),
                 {"no output \"logits\"", "input_ids, mask"});
}

} // namespace
