//===- Module.cpp - a compiled module -------------------------------------===//
#include "runtime/execute/Module.h"

#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Path.h"
#include "runtime/execute/CpuFeatures.h"
#include "runtime/files/ElfFile.h"

#include <algorithm>
#include <dlfcn.h>
#include <iterator>

namespace transformer::runtime {

namespace {

/// The rest of a tr_module may only be looked at when its version is right.
void checkVersion(const tr_module &abi, const std::string &path) {
  if (abi.magic != TR_MODULE_MAGIC)
    fail("{}: not a compiled module: magic {:#010x}, expected {:#010x}", path, abi.magic,
         TR_MODULE_MAGIC);
  if (abi.abi_version != TR_ABI_VERSION)
    fail("{}: the module has ABI version {}, this runtime {}: compile it again", path,
         abi.abi_version, TR_ABI_VERSION);
}

} // namespace

tr_tensor tensorAt(void *data, const std::vector<int64_t> &shape) {
  tr_tensor result{data, {}};
  std::fill(std::begin(result.sizes), std::end(result.sizes), 1);
  std::copy(shape.begin(), shape.end(), result.sizes);
  return result;
}

Module::Module(const tr_module &abi, std::string path) : abi(&abi), file(std::move(path)) {
  checkVersion(abi, file);
  std::string_view text(abi.description, abi.description_size + abi.tokenizer_size);
  if (uint64_t hash = hashOf(text); hash != abi.description_hash)
    fail("{}: damaged: the hash of its description is {:016x}, expected {:016x}: compile it again",
         file, hash, abi.description_hash);
  info =
      parseDescription(file, std::string(text.substr(0, abi.description_size)), abi.num_functions);
  if (abi.tokenizer_size != 0)
    info.tokenizer = text.substr(abi.description_size);
}

Module Module::open(const std::string &path) { return Module(openAbi(path), path); }

const tr_module &Module::openAbi(const std::string &path) {
  // Without a slash dlopen would search the library path.
  std::string target = path.find('/') == std::string::npos ? "./" + path : path;
  if (!isFile(target))
    fail("{}: no such file", path);
  checkElfFile(target);
  void *library = dlopen(target.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail("{}", printable(dlerror(), 400));
  const void *symbol = dlsym(library, "transformer_module");
  if (!symbol)
    fail("{}: not a compiled module: no symbol transformer_module", path);
  return checkAbi(*static_cast<const tr_module *>(symbol), path);
}

const tr_module &Module::checkAbi(const tr_module &abi, const std::string &path) {
  checkVersion(abi, path);
  checkInsideImage(abi, path);
  return abi;
}

const EntryInfo &Module::entry(const std::string &name) const {
  if (const EntryInfo *found = info.findEntry(name))
    return *found;
  std::vector<std::string> names;
  for (const EntryInfo &entry : info.entries)
    names.push_back(entry.name);
  fail("{}: no entry point \"{}\", it has: {}", file, name, fmt::join(names, ", "));
}

void Module::checkCpu() const {
  std::vector<std::string> missing = missingCpuFeatures(info.features);
  if (!missing.empty())
    fail("{}: compiled for {}, but this CPU ({}) lacks: {}\ncompile it again with --arch native "
         "on this machine, or with --arch {}",
         file, info.arch.empty() ? "another CPU" : info.arch, cpuName(), fmt::join(missing, ", "),
         bestArch());
}

} // namespace transformer::runtime
