#include "runtime/cli/CommandLine.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/files/Safetensors.h"
#include "test/runtime/FakeTrainer.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

class TrainCommand : public testing::Test {
protected:
  TrainCommand() {
    writeSafetensors(folder.path("model.safetensors"), fakeTrainerWeights());
    TensorMap data, others;
    data["labels"] = ints({4, 1, 2}, {1, -100, 1, -100, 2, -100, 2, 2});
    others["labels"] = ints({2, 1, 2}, {0, 1, 2, 2});
    writeSafetensors(folder.path("data"), data);
    writeSafetensors(folder.path("others"), others);
  }

  /// The exit code; what it says on stderr is in `says`.
  int train(std::vector<std::string> options, bool evaluates = true) {
    std::vector<std::string> arguments{
        "train", "-w",    folder.path(),     "-d", folder.path("data"), "--learning-rate",
        "0.5",   "--log", folder.path("log")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::vector<char *> argv;
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    testing::internal::CaptureStderr();
    int code = commandLine(static_cast<int>(argv.size()), argv.data(), fakeTrainer(evaluates),
                           "fake", "none");
    says = testing::internal::GetCapturedStderr();
    setThreads(1);
    return code;
  }

  TemporaryFolder folder;
  std::string says;
};

TEST_F(TrainCommand, EvaluatesOnTheWayAndAtTheEnd) {
  ASSERT_EQ(train({"--eval-data", folder.path("others"), "--eval-every", "3"}), 0) << says;
  EXPECT_EQ(bytesOf(folder.path("log")),
            R"({"step": 1, "loss": 10, "grad_norm": 1, "learning_rate": 0.5}
{"step": 2, "loss": 9, "grad_norm": 2, "learning_rate": 0.5}
{"step": 3, "loss": 16, "grad_norm": 3, "learning_rate": 0.5}
{"step": 3, "eval_loss": 17.5}
{"step": 4, "loss": 28, "grad_norm": 4, "learning_rate": 0.5}
{"step": 4, "eval_loss": 15}
)");
  expectContains(says, {"evaluation after step 3: loss 17.5000\n", "step 4 of 4, loss 28.0000",
                        "tokens/s, 0 s left\nevaluation after step 4: loss 15.0000\n"});
}

TEST_F(TrainCommand, AResumedRunGoesOnWithItsLog) {
  std::vector<std::string> options{"--eval-data", folder.path("others"), "--eval-every", "1"};
  ASSERT_EQ(train(options), 0) << says;
  std::string whole = bytesOf(folder.path("log"));
  options.insert(options.end(), {"--save", folder.path("saved")});
  options.insert(options.end(), {"--steps", "2"});
  ASSERT_EQ(train(options), 0) << says;
  folder.write("log", whole); // of a run that was stopped behind its checkpoint
  options.back() = "4";
  options.insert(options.end(), {"--resume", folder.path("saved")});
  ASSERT_EQ(train(options), 0) << says;
  EXPECT_EQ(bytesOf(folder.path("log")), whole);
}

TEST_F(TrainCommand, TextIsForProgramsThatSayWhatTheyLearn) {
  EXPECT_EQ(train({"--eval-data", folder.write("some.txt", "a\n")}), 1);
  expectContains(says, {"some.txt: this program does not say", "safetensors"});
  EXPECT_EQ(train({"--batch-tokens", "2"}), 1);
  expectContains(says, {"--batch-tokens is for text", "data is read as safetensors"});
}

TEST_F(TrainCommand, OptionsAreThoseOfTheProgramsOptimizer) {
  EXPECT_EQ(train({"--beta2", "0.99"}), 0) << says;
  for (const char *option :
       {"--momentum=0.9", "--beta2-decay=-0.8", "--eps1=0", "--eps2=0", "--clip-threshold=1"}) {
    EXPECT_EQ(train({option}), 1);
    expectContains(says, {std::string(option, strchr(option, '=')).c_str(),
                          ": expected an option of this program's optimizer: --beta1, --beta2, "
                          "--epsilon"});
  }
}

TEST_F(TrainCommand, NeedsAnEntryToEvaluate) {
  EXPECT_EQ(train({"--eval-data", folder.path("others")}, /*evaluates=*/false), 1);
  expectContains(says, {"no entry \"evaluate\"", "--mode train"});
  EXPECT_FALSE(std::filesystem::exists(folder.path("log")));
}

} // namespace
