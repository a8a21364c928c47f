//===- TopK.h - torch.topk --------------------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TOPK_H
#define TRANSFORMER_RUNTIME_TOPK_H

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace transformer::runtime {

/// The largest values, in their order. Among equals it chooses as torch.topk on a CPU does: where
/// few tokens can come, beams of the same score are many. Has memory for its work.
class TopK {
public:
  /// The indexes of the k largest values, 1 <= k <= their number. Lives until the next call.
  std::span<const size_t> operator()(std::span<const float> values, size_t k);

private:
  std::vector<std::pair<float, size_t>> queue;
  std::vector<size_t> indexes;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TOPK_H
