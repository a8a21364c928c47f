//===- LossLog.cpp - the losses of a training run -------------------------===//
#include "runtime/train/LossLog.h"

#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Path.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

namespace transformer::runtime {
namespace {

/// JSON has no NaN and no infinity.
template <typename T> std::string numberText(T value) {
  return std::isfinite(value) ? formatted("{}", value) : "null";
}

double numberOf(const Json &value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

} // namespace

LossLog::LossLog(const std::string &path, int64_t steps) : path(path) {
  if (path.empty())
    return;
  bool goesOn = steps > 0;
  if (goesOn && isFile(path))
    read(steps);
  file.reset(std::fopen(path.c_str(), goesOn ? "ae" : "we"));
  if (!file)
    fail("--log {}: cannot write: {}", path, std::strerror(errno));
}

void LossLog::read(int64_t steps) {
  MappedFile bytes(path);
  std::string_view text = bytes.text();
  size_t kept = 0;
  for (size_t line = 1, end; (end = text.find('\n', kept)) != text.npos; ++line, kept = end + 1) {
    std::string name = formatted("--log {}: line {}", path, line);
    Json object = parseJson(name, text.substr(kept, end - kept));
    if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer())
      fail("{}: expected an object with a \"step\", found {}", name, describe(object));
    auto step = object["step"].get<int64_t>();
    if (step > steps)
      break;
    if (object.contains("eval_loss"))
      all.evaluation.push_back({step, numberOf(object["eval_loss"])});
    else if (object.contains("loss"))
      all.training.push_back({step, numberOf(object["loss"])});
  }
  std::error_code error; // a line that was cut when the disk was full goes, too
  if (kept < text.size())
    std::filesystem::resize_file(path, kept, error);
  if (error)
    fail("--log {}: cannot write: {}", path, error.message());
}

void LossLog::write(const std::string &line) {
  if (!file || !problem.empty())
    return;
  errno = 0;
  if (std::fputs(line.c_str(), file.get()) < 0 || std::fflush(file.get()) != 0)
    problem = std::strerror(errno);
}

void LossLog::addStep(int64_t step, const StepResult &result, double learningRate) {
  all.training.push_back({step, result.loss});
  std::string scale =
      result.lossScale ? formatted(", \"loss_scale\": {}", double{*result.lossScale}) : "";
  write(formatted("{{\"step\": {}, \"loss\": {}, \"grad_norm\": {}, \"learning_rate\": {}{}}}\n",
                  step, numberText(result.loss), numberText(result.gradNorm), learningRate, scale));
}

void LossLog::addEvaluation(int64_t step, double loss) {
  all.evaluation.push_back({step, loss});
  write(formatted("{{\"step\": {}, \"eval_loss\": {}}}\n", step, numberText(loss)));
}

void LossLog::check() const {
  if (!problem.empty())
    fail("--log {}: cannot write: {}", path, problem);
}

} // namespace transformer::runtime
