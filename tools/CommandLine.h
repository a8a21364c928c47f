//===- CommandLine.h - options of the compiler's tools --------------------===//
#ifndef TOOLS_COMMANDLINE_H
#define TOOLS_COMMANDLINE_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

namespace mlir::transformer {

/// Prints an error; of a long one (a linker's) the first three lines. Returns
/// the exit code.
inline int printError(llvm::StringRef message) {
  llvm::SmallVector<llvm::StringRef, 4> lines;
  message.trim().split(lines, '\n', /*MaxSplit=*/3);
  if (lines.size() > 3)
    lines.pop_back();
  llvm::WithColor::error(llvm::errs()) << llvm::join(lines, "\n") << "\n";
  return 1;
}

/// Parses the options of `category`. False after an error, of which one line is
/// printed. --help and --version end the process.
inline bool parseCommandLine(int argc, char **argv, llvm::cl::OptionCategory &category,
                             llvm::StringRef name, llvm::StringRef overview) {
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::SetVersionPrinter([name](llvm::raw_ostream &out) { out << name << " 0.1.0\n"; });
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    return true;
  // LLVM prints what is wrong with a value by itself.
  llvm::StringRef first = llvm::StringRef(errors).ltrim().split('\n').first;
  first.consume_front((name + ": ").str());
  if (!first.empty())
    printError(first);
  return false;
}

} // namespace mlir::transformer

#endif // TOOLS_COMMANDLINE_H
