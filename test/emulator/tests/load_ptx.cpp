//===- load_ptx.cpp - whether the emulator knows all of a module ----------===//
//
// usage: load_ptx FILE...: a line a file with the number of its kernels.
//
//===----------------------------------------------------------------------===//
#include "test/emulator/tests/Cuda.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

int main(int count, char **arguments) {
  Handle context, module, function;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  int failed = 0;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(arguments[i]);
    std::string text(std::istreambuf_iterator<char>(file), {});
    bool good = cuModuleLoadData(&module, text.c_str()) == 0;
    int kernels = 0;
    const std::string entry = ".visible .entry ";
    for (size_t at = text.find(entry); good && at != text.npos;
         at = text.find(entry, at + 1), ++kernels) {
      std::string name = text.substr(at + entry.size());
      good = cuModuleGetFunction(&function, module, name.substr(0, name.find('(')).c_str()) == 0;
    }
    std::printf("%s: %d kernels%s\n", arguments[i], kernels, good ? "" : ", FAILED");
    failed += !good || !kernels;
  }
  return failed != 0;
}
