#include "runtime/base/AtomicFile.h"
#include "test/runtime/TestSupport.h"

#include <csignal>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace transformer::runtime;
namespace fs = std::filesystem;

namespace {

fs::perms permissions(const std::string &path) { return fs::status(path).permissions(); }

/// Whether files of this folder have no name while they are written.
bool writesUnnamed(const TemporaryFolder &folder) {
  AtomicFile file(folder.path("probe"));
  return folder.count() == 0;
}

/// How a process ends that raises `number`, which had `handler` before, while it writes a file in
/// `folder`. (What is started in the background by a script begins with SIGINT ignored.)
int endWhileWriting(const TemporaryFolder &folder, int number, sighandler_t handler = SIG_DFL) {
  pid_t child = fork();
  if (child == 0) {
    if (number != SIGKILL)
      signal(number, handler);
    handleSignals();
    AtomicFile file(folder.path("f"));
    file.write("half");
    raise(number);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(AtomicFile, AppearsOnCommit) {
  TemporaryFolder folder;
  std::string path = folder.path("f");
  {
    AtomicFile file(path);
    file.write("abc");
    EXPECT_FALSE(fs::exists(path));
    file.commit();
    EXPECT_EQ(bytesOf(path), "abc");
  }
  {
    AtomicFile(path).write("lost");
  }
  EXPECT_EQ(bytesOf(path), "abc");
  EXPECT_EQ(folder.count(), 1u);
}

TEST(AtomicFile, TwoAtOnce) {
  TemporaryFolder folder;
  std::string path = folder.path("f");
  for (int round = 0; round < 2; ++round) { // without a file, then with one
    AtomicFile first(path), second(path);
    first.write("first");
    second.write("the second");
    first.commit();
    EXPECT_EQ(bytesOf(path), "first");
    second.commit();
    EXPECT_EQ(bytesOf(path), "the second");
  }
  EXPECT_EQ(folder.count(), 1u);
}

// Its process number tells nothing: containers that share a folder all have a process 1.
TEST(AtomicFile, TakesNoNameThatCanBeGuessed) {
  TemporaryFolder folder;
  std::string path = folder.path("f"), guessed = path + ".tmp" + std::to_string(getpid());
  folder.write("f.tmp" + std::to_string(getpid()), "another's");
  AtomicFile file(path);
  file.write("mine");
  file.commit();
  EXPECT_EQ(bytesOf(path), "mine");
  EXPECT_EQ(bytesOf(guessed), "another's");
}

TEST(AtomicFile, NamesOfAnyLength) {
  TemporaryFolder folder;
  std::string path = folder.path(std::string(255, 'n'));
  for (int round = 0; round < 2; ++round) {
    AtomicFile file(path);
    file.write("x");
    file.commit();
  }
  EXPECT_EQ(bytesOf(path), "x");
}

TEST(AtomicFile, Permissions) {
  TemporaryFolder folder;
  std::string path = folder.path("f");
  mode_t before = umask(027);
  auto write = [&] {
    AtomicFile file(path);
    file.write("x");
    file.commit();
  };
  write();
  EXPECT_EQ(permissions(path), fs::perms(0640));
  fs::permissions(path, fs::perms(0604));
  write();
  EXPECT_EQ(permissions(path), fs::perms(0604));
  umask(before);
}

TEST(AtomicFile, FollowsLinks) {
  TemporaryFolder folder;
  fs::create_directory(folder.path("there"));
  folder.write("there/f", "old");
  fs::create_symlink("there/f", folder.path("link"));
  AtomicFile file(folder.path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(folder.path("link")));
  EXPECT_EQ(bytesOf(folder.path("there/f")), "new");
}

TEST(AtomicFile, WritesToStandardOutputWhereverThatGoes) {
  TemporaryFolder folder;
  std::string path = folder.write("out", "");
  std::FILE *out = std::fopen(path.c_str(), "r+");
  AtomicFile file(formatted("/proc/self/fd/{}", fileno(out)));
  file.write("text");
  file.commit();
  EXPECT_EQ(bytesOf(path), "text"); // of the file that is open, which is not replaced
  struct stat open, there;
  ASSERT_EQ(fstat(fileno(out), &open), 0);
  ASSERT_EQ(stat(path.c_str(), &there), 0);
  EXPECT_EQ(open.st_ino, there.st_ino);
  std::fclose(out);
}

TEST(AtomicFile, SignalsLeaveNothing) {
  TemporaryFolder folder;
  for (bool exists : {false, true}) {
    if (exists)
      folder.write("f", "old");
    for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
      int status = endWhileWriting(folder, signal);
      ASSERT_TRUE(WIFSIGNALED(status));
      EXPECT_EQ(WTERMSIG(status), signal);
      EXPECT_EQ(folder.count(), size_t(exists));
    }
  }
  EXPECT_EQ(bytesOf(folder.path("f")), "old");
}

TEST(AtomicFile, KillingLeavesNothing) {
  TemporaryFolder folder;
  if (!writesUnnamed(folder))
    GTEST_SKIP() << "the file system has no unnamed files";
  EXPECT_EQ(WTERMSIG(endWhileWriting(folder, SIGKILL)), SIGKILL);
  EXPECT_EQ(folder.count(), 0u);
}

TEST(AtomicFile, IgnoredSignalsStayIgnored) {
  TemporaryFolder folder;
  int status = endWhileWriting(folder, SIGHUP, SIG_IGN);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

} // namespace
