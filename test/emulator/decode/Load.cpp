//===- Load.cpp - a module's variables and kernels ------------------------===//
#include "test/emulator/decode/Decoder.h"

namespace emulator {
namespace {

void allocate(const ptx::Module &module, LoadedModule &loaded) {
  for (const ptx::Variable &variable : module.variables) {
    if (variable.space != "global" && variable.space != "const")
      continue;
    if (variable.external)
      throw Fault{Result::InvalidPtx, text("variable %s is .extern", variable.name.c_str())};
    loaded.globals[variable.name] = memory().allocate(variable.size, variable.name, false);
  }
  for (const ptx::Variable &variable : module.variables) {
    auto found = loaded.globals.find(variable.name);
    if (found == loaded.globals.end())
      continue;
    Allocation &allocation = *memory().find(found->second);
    std::memcpy(allocation.data, variable.data.data(), variable.data.size());
    for (const auto &pointer : variable.addresses) {
      auto target = loaded.globals.find(pointer.symbol);
      if (target == loaded.globals.end())
        throw Fault{Result::InvalidPtx, text("%s: there is no variable %s", variable.name.c_str(),
                                             pointer.symbol.c_str())};
      uint64_t address = target->second + pointer.offset;
      std::memcpy(allocation.data + pointer.at, &address, sizeof address);
    }
    allocation.setWritten(0, variable.size); // what has no initialiser is zero
    allocation.readOnly = variable.space == "const";
  }
}

} // namespace

LoadedModule::~LoadedModule() {
  for (auto &[name, address] : globals)
    memory().free(address);
}

std::unique_ptr<LoadedModule> load(const std::string &text) {
  ptx::Module module = ptx::parse(text);
  if (!module.version || !module.architecture)
    throw Fault{Result::InvalidPtx, "expected .version and .target"};
  if (module.architecture > options().architecture)
    throw Fault{Result::NoBinaryForGpu,
                emulator::text("the module is for sm_%d, this is sm_%d", module.architecture,
                               options().architecture)};
  auto loaded = std::make_unique<LoadedModule>();
  allocate(module, *loaded);
  for (const ptx::Function &function : module.functions)
    if (function.kernel && function.defined)
      Decoder(module, *loaded, loaded->kernels.emplace_back()).decode(function);
  return loaded;
}

} // namespace emulator
