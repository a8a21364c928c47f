// Preloaded, makes every file system one that has no unnamed files (O_TMPFILE), as many over a network.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int open_named(const char *path, int flags, va_list arguments) {
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return openat(AT_FDCWD, path, flags, flags & O_CREAT ? va_arg(arguments, int) : 0);
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int file = open_named(path, flags, arguments);
  va_end(arguments);
  return file;
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  int file = open_named(path, flags, arguments);
  va_end(arguments);
  return file;
}
