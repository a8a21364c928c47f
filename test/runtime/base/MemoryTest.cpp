#include "runtime/base/Memory.h"
#include "test/runtime/TestSupport.h"

#include <chrono>
#include <csignal>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace transformer::runtime;
namespace fs = std::filesystem;

namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ADDRESS_SANITIZER
#endif
#endif

const std::string page(4096, 'p');

/// Cuts the file off and reads from where it was mapped.
void readPastTheEnd(const std::string &path, const char *data) {
  fs::resize_file(path, 0);
  [[maybe_unused]] char read = *static_cast<const volatile char *>(data);
}

TEST(MappedFile, TruncatedWhileInUse) {
  TemporaryFolder folder;
  std::string path = folder.write("weights", page + page), other = folder.write("other", page);
  std::string line = "^error: " + path + ": .*changed or truncated while it was in use\n$";
  auto read = [&] {
    handleSignals();
    MappedFile before(other), file(path, 4096), behind(other);
    readPastTheEnd(path, file.data());
  };
  EXPECT_EXIT(read(), testing::ExitedWithCode(1), line);
  folder.write("weights", page + page);
  EXPECT_EXIT(std::thread(read).join(), testing::ExitedWithCode(1), line);
}

// Not in a file of ours, or in one that is not mapped any more: as if there were no handler.
TEST(MappedFile, OtherBusErrorsAreNotOurs) {
  TemporaryFolder folder;
  std::string path = folder.write("f", page);
  auto endsByBus = [](int status) {
#ifdef WITH_ADDRESS_SANITIZER
    return WIFEXITED(status); // its report
#else
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
#endif
  };
  auto read = [&] {
    handleSignals();
    {
      MappedFile file(path);
    }
    std::FILE *file = std::fopen(path.c_str(), "r");
    void *map = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    readPastTheEnd(path, static_cast<const char *>(map));
  };
  EXPECT_EXIT(read(), endsByBus, "^[^/]*$|AddressSanitizer");
  EXPECT_EXIT((handleSignals(), raise(SIGBUS)), endsByBus, "");
}

TEST(MappedFile, APipeIsNotWaitedFor) {
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  expectContains(errorOf([&] { MappedFile file(folder.path("pipe")); }),
                 {"/pipe", "not a regular file"});
}

TEST(MappedFile, Changed) {
  TemporaryFolder folder;
  std::string path = folder.write("f", page);
  MappedFile file(path);
  file.checkUnchanged();
  // Replaced: what is mapped stays as it is.
  folder.write("new", "new");
  fs::rename(folder.path("new"), path);
  file.checkUnchanged();
  MappedFile next(path);
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
  expectContains(errorOf([&] { next.checkUnchanged(); }), {path, "changed while it was in use"});
}

} // namespace
