//===- MatrixMaps.cpp - CUDA's tensor maps of matrices --------------------===//
#include "runtime/cuda/MatrixMaps.h"

#include "runtime/base/Error.h"

namespace transformer::runtime {
namespace {

constexpr uint64_t bytesOfNumber = 2;
constexpr uint32_t boxColumns = 64;  // 128 bytes, which the swizzle is for
constexpr size_t mostMaps = 1 << 14; // some megabytes

} // namespace

MatrixMaps::Map MatrixMaps::make(const MatrixBoxes &boxes) const {
  Map map;
  if (!boxes.rows || !boxes.columns)
    return map;
  if (!driver.cuTensorMapEncodeTiled)
    fail("the NVIDIA driver is too old: libcuda.so.1 has no cuTensorMapEncodeTiled");
  uint64_t sizes[] = {uint64_t(boxes.columns), uint64_t(boxes.rows)};
  uint64_t strides[] = {uint64_t(boxes.rowStride) * bytesOfNumber};
  uint32_t box[] = {boxColumns, uint32_t(boxes.boxRows)}, steps[] = {1, 1};
  CUresult result = driver.cuTensorMapEncodeTiled(
      map.bytes.data(), CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, const_cast<void *>(boxes.data), sizes,
      strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    fail("a matrix of {} x {} numbers at {}, {} from row to row: cuTensorMapEncodeTiled: {}",
         boxes.rows, boxes.columns, boxes.data, boxes.rowStride, driver.errorName(result));
  return map;
}

const void *MatrixMaps::find(const MatrixBoxes &boxes) {
  auto found = maps.find(boxes);
  if (found == maps.end())
    found = maps.emplace(boxes, make(boxes)).first;
  return found->second.bytes.data();
}

void MatrixMaps::trim() {
  if (maps.size() > mostMaps)
    maps.clear();
}

} // namespace transformer::runtime
