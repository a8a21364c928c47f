#include "runtime/cli/CommandLine.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

/// What `tokenize` prints, with standard error behind it.
std::string tokenize(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tokenize");
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  commandLine(static_cast<int>(argv.size()), argv.data(), fakeModule(), "fake", "none");
  std::fflush(stdout);
  std::string out = testing::internal::GetCapturedStdout();
  return out + testing::internal::GetCapturedStderr();
}

TEST(TokenizeCommand, Decodes) {
  EXPECT_EQ(tokenize({"--decode", "--text", "3 2  2 4", "--text", ""}), "a a\n\n");
  EXPECT_EQ(tokenize({"--decode", "--special", "--text", "3 2"}), "[CLS] a\n");
  TemporaryFolder folder;
  EXPECT_EQ(tokenize({"--decode", "--file", folder.write("ids.txt", "2\n2 2\r\n")}), "a\na a\n");
  expectContains(tokenize({"--decode", "--text", "2 x3"}), {"error: --decode: ", "\"x3\""});
  expectContains(tokenize({"--decode", "--text", "99999999999999999999"}), {"error: --decode"});
}

} // namespace
