//===- AtomicFile.cpp - files that appear whole or not at all -------------===//
#include "runtime/AtomicFile.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace transformer::runtime {

AtomicFile::AtomicFile(const std::string &path) : path(path) {
  struct stat status;
  bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    fail("{}: cannot write: is a directory", path);
  if (exists && !S_ISREG(status.st_mode)) {
    file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary = fmt::format("{}.tmp{}", path, getpid());
    file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (file < 0)
    fail("{}: cannot write: {}", path, std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (file >= 0) {
    close(file);
    if (!temporary.empty())
      unlink(temporary.c_str());
  }
}

void AtomicFile::write(const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = ::write(file, next, std::min(size, size_t(1) << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      fail("{}: cannot write: {}", path, std::strerror(errno));
    next += written;
    size -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  bool failed = close(file) != 0;
  file = -1;
  failed = failed || (!temporary.empty() && rename(temporary.c_str(), path.c_str()) != 0);
  if (failed) {
    int problem = errno;
    if (!temporary.empty())
      unlink(temporary.c_str());
    fail("{}: cannot write: {}", path, std::strerror(problem));
  }
}

std::string readTextFile(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rbe");
  if (!file)
    fail("{}: cannot open: {}", path, std::strerror(errno));
  std::string text;
  char block[1 << 16];
  errno = 0;
  while (size_t count = std::fread(block, 1, sizeof(block), file))
    text.append(block, count);
  bool failed = std::ferror(file) != 0;
  int problem = errno;
  std::fclose(file);
  if (failed)
    fail("{}: cannot read: {}", path, std::strerror(problem));
  return text;
}

} // namespace transformer::runtime
