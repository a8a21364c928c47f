//===- StopRequest.cpp - a user who asks a long command to end ------------===//
#include "runtime/base/StopRequest.h"

#include <atomic>
#include <csignal>
#include <iterator>

namespace transformer::runtime {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
struct sigaction before[std::size(kSignals)];
std::atomic<int> noted{0};
static_assert(decltype(noted)::is_always_lock_free);

void restore() {
  for (size_t i = 0; i < std::size(kSignals); ++i)
    sigaction(kSignals[i], &before[i], nullptr);
}

void onFirst(int signal) {
  bool isFirst = noted.exchange(signal) == 0;
  restore();
  if (!isFirst) // two threads were given one each before either came here
    raise(signal);
}

} // namespace

StopRequest::StopRequest() {
  noted.store(0);
  struct sigaction first = {};
  first.sa_handler = onFirst;
  first.sa_flags = SA_RESTART; // files being written do not notice
  for (int signal : kSignals)
    sigaddset(&first.sa_mask, signal); // one after the other
  for (size_t i = 0; i < std::size(kSignals); ++i)
    sigaction(kSignals[i], nullptr, &before[i]);
  for (size_t i = 0; i < std::size(kSignals); ++i)
    if (before[i].sa_handler != SIG_IGN)
      sigaction(kSignals[i], &first, nullptr);
}

StopRequest::~StopRequest() { restore(); }

int StopRequest::signal() const { return noted.load(); }

} // namespace transformer::runtime
