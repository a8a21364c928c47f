//===- Modules.cpp - modules, functions, launches -------------------------===//
#include "test/emulator/decode/Decoder.h"
#include "test/emulator/driver/Driver.h"

using namespace emulator;

namespace {

enum JitOption { ErrorLogBuffer = 5, ErrorLogBufferSize = 6 };

void writeLog(const std::string &message, unsigned count, const int *names, void **values) {
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i)
    if (names[i] == ErrorLogBuffer)
      buffer = static_cast<char *>(values[i]);
    else if (names[i] == ErrorLogBufferSize)
      size = reinterpret_cast<uintptr_t>(values[i]);
  if (buffer && size)
    std::snprintf(buffer, size, "%s", message.c_str());
}

std::string imageText(const void *image) {
  require(image, Result::InvalidValue, "no image");
  const auto *bytes = static_cast<const unsigned char *>(image);
  bool elf = bytes[0] == 0x7f && bytes[1] == 'E' && bytes[2] == 'L' && bytes[3] == 'F';
  bool fatbin = bytes[0] == 0x50 && bytes[1] == 0xed && bytes[2] == 0x55 && bytes[3] == 0xba;
  require(!elf && !fatbin, Result::NoBinaryForGpu, "a cubin; the emulator executes PTX");
  return reinterpret_cast<const char *>(image);
}

int loadModule(const char *what, LoadedModule **module, const void *image, unsigned count,
               const int *names, void **values) {
  return inContext(what, [&] {
    try {
      std::unique_ptr<LoadedModule> loaded = load(imageText(image));
      auto &functions = driver().modules[loaded.get()];
      for (Kernel &kernel : loaded->kernels)
        functions[kernel.name] = {&kernel};
      *module = loaded.release();
    } catch (const Fault &fault) {
      writeLog(fault.message, count, names, values);
      throw;
    }
  });
}

Kernel &kernelOf(Function *function) {
  for (auto &[module, functions] : driver().modules)
    for (auto &[name, known] : functions)
      if (&known == function)
        return *known.kernel;
  throw Fault{Result::InvalidHandle, "no function of a loaded module"};
}

int sharedLimit() { return options().architecture >= 90 ? 227 * 1024 : 163 * 1024; }

std::vector<std::byte> parametersOf(const Kernel &kernel, void **parameters, void **extra) {
  std::vector<std::byte> result(kernel.parameterBytes);
  if (extra) {
    const void *buffer = nullptr;
    size_t size = 0;
    for (void **at = extra; *at; at += 2)
      if (reinterpret_cast<uintptr_t>(*at) == 1)
        buffer = at[1];
      else if (reinterpret_cast<uintptr_t>(*at) == 2)
        size = *static_cast<size_t *>(at[1]);
    require(buffer && size == result.size(), Result::InvalidValue,
            text("kernel %s: %d bytes of parameters, expected %d", kernel.name.c_str(), (int)size,
                 (int)result.size()));
    std::memcpy(result.data(), buffer, size);
    return result;
  }
  require(parameters || kernel.parameters.empty(), Result::InvalidValue,
          text("kernel %s: no parameters", kernel.name.c_str()));
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(result.data() + kernel.parameters[i].offset, parameters[i],
                kernel.parameters[i].size);
  return result;
}

void checkShape(const Launch &launch) {
  const Kernel &kernel = *launch.kernel;
  const char *name = kernel.name.c_str();
  constexpr uint64_t largestGrid[] = {0x7fffffff, 65535, 65535}, largestBlock[] = {1024, 1024, 64};
  uint64_t threads = 1;
  for (int d = 0; d < 3; ++d) {
    require(launch.grid[d] >= 1 && launch.grid[d] <= largestGrid[d], Result::InvalidValue,
            text("kernel %s: %u blocks in dimension %d", name, launch.grid[d], d));
    require(launch.block[d] >= 1 && launch.block[d] <= largestBlock[d], Result::InvalidValue,
            text("kernel %s: %u threads in dimension %d", name, launch.block[d], d));
    threads *= launch.block[d];
  }
  require(threads <= uint64_t(kernel.maxThreads), Result::InvalidValue,
          text("kernel %s: %d threads a block, at most %d", name, (int)threads, kernel.maxThreads));
  int largest = std::max(kernel.maxDynamicShared, int(48 * 1024 - kernel.sharedBytes));
  require(int64_t(launch.dynamicShared) <= largest, Result::InvalidValue,
          text("kernel %s: %u bytes of dynamic shared memory, at most %d (cuFuncSetAttribute)",
               name, launch.dynamicShared, largest));
  uint32_t together = clusterBlocks(kernel);
  require(kernel.clusterSize[1] <= 1 && kernel.clusterSize[2] <= 1, Result::InvalidValue,
          text("kernel %s: clusters along y or z are not emulated", name));
  require(launch.grid[0] % together == 0, Result::InvalidValue,
          text("kernel %s: %u blocks in clusters of %u", name, launch.grid[0], together));
  require(
      together == 1 || (together <= 8 && (threads + 31) / 32 * together <= 32),
      Result::InvalidValue,
      text("kernel %s: a cluster of %u blocks of %d threads: at most 8 blocks, and 32 warps are "
           "emulated",
           name, together, (int)threads));
  require(kernel.sharedBytes + launch.dynamicShared <= uint32_t(sharedLimit()),
          Result::InvalidValue,
          text("kernel %s: %u bytes of shared memory, at most %d", name,
               kernel.sharedBytes + launch.dynamicShared, sharedLimit()));
}

