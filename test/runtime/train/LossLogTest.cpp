#include "runtime/train/LossLog.h"
#include "test/runtime/TestSupport.h"

#include <cmath>

using namespace transformer::runtime;

namespace {

constexpr const char *twoSteps =
    R"({"step": 1, "loss": 2.5, "grad_norm": 0.1, "learning_rate": 0.0005}
{"step": 2, "loss": 2, "grad_norm": 3, "learning_rate": 0}
{"step": 2, "eval_loss": 2.25}
)";

void addTwoSteps(LossLog &log) {
  log.addStep(1, {2.5f, 0.1f, 7}, 5e-4);
  log.addStep(2, {2.0f, 3.0f, 7}, 0);
  log.addEvaluation(2, 2.25);
}

std::vector<double> lossesOf(const std::vector<LossPoint> &points) {
  std::vector<double> result;
  for (const LossPoint &point : points)
    result.push_back(point.loss);
  return result;
}

class LossLogTest : public testing::Test {
protected:
  TemporaryFolder folder;
  std::string path = folder.path("losses.jsonl");
};

TEST_F(LossLogTest, WritesALineEach) {
  folder.write("losses.jsonl", "older\n");
  LossLog log(path, 0);
  addTwoSteps(log);
  EXPECT_EQ(bytesOf(path), twoSteps);
  EXPECT_EQ(lossesOf(log.losses().training), (std::vector<double>{2.5, 2}));
  EXPECT_EQ(lossesOf(log.losses().evaluation), (std::vector<double>{2.25}));
  log.check();
}

TEST_F(LossLogTest, NumbersThatJsonLacksAreNull) {
  LossLog log(path, 0);
  log.addStep(1, {NAN, INFINITY, 7}, 0.5);
  log.addEvaluation(1, NAN);
  EXPECT_EQ(bytesOf(path),
            R"({"step": 1, "loss": null, "grad_norm": null, "learning_rate": 0.5}
{"step": 1, "eval_loss": null}
)");
  LossLog again(path, 1);
  EXPECT_TRUE(std::isnan(again.losses().training.at(0).loss));
}

TEST_F(LossLogTest, AScaledStepHasItsScale) {
  LossLog log(path, 0);
  log.addStep(1, {2.5f, INFINITY, 7, 65536.0f}, 0.5);
  EXPECT_EQ(bytesOf(path), R"({"step": 1, "loss": 2.5, "grad_norm": null, "learning_rate": 0.5, )"
                           "\"loss_scale\": 65536}\n");
}

TEST_F(LossLogTest, WithoutAFileThereAreLosses) {
  LossLog log("", 0);
  addTwoSteps(log);
  EXPECT_EQ(log.losses().training.size(), 2u);
}

TEST_F(LossLogTest, GoesOnBehindTheLastStepThatWasSaved) {
  folder.write("losses.jsonl", std::string(twoSteps) + R"({"step": 3, "loss": 9}
{"step": 3, "eval_loss": 9}
{"step": 4, "lo)");
  {
    LossLog log(path, 2);
    EXPECT_EQ(bytesOf(path), twoSteps);
    EXPECT_EQ(lossesOf(log.losses().evaluation), (std::vector<double>{2.25}));
    log.addStep(3, {1.5f, 1, 7}, 0.5);
    EXPECT_EQ(lossesOf(log.losses().training), (std::vector<double>{2.5, 2, 1.5}));
  }
  EXPECT_EQ(bytesOf(path),
            std::string(twoSteps) +
                "{\"step\": 3, \"loss\": 1.5, \"grad_norm\": 1, \"learning_rate\": 0.5}\n");
}

TEST_F(LossLogTest, AnotherFileIsNotTouched) {
  std::string letter = "dear diary\n";
  folder.write("losses.jsonl", letter);
  expectContains(errorOf([&] { LossLog log(path, 5); }), {"--log", "losses.jsonl: line 1"});
  folder.write("numbers.jsonl", "{\"step\": 1, \"loss\": 2}\n[2]\n");
  expectContains(errorOf([&] { LossLog log(folder.path("numbers.jsonl"), 5); }),
                 {"line 2", "expected an object with a \"step\", found [2]"});
  EXPECT_EQ(bytesOf(path), letter);
}

TEST_F(LossLogTest, AFullDiskIsToldAtTheEnd) {
  LossLog log("/dev/full", 0);
  addTwoSteps(log);
  EXPECT_EQ(log.losses().training.size(), 2u);
  expectContains(errorOf([&] { log.check(); }), {"--log /dev/full: cannot write: No space left"});
  expectContains(errorOf([&] { LossLog nowhere(folder.path("no/log"), 0); }), {"No such file"});
}

} // namespace
