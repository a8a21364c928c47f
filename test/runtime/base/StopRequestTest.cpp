#include "runtime/base/StopRequest.h"

#include <gtest/gtest.h>

#include <csignal>

using namespace transformer::runtime;

namespace {

void ignore(int) {}

/// Signals as a terminal's programs have them: a shell ignores some for what runs in its
/// background.
struct StopRequests : testing::Test {
  StopRequests() {
    for (int signal : {SIGINT, SIGTERM})
      std::signal(signal, SIG_DFL);
  }
};

TEST_F(StopRequests, NotesTheFirstSignal) {
  for (int signal : {SIGINT, SIGTERM}) {
    StopRequest stop;
    EXPECT_EQ(stop.signal(), 0);
    raise(signal);
    EXPECT_EQ(stop.signal(), signal);
  }
}

TEST_F(StopRequests, LeavesTheSecondToWhoHadItBefore) {
  EXPECT_EXIT(
      {
        StopRequest stop;
        raise(SIGINT);
        raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST_F(StopRequests, PutsBackWhatWasThere) {
  void (*before)(int) = std::signal(SIGINT, ignore);
  {
    StopRequest stop;
  }
  EXPECT_EQ(std::signal(SIGINT, before), ignore);
}

TEST_F(StopRequests, KeepsAnIgnoredSignalIgnored) {
  void (*before)(int) = std::signal(SIGINT, SIG_IGN);
  StopRequest stop;
  raise(SIGINT);
  EXPECT_EQ(stop.signal(), 0);
  std::signal(SIGINT, before);
}

} // namespace
