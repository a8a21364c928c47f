//===- TrainProgress.cpp - how far training is ----------------------------===//
#include "runtime/cli/TrainProgress.h"

#include "runtime/base/Error.h"

#include <cstdio>
#include <unistd.h>

namespace transformer::runtime {
namespace {

std::string timeText(double seconds) {
  auto whole = int64_t(seconds + 0.5);
  if (whole < 60)
    return formatted("{} s", whole);
  if (whole < 3600)
    return formatted("{} min {} s", whole / 60, whole % 60);
  return formatted("{} h {} min", whole / 3600, whole % 3600 / 60);
}

} // namespace

TrainProgress::TrainProgress(int64_t first, int64_t last, bool visible)
    : first(first), last(last), visible(visible), isTerminal(isatty(STDERR_FILENO)),
      begin(std::chrono::steady_clock::now()) {}

void TrainProgress::add(int64_t step, const StepResult &result) {
  tokens += result.tokens;
  if (!visible || (!isTerminal && step != last && step % 10 != 0))
    return;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::string line = formatted("step {} of {}, loss {:.4f}, {:.0f} tokens/s, {} left", step, last,
                               result.loss, double(tokens) / seconds,
                               timeText(seconds / double(step - first) * double(last - step)));
  lineIsOpen = isTerminal && step != last;
  std::fprintf(stderr, "%s%s%s", isTerminal ? "\r" : "", line.c_str(),
               lineIsOpen   ? "\033[K"
               : isTerminal ? "\033[K\n"
                            : "\n");
}

void TrainProgress::say(const std::string &text) {
  if (!visible)
    return;
  std::fprintf(stderr, "%s%s\n", lineIsOpen ? "\n" : "", text.c_str());
  lineIsOpen = false;
}

} // namespace transformer::runtime
