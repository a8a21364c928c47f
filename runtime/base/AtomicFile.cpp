//===- AtomicFile.cpp - files that appear whole or not at all -------------===//
#include "runtime/base/AtomicFile.h"

#include "runtime/base/Error.h"
#include "runtime/base/Path.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace transformer::runtime {
namespace {

/// The name by which an open file can be linked.
std::string linkOf(int file) { return formatted("/proc/self/fd/{}", file); }

/// /dev/stdout, /proc/self/fd/1 and the like: another name of a file that is open.
bool isOpenFile(const std::string &path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode) &&
         (path.rfind("/dev/", 0) == 0 || path.rfind("/proc/", 0) == 0);
}

} // namespace

AtomicFile::AtomicFile(const std::string &path) : path(path), target(path) {
  struct stat status;
  bool exists = stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    fail("{}: cannot write: is a directory", path);
  char real[PATH_MAX];
  if (exists && realpath(path.c_str(), real))
    target = real;
  if (exists && (!S_ISREG(status.st_mode) || isOpenFile(path)))
    file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  else if (!openUnnamed())
    openRandom();
  if (file < 0)
    failToWrite(errno);
  if (exists && name != Own)
    fchmod(file, status.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (file >= 0)
    close(file);
  if (name == Random)
    unlink(temporary.c_str());
}

void AtomicFile::failToWrite(int problem) const {
  fail("{}: cannot write: {}", path, std::strerror(problem));
}

/// False where the file system has no unnamed files, or none that could get a name.
bool AtomicFile::openUnnamed() {
  file = open(parentFolder(target).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (file < 0)
    return false;
  name = None;
  if (access(linkOf(file).c_str(), F_OK) == 0)
    return true;
  close(file); // no /proc here
  return false;
}

void AtomicFile::openRandom() {
  do {
    nameRandomly();
    file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file < 0 && errno == EEXIST);
  name = file < 0 ? Own : Random;
}

/// Sets `temporary`: a name of its own, as that of `target` may leave no room behind it.
void AtomicFile::nameRandomly() {
  uint64_t number;
  if (getentropy(&number, sizeof(number)) != 0)
    failToWrite(errno);
  temporary = formatted("{}/.transformer-{:016x}", parentFolder(target), number);
  removal = FileInUse::temporary(temporary); // a moment early rather than late
}

void AtomicFile::write(const void *data, size_t size) {
  const char *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = ::write(file, next, std::min(size, size_t(1) << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      failToWrite(errno);
    next += written;
    size -= static_cast<size_t>(written);
  }
}

/// A link replaces nothing, a rename does: where something is in the way, a file without a name
/// gets a random one for that moment.
bool AtomicFile::moveToPath() {
  std::string link = linkOf(file);
  auto linkTo = [&](const std::string &to) {
    return linkat(AT_FDCWD, link.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (name == None) {
    if (linkTo(target))
      return true;
    bool linked = false;
    while (!linked && errno == EEXIST) {
      nameRandomly();
      linked = linkTo(temporary);
    }
    if (!linked)
      return false;
    name = Random;
  }
  if (name == Random && rename(temporary.c_str(), target.c_str()) != 0)
    return false;
  name = Own;
  return true;
}

void AtomicFile::commit(bool isDurable) {
  if (isDurable && fsync(file) != 0 && errno != EINVAL) // a pipe has nothing to sync
    failToWrite(errno);
  // What closing would tell (a quota of a network file system) has to be known before.
  int again = dup(file);
  if (again < 0 || close(again) != 0 || !moveToPath())
    failToWrite(errno);
  if (isDurable) { // the name, too
    int folder = open(parentFolder(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
      fsync(folder);
      close(folder);
    }
  }
  close(file);
  file = -1;
}

} // namespace transformer::runtime
