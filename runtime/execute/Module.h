//===- Module.h - a compiled module -----------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_MODULE_H
#define TRANSFORMER_RUNTIME_MODULE_H

#include "runtime/abi/Description.h"
#include "runtime/abi/ModuleAbi.h"

#include <string>
#include <vector>

namespace transformer::runtime {

/// A tensor as functions of a module take it.
tr_tensor tensorAt(void *data, const std::vector<int64_t> &shape);

/// A checked description and the functions that it describes. Never runs code of the module.
class Module {
public:
  /// Checks magic, version, hash and description of `abi`, which must outlive the object. `path` is
  /// what messages call it, and where embedded weights are looked for. Throws Error.
  Module(const tr_module &abi, std::string path);

  /// Loads a shared object and its symbol `transformer_module`; it stays loaded for good. The
  /// process must export tr_parallel_for and tr_scope (-rdynamic). Throws Error.
  static Module open(const std::string &path);

  /// Only the first half of open: the symbol, with pointers that can be followed.
  static const tr_module &openAbi(const std::string &path);

  /// `abi`, once its magic and version are right and what it points to lies in the loaded file that
  /// it is in itself. Throws Error.
  static const tr_module &checkAbi(const tr_module &abi, const std::string &path);

  const std::string &path() const { return file; }
  const Description &description() const { return info; }
  const tr_function *functions() const { return abi->functions; }

  /// Whether its tensors lie on a device, which its functions launch kernels on.
  bool hasDevice() const { return info.kind != "cpu"; }
  /// The kernels, of a module that has a device.
  const tr_device_module &deviceAbi() const {
    return *reinterpret_cast<const tr_device_module *>(abi);
  }

  /// The entry of that name; throws Error that lists those there are.
  const EntryInfo &entry(const std::string &name) const;

  /// Throws Error that names the features this CPU lacks. To be called before any code runs.
  void checkCpu() const;

private:
  const tr_module *abi;
  std::string file;
  Description info;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_MODULE_H
