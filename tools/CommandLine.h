//===- CommandLine.h - options of the compiler's tools --------------------===//
#ifndef TOOLS_COMMANDLINE_H
#define TOOLS_COMMANDLINE_H

#include "runtime/base/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

namespace mlir::transformer {

/// Prints an error; of a long one (a parser's that quotes what it has read) the
/// first three lines, and of a line the first 1000 characters. Returns the exit code.
inline int printError(llvm::StringRef message) {
  llvm::SmallVector<llvm::StringRef, 4> lines;
  message.trim().split(lines, '\n', /*MaxSplit=*/3);
  if (lines.size() > 3)
    lines.pop_back();
  for (llvm::StringRef &line : lines)
    line = line.take_front(1000);
  llvm::WithColor::error(llvm::errs()) << llvm::join(lines, "\n") << "\n";
  return 1;
}

/// The first argument that looks like an option and is none; empty if all are known. LLVM would
/// take it for a group of options of one letter, and complain of the first.
inline llvm::StringRef unknownOption(int argc, char **argv) {
  auto &options = llvm::cl::getRegisteredOptions();
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument(argv[i]);
    if (argument == "--")
      break;
    if (argument == "-" || !argument.starts_with("-"))
      continue;
    auto option = options.find(argument.ltrim('-').split('=').first);
    if (option == options.end())
      return argument;
    bool takesNext = option->second->getValueExpectedFlag() == llvm::cl::ValueRequired;
    i += takesNext && !argument.contains('=');
  }
  return "";
}

/// What --version prints: the tool's name, the version, and LLVM's.
inline void printVersionOf(llvm::StringRef name) {
  llvm::cl::SetVersionPrinter([name](llvm::raw_ostream &out) {
    out << name << " " << ::transformer::runtime::version << ", LLVM " LLVM_VERSION_STRING "\n";
  });
}

/// Parses the options of `category`. False after an error, of which one line is
/// printed. --help and --version end the process.
inline bool parseCommandLine(int argc, char **argv, llvm::cl::OptionCategory &category,
                             llvm::StringRef name, llvm::StringRef overview) {
  llvm::cl::HideUnrelatedOptions(category);
  printVersionOf(name);
  if (llvm::StringRef unknown = unknownOption(argc, argv); !unknown.empty()) {
    printError(("unknown option " + unknown + "; try " + name + " --help").str());
    return false;
  }
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
