//===- GenerateLines.h - many prompts on the command line -------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_GENERATELINES_H
#define TRANSFORMER_RUNTIME_GENERATELINES_H

#include "runtime/generate/Generator.h"
#include "runtime/text/Tokenizer.h"

#include <string>
#include <vector>

namespace transformer::runtime {

/// The text of what a sequence has behind its prompt.
std::string newText(Tokenizer &tokenizer, const Prompt &prompt, const Hypothesis &sequence);

/// Continues each line. Writes to standard output, in the order of the lines and as soon as it can,
/// a JSON object a line: {"prompt": text, "sequences": [text, ...]}; to standard error how far it
/// is, where that is a terminal, and at the end how fast it was. Throws Error that names the line.
void generateLines(Generator &generator, Tokenizer &tokenizer,
                   const std::vector<std::string> &lines);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_GENERATELINES_H
