//===- Main.cpp - the main function of compiled programs ------------------===//
#include "runtime/Cli.h"

extern "C" const tr_module transformer_module;

int main(int argc, char **argv) {
  using namespace transformer::runtime;
  return commandLine(argc - 1, argv + 1, transformer_module, argc > 0 ? argv[0] : "program",
                     "/proc/self/exe");
}
