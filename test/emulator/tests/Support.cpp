//===- Support.cpp - kernels in a few lines -------------------------------===//
#include "test/emulator/tests/Support.h"

#include <cstdlib>

namespace emulator::tests {

std::string moduleOf(int parameters, const std::string &body, const std::string &globals,
                     const char *target) {
  std::string text = std::string(".version 8.0\n.target ") + target + "\n.address_size 64\n" +
                     globals + "\n.visible .entry k(";
  for (int i = 0; i < parameters; ++i)
    text += std::string(i ? ", " : "") + ".param .u64 p" + std::to_string(i);
  text += ")\n{\n.reg .pred %p<40>;\n.reg .b16 %h<40>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n"
          ".reg .f32 %f<40>;\n.reg .f64 %fd<40>;\n.reg .b32 %t;\n"
          ".reg .b64 %a<10>;\n.reg .b64 %to;\nmov.u32 %t, %tid.x;\n";
  for (int i = 0; i < parameters; ++i)
    text += "ld.param.b64 %a" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n";
  return text + body + "\nret;\n}\n";
}

void Emulated::SetUp() {
  Handle context;
  ASSERT_EQ(cuInit(0), success);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), success);
  ASSERT_EQ(cuCtxSetCurrent(context), success);
  cuDevicePrimaryCtxReset_v2(0);
}

void Emulated::TearDown() {
  for (const std::string &name : variables)
    unsetenv(name.c_str());
  cuDevicePrimaryCtxReset_v2(0);
}

void Emulated::environment(const char *name, const char *value) {
  setenv(name, value, 1);
  variables.push_back(name);
  cuDevicePrimaryCtxReset_v2(0);
}

int Emulated::launch(const std::string &ptx, const std::vector<uint64_t> &parameters,
                     unsigned blocks, unsigned threads, unsigned shared) {
  std::vector<void *> pointers;
  for (const uint64_t &parameter : parameters)
    pointers.push_back(const_cast<uint64_t *>(&parameter));
  Handle module = nullptr, function = nullptr;
  testing::internal::CaptureStderr();
  int code = cuModuleLoadData(&module, ptx.c_str());
  if (code == success)
    code = cuModuleGetFunction(&function, module, "k");
  if (code == success && shared)
    code = cuFuncSetAttribute(function, 8, shared);
  if (code == success)
    code = cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, nullptr, pointers.data(),
                          nullptr);
  if (code == success)
    code = cuCtxSynchronize();
  said = testing::internal::GetCapturedStderr();
  return code;
}

uint64_t Emulated::allocate(size_t bytes) {
  uint64_t address = 0;
  EXPECT_EQ(cuMemAlloc_v2(&address, bytes), success);
  return address;
}

std::string Emulated::storeOf(size_t bytes) {
  std::string size = std::to_string(bytes), bits = std::to_string(bytes * 8);
  return "\nmad.wide.u32 %to, %t, " + size + ", %a0;\nst.global.b" + bits + " [%to], %" +
         (bytes == 2   ? "h0"
          : bytes == 4 ? "r0"
                       : "rd0") +
         ";\n";
}

} // namespace emulator::tests
