#include "test/runtime/FakeModule.h"
#include "runtime/base/Hash.h"
#include "test/runtime/TestSupport.h"

namespace transformer::runtime {

const char *const fakeDescription = R"({
  "producer": "by hand", "model_type": "fake", "mode": "inference", "unknown_field": [1],
  "target": {"arch": "z80", "cpu": "generic", "features": []},
  "parameters": [
    {"name": "table", "aliases": ["model.table", "old.table"], "dtype": "f32", "shape": [3, 2]},
    {"name": "bias", "dtype": "f32", "shape": [2]}],
  "prepare_code": "c0de",
  "prepared": [
    {"name": "shifted", "function": 1, "sources": [0, 1], "dtype": "f32", "shape": [2, 3]},
    {"name": "steps", "function": 2, "sources": [], "dtype": "f32", "shape": [4]}],
  "slots": [{"kind": "prepared", "index": 0}, {"kind": "prepared", "index": 1},
            {"kind": "parameter", "index": 1}, {"kind": "parameter", "index": 1}],
  "entries": [{"name": "forward", "function": 0,
    "inputs": [
      {"name": "input_ids", "dtype": "i64", "shape": ["batch", "sequence"], "range": [0, 3],
       "max_length": 4},
      {"name": "attention_mask", "dtype": "i64", "shape": ["batch", "sequence"],
       "default": {"kind": "ones"}},
      {"name": "position_ids", "dtype": "i64", "shape": ["batch", "sequence"], "range": [0, 4],
       "default": {"kind": "columns"}}],
    "outputs": [{"name": "last_hidden_state", "dtype": "f32", "shape": ["batch", "sequence", 2]}],
    "flops": {"per_token": 10, "per_sequence_of": {"attention_mask": 3}, "attention": [{"queries": "attention_mask",
              "keys": "attention_mask", "per_pair": 2, "causal": true}]}}],
  "embedding": {"pooling": "mean", "normalize": false, "max_length": 4},
  "tokenizer": {"vocab": "[PAD]\n[UNK]\na\n[CLS]\n[SEP]\n[MASK]\n", "do_lower_case": true}
})";

namespace {

const float *slot(const void *const *slots, int index) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(slots[index]) % 4, 0u);
  return static_cast<const float *>(slots[index]);
}

template <typename T> T *io(const tr_tensor &tensor) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data) % bufferAlignment, 0u);
  return static_cast<T *>(tensor.data);
}

struct Work {
  const float *shifted, *steps;
  const int64_t *ids, *mask, *positions;
  float *out;
};

void token(void *context, int64_t i) {
  const auto &work = *static_cast<Work *>(context);
  for (int64_t k = 0; k < 2; ++k)
    work.out[2 * i + k] =
        work.mask[i] ? work.shifted[3 * k + work.ids[i]] + work.steps[work.positions[i]] : 0;
}

void forward(const void *const *slots, const tr_tensor *tensors, void *arena) {
  EXPECT_EQ(slots[2], slots[3]);
  EXPECT_EQ(slot(slots, 2)[1], 200);
  EXPECT_EQ(tensors[0].sizes[2], 1);
  EXPECT_EQ(tensors[3].sizes[2], 2);
  int64_t count = tensors[0].sizes[0] * tensors[0].sizes[1];
  Work work{slot(slots, 0),          slot(slots, 1),          io<int64_t>(tensors[0]),
            io<int64_t>(tensors[1]), io<int64_t>(tensors[2]), static_cast<float *>(arena)};
  tr_scope("tokens");
  tr_parallel_for(token, &work, count, nullptr, nullptr);
  std::copy(work.out, work.out + 2 * count, io<float>(tensors[3]));
}

int64_t forwardArena(const void *const *, const tr_tensor *tensors) {
  return tensors[0].sizes[0] * tensors[0].sizes[1] * 8;
}

void shift(const void *const *sources, const tr_tensor *result, void *arena) {
  EXPECT_EQ(result->sizes[0], 2);
  EXPECT_EQ(result->sizes[1], 3);
  auto *transposed = static_cast<float *>(arena);
  for (int i = 0; i < 6; ++i)
    transposed[i] = slot(sources, 0)[i % 3 * 2 + i / 3];
  for (int i = 0; i < 6; ++i)
    io<float>(*result)[i] = transposed[i] + slot(sources, 1)[i / 3];
}

int64_t shiftArena(const void *const *, const tr_tensor *) { return 24; }

void steps(const void *const *, const tr_tensor *result, void *) {
  for (int64_t i = 0; i < result->sizes[0]; ++i)
    io<float>(*result)[i] = float(10 * i);
}

int64_t noArena(const void *const *, const tr_tensor *) { return 0; }

const tr_function functions[] = {{forward, forwardArena}, {shift, shiftArena}, {steps, noArena}};

} // namespace

tr_module moduleOf(const std::string &description, std::span<const tr_function> functions,
                   size_t tokenizerSize) {
  return {.magic = TR_MODULE_MAGIC,
          .abi_version = TR_ABI_VERSION,
          .description = description.data(),
          .description_size = description.size() - tokenizerSize,
          .tokenizer_size = tokenizerSize,
          .description_hash = hashOf(description),
          .functions = functions.data(),
          .num_functions = functions.size()};
}

tr_module fakeModule(const std::string &description, size_t tokenizerSize) {
  return moduleOf(description, functions, tokenizerSize);
}

const tr_module &fakeModule() {
  static const std::string text = fakeDescription;
  static const tr_module module = fakeModule(text);
  return module;
}

TensorMap fakeWeights() {
  TensorMap weights;
  weights["table"] = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  weights["bias"] = floats({2}, {100, 200});
  return weights;
}

} // namespace transformer::runtime
