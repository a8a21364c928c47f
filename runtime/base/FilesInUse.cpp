//===- FilesInUse.cpp - files that signals know of ------------------------===//
#include "runtime/base/FilesInUse.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <unistd.h>
#include <utility>

namespace transformer::runtime {

struct FileInUse::Entry {
  /// Filling: the other fields are being written.
  enum Kind { Free, Filling, Mapped, Temporary };
  std::atomic<Kind> kind{Filling};
  std::string text; // a mapped file: what to say; a temporary one: its path
  uintptr_t begin = 0, end = 0;
  Entry *next = nullptr;
};

namespace {

using Entry = FileInUse::Entry;

std::atomic<Entry *> entries{nullptr};
static_assert(decltype(entries)::is_always_lock_free &&
              std::atomic<Entry::Kind>::is_always_lock_free);
struct sigaction busBefore;

/// An entry to be filled.
Entry *takeEntry() {
  for (Entry *entry = entries.load(); entry; entry = entry->next) {
    Entry::Kind wanted = Entry::Free;
    if (entry->kind.compare_exchange_strong(wanted, Entry::Filling))
      return entry;
  }
  auto *entry = new Entry; // for good
  entry->next = entries.load();
  while (!entries.compare_exchange_weak(entry->next, entry))
    ;
  return entry;
}

void removeTemporaryFiles() {
  for (Entry *entry = entries.load(); entry; entry = entry->next)
    if (entry->kind.load() == Entry::Temporary)
      unlink(entry->text.c_str());
}

/// A thread that reads a mapped file keeps it mapped, so its entry does not change under this.
void onBus(int signal, siginfo_t *info, void *) {
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  bool isRead = info->si_code == BUS_ADRERR;
  for (Entry *entry = entries.load(); isRead && entry; entry = entry->next)
    if (entry->kind.load() == Entry::Mapped && address >= entry->begin && address < entry->end) {
      removeTemporaryFiles();
      [[maybe_unused]] ssize_t n = write(STDERR_FILENO, entry->text.data(), entry->text.size());
      _exit(1);
    }
  sigaction(SIGBUS, &busBefore, nullptr);
  if (info->si_code <= 0) // sent by a process; an access comes back by itself
    raise(signal);
}

void onEnd(int signal) {
  removeTemporaryFiles();
  raise(signal); // SA_RESETHAND: the default
}

} // namespace

FileInUse::FileInUse(FileInUse &&other) noexcept : entry(std::exchange(other.entry, nullptr)) {}

FileInUse &FileInUse::operator=(FileInUse &&other) noexcept {
  std::swap(entry, other.entry);
  return *this;
}

FileInUse::~FileInUse() {
  if (entry)
    entry->kind.store(Entry::Free);
}

FileInUse FileInUse::mapped(const std::string &path, const void *begin, size_t bytes) {
  Entry *entry = takeEntry();
  entry->text = "error: " + path + ": cannot be read: changed or truncated while it was in use\n";
  entry->begin = reinterpret_cast<uintptr_t>(begin);
  entry->end = entry->begin + bytes;
  entry->kind.store(Entry::Mapped);
  return FileInUse(entry);
}

FileInUse FileInUse::temporary(const std::string &path) {
  Entry *entry = takeEntry();
  entry->text = path;
  entry->kind.store(Entry::Temporary);
  return FileInUse(entry);
}

void handleSignals() {
  static bool done = false;
  if (std::exchange(done, true))
    return;
  struct sigaction bus = {};
  bus.sa_sigaction = onBus;
  bus.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &bus, &busBefore);
  auto replaceDefault = [](int signal, void (*handler)(int), int flags) {
    struct sigaction before, now = {};
    now.sa_handler = handler;
    now.sa_flags = flags;
    if (sigaction(signal, nullptr, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
        before.sa_handler == SIG_DFL)
      sigaction(signal, &now, nullptr);
  };
  for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM})
    replaceDefault(signal, onEnd, SA_RESETHAND);
  replaceDefault(SIGXFSZ, SIG_IGN, 0);
}

} // namespace transformer::runtime
