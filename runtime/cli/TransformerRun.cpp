//===- TransformerRun.cpp - runs a compiled module (.so) ------------------===//
#include "runtime/base/Error.h"
#include "runtime/base/Version.h"
#include "runtime/cli/CommandLine.h"
#include "runtime/execute/Module.h"

#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  using namespace transformer::runtime;
  return guarded([&] {
    bool isVersion = argc > 1 && std::strcmp(argv[1], "--version") == 0;
    if (isVersion)
      std::printf("transformer-run %s\n", version);
    else if (argc < 2 || argv[1][0] == '-')
      std::printf("Runs a module that transformer-compile has made.\n"
                  "Usage: transformer-run MODULE.so SUBCOMMAND [OPTIONS]\n"
                  "       transformer-run MODULE.so --help\n");
    if (argc < 2 || argv[1][0] == '-')
      return argc > 1 && (isVersion || argv[1][1] == 'h' || !std::strcmp(argv[1], "--help")) ? 0
                                                                                             : 1;
    return commandLine(argc - 2, argv + 2, Module::openAbi(argv[1]), argv[1], argv[1]);
  });
}
