//===- TensorTest.cpp - tensors that share memory -------------------------===//
#include "runtime/base/Tensor.h"

#include "test/runtime/TestSupport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

using namespace transformer::runtime;

namespace {

bool isZero(const Tensor &tensor) {
  const char *data = tensor.data<char>();
  return std::all_of(data, data + tensor.bytes(), [](char byte) { return byte == 0; });
}

TEST(Tensor, ZerosTogether) {
  for (int64_t rows : {3, 300'000}) { // from the heap, and from a mapping
    std::vector<Tensor> tensors =
        Tensor::zeros({{DataType::F32, {rows, 5}}, {DataType::I64, {}}, {DataType::F32, {0, 7}}});
    ASSERT_EQ(tensors.size(), 3U);
    EXPECT_EQ(tensors[0].shape(), (std::vector<int64_t>{rows, 5}));
    EXPECT_EQ(tensors[1].dtype(), DataType::I64);
    EXPECT_EQ(tensors[1].count(), 1);
    EXPECT_EQ(tensors[2].bytes(), 0);
    for (Tensor &tensor : tensors) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data<char>()) % bufferAlignment, 0U);
      EXPECT_TRUE(isZero(tensor));
    }
    EXPECT_EQ(tensors[1].data<char>() - tensors[0].data<char>(),
              static_cast<ptrdiff_t>(alignUp(static_cast<size_t>(tensors[0].bytes()))));
    std::fill_n(tensors[0].data<float>(), tensors[0].count(), 1.0F);
    EXPECT_TRUE(isZero(tensors[1]));
  }
}

TEST(Tensor, MemoryLivesAsLongAsATensorInIt) {
  std::optional<Tensor> kept;
  {
    std::vector<Tensor> tensors =
        Tensor::zeros({{DataType::F32, {1'000'000}}, {DataType::F32, {1'000'000}}});
    kept = std::move(tensors[1]);
    tensors[0] = Tensor(DataType::F32, {2});
  }
  *kept->data<float>() = 2.5F;
  kept->data<float>()[999'999] = 3.5F;
  EXPECT_EQ(*kept->data<float>() + kept->data<float>()[999'999], 6.0F);
}

TEST(Tensor, ZerosThatAreTooLarge) {
  std::vector<std::pair<DataType, std::vector<int64_t>>> four(4,
                                                              {DataType::F32, {int64_t(1) << 60}});
  EXPECT_EQ(errorOf([&] { Tensor::zeros(four); }), "tensors of zeros are too large together");
  EXPECT_EQ(errorOf([] { Tensor::zeros(DataType::F32, {int64_t(1) << 62, 4}); }),
            "a tensor of shape [4611686018427387904, 4] is too large");
}

} // namespace
