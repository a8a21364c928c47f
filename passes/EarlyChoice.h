//===- EarlyChoice.h - rows chosen in front of what makes them --*- C++ -*-===//
#ifndef PASSES_EARLYCHOICE_H
#define PASSES_EARLYCHOICE_H

#include "dialect/TransformerDialect.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {

/// What `chooseEarly` did.
struct EarlyChoice {
  SetVector<Operation *> ops;       // which have fewer rows now, the last one first
  SmallVector<Operation *> choices; // in front of them
};

/// Chooses rows, as the first_token or last_token `choice` does, in front of the row-wise ops
/// whose rows nobody but it reads. It stays; where there are such ops its operand has the chosen
/// rows already.
EarlyChoice chooseEarly(Operation *choice);

} // namespace mlir::transformer

#endif // PASSES_EARLYCHOICE_H
