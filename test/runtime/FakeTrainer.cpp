#include "test/runtime/FakeTrainer.h"
#include "test/runtime/TestSupport.h"

namespace transformer::runtime {
namespace {

const std::string labels = R"({"name": "labels", "dtype": "i64", "shape": ["batch", "sequence"],
                               "range": [0, 3], "ignored": -100})";
const std::string mask =
    R"({"name": "attention_mask", "dtype": "i64", "shape": ["batch", "sequence"],
                             "default": {"kind": "not_equal", "input": "labels", "value": -100}})";
const std::string loss = R"({"name": "loss", "dtype": "f32", "shape": []})";

std::string description(bool evaluates) {
  std::string numbers;
  for (const char *name : {"learning_rate", "weight_decay", "vector_weight_decay", "beta1", "beta2",
                           "epsilon", "max_grad_norm"})
    numbers += formatted(R"(, {{"name": "{}", "dtype": "f64", "shape": []}})", name);
  std::string evaluate = R"(, {"name": "evaluate", "function": 1, "states": [0], "inputs": [)" +
                         labels + R"(], "outputs": [)" + loss + "]}";
  return R"({"parameters": [{"name": "w", "dtype": "f32", "shape": [2]}], "slots": [],
             "states": [{"name": "w", "dtype": "f32", "shape": [2]}],
             "entries": [{"name": "train_step", "function": 0, "states": [0], "inputs": [)" +
         labels + R"(, {"name": "step", "dtype": "i64", "shape": []})" + numbers + ", " + mask +
         R"(], "outputs": [)" + loss + R"(, {"name": "grad_norm", "dtype": "f32", "shape": []}]})" +
         (evaluates ? evaluate : "") + "]}";
}

std::string deferringDescription() {
  std::string text = description(/*evaluates=*/true);
  auto replace = [&](const std::string &old, const std::string &with) {
    text.replace(text.find(old), old.size(), with);
  };
  const std::string scale = R"({"name": "update_scale", "dtype": "f32", "shape": []})";
  replace(R"("shape": [2]}],
             "entries")",
          R"("shape": [2]}, {"name": "w.grad", "dtype": "f32", "shape": [2]}], "entries")");
  replace(R"("function": 0, "states": [0])", R"("function": 2, "states": [0, 1])");
  replace(", " + mask, ", " + scale + ", " + mask);
  replace(R"({"name": "grad_norm", "dtype": "f32", "shape": []})",
          R"({"name": "grad_norm", "dtype": "f32", "shape": []}, )" + scale);
  replace(R"(, {"name": "evaluate")",
          R"(, {"name": "apply_update", "function": 3, "states": [0, 1], "inputs": [
               {"name": "step", "dtype": "i64", "shape": []},
               {"name": "learning_rate", "dtype": "f64", "shape": []}, )" +
              scale + R"(], "outputs": []}, {"name": "evaluate")");
  return text;
}

float sumOf(const tr_tensor &labels) {
  float sum = 0;
  for (int64_t i = 0; i < labels.sizes[0] * labels.sizes[1]; ++i)
    sum += float(std::max<int64_t>(0, static_cast<const int64_t *>(labels.data)[i]));
  return sum;
}

float lossOf(const tr_tensor &labels, const tr_tensor &weights) {
  const auto *w = static_cast<const float *>(weights.data);
  return (w[0] + w[1]) * sumOf(labels);
}

void trainStep(const void *const *, const tr_tensor *io, void *) {
  auto *w = static_cast<float *>(io[10].data);
  *static_cast<float *>(io[11].data) = lossOf(io[0], io[10]);
  *static_cast<float *>(io[12].data) = float(*static_cast<int64_t *>(io[1].data));
  for (int i = 0; i < 2; ++i)
    w[i] -= float(*static_cast<double *>(io[2].data));
}

void evaluate(const void *const *, const tr_tensor *io, void *) {
  *static_cast<float *>(io[2].data) = lossOf(io[0], io[1]);
}

void update(const tr_tensor &step, const tr_tensor &rate, const tr_tensor &scale,
            const tr_tensor *states) {
  float by = *static_cast<float *>(scale.data);
  if (std::isnan(by))
    return;
  by *= float(*static_cast<double *>(rate.data)) * float(*static_cast<int64_t *>(step.data));
  for (int i = 0; i < 2; ++i)
    static_cast<float *>(states[0].data)[i] -= by * static_cast<float *>(states[1].data)[i];
}

void applyUpdate(const void *const *, const tr_tensor *io, void *) {
  update(io[0], io[1], io[2], io + 3);
}

void deferringStep(const void *const *, const tr_tensor *io, void *) {
  update(io[1], io[2], io[9], io + 11);
  *static_cast<float *>(io[13].data) = lossOf(io[0], io[11]);
  *static_cast<float *>(io[14].data) = float(*static_cast<int64_t *>(io[1].data));
  *static_cast<float *>(io[15].data) = float(*static_cast<double *>(io[8].data));
  std::fill_n(static_cast<float *>(io[12].data), 2, sumOf(io[0]));
}

int64_t noArena(const void *const *, const tr_tensor *) { return 0; }

const tr_function functions[] = {
    {trainStep, noArena}, {evaluate, noArena}, {deferringStep, noArena}, {applyUpdate, noArena}};

} // namespace

const tr_module &fakeTrainer(bool evaluates) {
  static const std::string texts[] = {description(false), description(true)};
  static const tr_module modules[] = {moduleOf(texts[0], functions), moduleOf(texts[1], functions)};
  return modules[evaluates];
}

const tr_module &deferringTrainer() {
  static const std::string text = deferringDescription();
  static const tr_module module = moduleOf(text, functions);
  return module;
}

TensorMap fakeTrainerWeights() {
  TensorMap weights;
  weights["w"] = floats({2}, {8, 2});
  return weights;
}

} // namespace transformer::runtime
