//===- TextObjective.h - what a model learns from text ----------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TEXTOBJECTIVE_H
#define TRANSFORMER_RUNTIME_TEXTOBJECTIVE_H

#include <string>

namespace transformer::runtime {

/// What labels are, of those that text has: ids of the text itself, of a target behind a TAB, or a
/// class or number there.
enum class TextObjective { NextToken, MaskedToken, TargetToken, Class, Regression };

/// The objective of that name in a description. Throws Error when text does not have it, or not a
/// file that ends like `path`.
TextObjective textObjective(const std::string &name, const std::string &path);

/// Whether labels are ids of tokens.
constexpr bool labelsTokens(TextObjective objective) {
  return objective != TextObjective::Class && objective != TextObjective::Regression;
}

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TEXTOBJECTIVE_H
