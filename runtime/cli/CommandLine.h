//===- CommandLine.h - the command line of every program ------ -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_COMMANDLINE_H
#define TRANSFORMER_RUNTIME_COMMANDLINE_H

#include "runtime/abi/ModuleAbi.h"

#include <functional>
#include <string>

namespace transformer::runtime {

/// Runs the command line of a compiled program, whose subcommands are the other files here.
/// `arguments` start with the first one after the program's name; `name` is what help and messages
/// call the program, `image` the file that may have weights embedded. Returns the exit code;
/// failures are printed as `error: ...` on stderr and give 1.
int commandLine(int argc, char **argv, const tr_module &module, const std::string &name,
                const std::string &image);

/// Calls `body` with the handlers of FilesInUse.h; prints an Error (or a lack of memory) on stderr
/// in at most three lines and returns 1, else what `body` returns.
int guarded(const std::function<int()> &body);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_COMMANDLINE_H