int launchKernel(const char *what, Function *function, const uint32_t *grid, const uint32_t *block,
                 uint32_t shared, void *stream, void **parameters, void **extra) {
  return inContext(what, [&] {
    Launch launch = checkedLaunch(function, grid, block, shared, parameters, extra);
    enqueue(stream, [launch] { execute(launch); });
  });
}

struct LaunchConfig {
  uint32_t grid[3], block[3], shared;
  void *stream;
  struct Attribute {
    int id, padding;
    union {
      char bytes[64];
      uint32_t cluster[3];
    };
  } *attributes;
  unsigned numAttributes;
};

} // namespace

Launch emulator::checkedLaunch(Function *function, const uint32_t *grid, const uint32_t *block,
                               uint32_t shared, void **parameters, void **extra) {
  Kernel &kernel = kernelOf(function);
  Launch launch{&kernel,
                {grid[0], grid[1], grid[2]},
                {block[0], block[1], block[2]},
                shared,
                parametersOf(kernel, parameters, extra)};
  checkShape(launch);
  return launch;
}

EMULATED_CUDA cuModuleLoadDataEx(LoadedModule **module, const void *image, unsigned count,
                                 int *names, void **values) {
  return loadModule("cuModuleLoadDataEx", module, image, count, names, values);
}

EMULATED_CUDA cuModuleLoadData(LoadedModule **module, const void *image) {
  return loadModule("cuModuleLoadData", module, image, 0, nullptr, nullptr);
}

EMULATED_CUDA cuModuleUnload(LoadedModule *module) {
  return inContext("cuModuleUnload", [&] {
    flushAll();
    require(driver().modules.erase(module), Result::InvalidHandle, "no module");
    delete module;
  });
}

EMULATED_CUDA cuModuleGetFunction(Function **function, LoadedModule *module, const char *name) {
  return inContext("cuModuleGetFunction", [&] {
    auto found = driver().modules.find(module);
    require(found != driver().modules.end(), Result::InvalidHandle, "no module");
    auto kernel = found->second.find(name);
    require(kernel != found->second.end(), Result::NotFound, std::string("no kernel ") + name);
    *function = &kernel->second;
  });
}

EMULATED_CUDA cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, LoadedModule *module,
                                   const char *name) {
  return inContext("cuModuleGetGlobal", [&] {
    require(driver().modules.count(module), Result::InvalidHandle, "no module");
    auto found = module->globals.find(name);
    require(found != module->globals.end(), Result::NotFound, std::string("no variable ") + name);
    if (address)
      *address = found->second;
    if (bytes)
      *bytes = memory().find(found->second)->size;
  });
}

EMULATED_CUDA cuFuncSetAttribute(Function *function, int which, int value) {
  return inContext("cuFuncSetAttribute", [&] {
    Kernel &kernel = kernelOf(function);
    if (which != 8) // the largest dynamic shared memory; others are hints
      return;
    require(value >= 0 && value + int(kernel.sharedBytes) <= sharedLimit(), Result::InvalidValue,
            text("kernel %s: %d bytes of dynamic shared memory, at most %d", kernel.name.c_str(),
                 value, sharedLimit() - int(kernel.sharedBytes)));
    kernel.maxDynamicShared = value;
  });
}

EMULATED_CUDA cuFuncGetAttribute(int *value, int which, Function *function) {
  return inContext("cuFuncGetAttribute", [&] {
    Kernel &kernel = kernelOf(function);
    const int values[] = {kernel.maxThreads,
                          int(kernel.sharedBytes),
                          0,
                          int(kernel.localBytes),
                          std::min(kernel.registers, 255),
                          80,
                          options().architecture,
                          0,
                          kernel.maxDynamicShared};
    require(which >= 0 && which < int(std::size(values)), Result::InvalidValue,
            text("attribute %d", which));
    *value = values[which];
  });
}

// Behind the last parameter there is none: that is how a caller counts them.
EMULATED_CUDA cuFuncGetParamInfo(Function *function, size_t index, size_t *offset, size_t *size) {
  bool beyond = false;
  int code = inContext("cuFuncGetParamInfo", [&] {
    const auto &parameters = kernelOf(function).parameters;
    beyond = index >= parameters.size();
    if (beyond)
      return;
    *offset = parameters[index].offset;
    if (size)
      *size = parameters[index].size;
  });
  return beyond ? int(Result::InvalidValue) : code;
}

EMULATED_CUDA cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *function,
                                                          int threads, size_t shared) {
  return inContext("cuOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
    size_t bytes = kernelOf(function).sharedBytes + shared + 1024;
    *blocks =
        int(std::min<size_t>({32, 2048 / size_t(std::max(threads, 1)), sharedLimit() / bytes}));
  });
}

EMULATED_CUDA cuLaunchKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                             unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                             void *stream, void **parameters, void **extra) {
  const uint32_t grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  return launchKernel("cuLaunchKernel", function, grid, block, shared, stream, parameters, extra);
}

EMULATED_CUDA cuLaunchKernelEx(const LaunchConfig *config, Function *function, void **parameters,
                               void **extra) {
  constexpr int clusterDimension = 4;
  for (unsigned i = 0; i < config->numAttributes; ++i) {
    const auto &attribute = config->attributes[i];
    const uint32_t *size = attribute.cluster;
    if (attribute.id == clusterDimension && uint64_t{size[0]} * size[1] * size[2] > 1)
      return report("cuLaunchKernelEx",
                    {Result::InvalidValue, "clusters of more than one block are emulated where the "
                                           "kernel has .reqnctapercluster"});
  }
  return launchKernel("cuLaunchKernelEx", function, config->grid, config->block, config->shared,
                      config->stream, parameters, extra);
}
