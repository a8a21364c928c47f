#include "runtime/train/Trainer.h"
#include "runtime/files/Safetensors.h"
#include "test/runtime/FakeTrainer.h"
#include "test/runtime/TestSupport.h"

using namespace transformer::runtime;

namespace {

TensorMap threeLabels() {
  TensorMap inputs;
  inputs["labels"] = ints({2, 2}, {0, -100, 2, 1});
  return inputs;
}

class TrainerTest : public testing::Test {
protected:
  Checkpoint weights() {
    writeSafetensors(folder.path("model.safetensors"), fakeTrainerWeights());
    return Checkpoint::open(folder.path());
  }

  TemporaryFolder folder;
  Module module{fakeTrainer(), "trainer"};
  Program program{module, weights()};
  Hyperparameters half{.learningRate = 0.5};
};

TEST_F(TrainerTest, StepsAreCountedAndTheirTokens) {
  Trainer trainer(program);
  for (int step : {1, 2}) {
    StepResult result = trainer.step(threeLabels(), half);
    EXPECT_EQ(result.loss, step == 1 ? 30 : 27);
    EXPECT_EQ(result.gradNorm, float(step)); // what it was told
    EXPECT_EQ(result.tokens, 3);             // unmasked
  }
  EXPECT_EQ(trainer.steps(), 2);
}

TEST_F(TrainerTest, EvaluationIsOfTheTrainedWeights) {
  Trainer trainer(program);
  EXPECT_EQ(trainer.evaluate(threeLabels()), 30);
  EXPECT_EQ(trainer.evaluate(threeLabels()), 30);
  trainer.step(threeLabels(), half);
  EXPECT_EQ(trainer.evaluate(threeLabels()), 27);
  EXPECT_EQ(trainer.steps(), 1);
  ASSERT_EQ(trainer.evaluationInputs().size(), 1u);
  EXPECT_EQ(trainer.evaluationInputs()[0]->name, "labels");
}

TEST_F(TrainerTest, AProgramMayHaveNoEvaluation) {
  Module without(fakeTrainer(/*evaluates=*/false), "trainer");
  Program other(without, weights());
  Trainer trainer(other);
  for (const std::string &error : {errorOf([&] { trainer.evaluationInputs(); }),
                                   errorOf([&] { trainer.evaluate(threeLabels()); })})
    expectContains(error, {"no entry \"evaluate\"", "--mode train"});
}

TEST_F(TrainerTest, APreparedStepLeavesTheProgramsWeights) {
  {
    Trainer trainer(program);
    Call call = trainer.prepare(threeLabels(), half);
    program.execute(call);
    program.execute(call);
    EXPECT_EQ(trainer.evaluate(threeLabels()), 24);
    EXPECT_EQ(trainer.steps(), 0);
  }
  EXPECT_EQ(Trainer(program).evaluate(threeLabels()), 30);
}

TEST_F(TrainerTest, SavesAndResumes) {
  Trainer trainer(program);
  trainer.step(threeLabels(), half);
  trainer.save(folder.path("saved"));
  EXPECT_EQ(valuesOf<float>(readSafetensors(folder.path("saved/model.safetensors")).at("w")),
            (std::vector<float>{7.5, 1.5}));
  Trainer other(program);
  other.resume(folder.path("saved"));
  EXPECT_EQ(other.steps(), 1);
  EXPECT_EQ(other.evaluate(threeLabels()), 27);
}

TEST_F(TrainerTest, BothFilesAreSavedOrNone) {
  Trainer trainer(program);
  trainer.save(folder.path("saved"));
  std::string training = bytesOf(folder.path("saved/training.safetensors"));
  std::filesystem::remove(folder.path("saved/model.safetensors"));
  std::filesystem::create_directory(folder.path("saved/model.safetensors"));
  trainer.step(threeLabels(), half);
  expectContains(errorOf([&] { trainer.save(folder.path("saved")); }), {"model.safetensors"});
  EXPECT_EQ(bytesOf(folder.path("saved/training.safetensors")), training);
}

class DeferringTrainerTest : public TrainerTest {
protected:
  Module deferring{deferringTrainer(), "trainer"};
  Program deferred{deferring, weights()};
  Hyperparameters other{.learningRate = 0.125, .maxGradNorm = 2};
};

TEST_F(DeferringTrainerTest, AStepBeginsWithTheUpdateOfTheOneBefore) {
  Trainer trainer(deferred);
  EXPECT_EQ(trainer.step(threeLabels(), half).loss, 30);
  StepResult second = trainer.step(threeLabels(), other);
  EXPECT_EQ(second.loss, 21); // both less by 0.5 * 1 * 3 * 1
  EXPECT_EQ(second.gradNorm, 1);
  EXPECT_EQ(trainer.evaluate(threeLabels()), 12); // by 0.125 * 2 * 3 * 2
  EXPECT_EQ(trainer.evaluate(threeLabels()), 12);
  EXPECT_EQ(trainer.step(threeLabels(), half).loss, 12);
  EXPECT_EQ(trainer.steps(), 3);
  ASSERT_EQ(trainer.inputs().size(), 2u);
}

TEST_F(DeferringTrainerTest, WhatIsSavedIsUpdated) {
  Trainer trainer(deferred);
  trainer.step(threeLabels(), half);
  trainer.save(folder.path("saved"));
  EXPECT_EQ(valuesOf<float>(readSafetensors(folder.path("saved/model.safetensors")).at("w")),
            (std::vector<float>{6.5, 0.5}));
  EXPECT_FALSE(readSafetensors(folder.path("saved/training.safetensors")).count("w.grad"));
  Trainer resumed(deferred);
  resumed.step(threeLabels(), other);
  resumed.resume(folder.path("saved")); // without the update of that step
  EXPECT_EQ(resumed.evaluate(threeLabels()), 21);
  EXPECT_EQ(resumed.step(threeLabels(), half).loss, 21);
  EXPECT_EQ(resumed.steps(), 2);
}

TEST_F(DeferringTrainerTest, WeightsTellOfANormThatIsNotFinite) {
  Trainer trainer(deferred);
  trainer.step(threeLabels(), {.learningRate = 0.5, .maxGradNorm = NAN});
  EXPECT_TRUE(std::isinf(trainer.evaluate(threeLabels())));
}

} // namespace
