//===- FakeTrainer.h - a training program written by hand -------*- C++ -*-===//
//
// Its parameter and state: w [2]. The entry train_step lowers both by the
// learning rate, evaluate does not; the loss of both is the sum of w times the
// sum of labels that count, grad_norm is the number of the step.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_TEST_RUNTIME_FAKETRAINER_H
#define TRANSFORMER_TEST_RUNTIME_FAKETRAINER_H

#include "test/runtime/FakeModule.h"

namespace transformer::runtime {

/// With or without the entry evaluate.
const tr_module &fakeTrainer(bool evaluates = true);

/// Its weights: 8, 2.
TensorMap fakeTrainerWeights();

} // namespace transformer::runtime

#endif // TRANSFORMER_TEST_RUNTIME_FAKETRAINER_H
