#include "runtime/base/StopRequest.h"

#include <gtest/gtest.h>

#include <csignal>

using namespace transformer::runtime;

namespace {

void ignore(int) {}

TEST(StopRequest, NotesTheFirstSignal) {
  for (int signal : {SIGINT, SIGTERM}) {
    StopRequest stop;
    EXPECT_EQ(stop.signal(), 0);
    raise(signal);
    EXPECT_EQ(stop.signal(), signal);
  }
}

TEST(StopRequest, LeavesTheSecondToWhoHadItBefore) {
  EXPECT_EXIT(
      {
        StopRequest stop;
        raise(SIGINT);
        raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopRequest, PutsBackWhatWasThere) {
  void (*before)(int) = std::signal(SIGINT, ignore);
  {
    StopRequest stop;
  }
  EXPECT_EQ(std::signal(SIGINT, before), ignore);
}

TEST(StopRequest, KeepsAnIgnoredSignalIgnored) {
  void (*before)(int) = std::signal(SIGINT, SIG_IGN);
  StopRequest stop;
  raise(SIGINT);
  EXPECT_EQ(stop.signal(), 0);
  std::signal(SIGINT, before);
}

} // namespace
