//===- Path.h - questions about paths ---------------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_PATH_H
#define TRANSFORMER_RUNTIME_PATH_H

#include <string>

namespace transformer::runtime {

/// The part of a path before its last '/', "." when there is none.
std::string parentFolder(const std::string &path);

/// Throws Error when the folder that `path` lies in does not exist: to be asked before work whose
/// result goes there.
void checkFolder(const std::string &path);

/// Whether there is anything at `path`.
bool pathExists(const std::string &path);
bool isDirectory(const std::string &path);
bool isFile(const std::string &path);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_PATH_H
