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

/// Another, of the same weights, whose step begins with the update of the one before: it lowers
/// both by the learning rate times update_scale times w.grad times the number of the step, unless
/// the scale is NaN; apply_update does so alone. w.grad becomes the sum of labels that count,
/// update_scale what max_grad_norm is.
const tr_module &deferringTrainer();

/// Its weights: 8, 2.
TensorMap fakeTrainerWeights();

} // namespace transformer::runtime

#endif // TRANSFORMER_TEST_RUNTIME_FAKETRAINER_H
