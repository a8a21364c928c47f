//===- Path.cpp - questions about paths -----------------------------------===//
#include "runtime/base/Path.h"

#include "runtime/base/Error.h"

#include <sys/stat.h>

namespace transformer::runtime {

std::string parentFolder(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void checkFolder(const std::string &path) {
  std::string folder = parentFolder(path);
  if (!isDirectory(folder))
    fail("{}: cannot write: no such folder {}", path, folder);
}

bool pathExists(const std::string &path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

bool isDirectory(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool isFile(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

} // namespace transformer::runtime
