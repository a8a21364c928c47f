//===- Main.cpp - the main function of compiled programs ------------------===//
#include "runtime/cli/CommandLine.h"
#include "runtime/execute/Module.h"

#include <climits>
#include <cstdlib>

extern "C" const tr_module transformer_module;

int main(int argc, char **argv) {
  using namespace transformer::runtime;
  char image[PATH_MAX];
  bool known = realpath("/proc/self/exe", image);
  std::string name = argc > 0 ? argv[0] : "program";
  return guarded([&] {
    return commandLine(argc - 1, argv + 1, Module::checkAbi(transformer_module, name), name,
                       known ? image : "/proc/self/exe");
  });
}
