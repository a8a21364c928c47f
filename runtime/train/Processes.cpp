//===- Processes.cpp - the processes that train together ------------------===//
//
// Open MPI's interface as its mpi.h (version 4) has it: handles are addresses of objects that the
// library exports.
//
//===----------------------------------------------------------------------===//
#include "runtime/train/Processes.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <vector>

namespace transformer::runtime {

struct Processes::Library {
  void *handle = nullptr;
  void *world = nullptr, *bytes = nullptr; // MPI_COMM_WORLD, MPI_BYTE
  int (*init)(int *, char ***) = nullptr;
  int (*rank)(void *, int *) = nullptr;
  int (*size)(void *, int *) = nullptr;
  int (*allToAll)(const void *, int, void *, void *, int, void *, void *) = nullptr;
  int (*allGather)(const void *, int, void *, void *, int, void *, void *) = nullptr;
  int (*finalize)() = nullptr;
  int (*abort)(void *, int) = nullptr;

  Library();
};

namespace {

constexpr const char *libraryName = "libmpi.so.40"; // Open MPI 4 and 5
constexpr int64_t pieceLength = int64_t(1) << 18;   // of a process in a round: 1 MiB

void check(int code, const char *what) {
  if (code != 0)
    fail("MPI: {} failed with code {}", what, code);
}

} // namespace

Processes::Library::Library() {
  // Its plugins look for the library's names among all.
  handle = dlopen(libraryName, RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    fail("started by mpirun, but Open MPI's library cannot be loaded: {} (Debian: apt-get install "
         "libopenmpi3)",
         dlerror());
  auto find = [&](const char *name) {
    void *found = dlsym(handle, name);
    if (!found)
      fail("{} has no {}: not Open MPI's?", libraryName, name);
    return found;
  };
  world = find("ompi_mpi_comm_world");
  bytes = find("ompi_mpi_byte");
  auto set = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(name));
  };
  set(init, "MPI_Init");
  set(rank, "MPI_Comm_rank");
  set(size, "MPI_Comm_size");
  set(allToAll, "MPI_Alltoall");
  set(allGather, "MPI_Allgather");
  set(finalize, "MPI_Finalize");
  set(abort, "MPI_Abort");
}

Processes::Processes() {
  const char *size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (!size || std::strcmp(size, "1") == 0)
    return;
  static const Library loaded;
  library = &loaded;
  check(library->init(nullptr, nullptr), "MPI_Init");
  check(library->rank(library->world, &own), "MPI_Comm_rank");
  check(library->size(library->world, &count), "MPI_Comm_size");
  if (const char *number = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK"))
    local = std::max(0, std::atoi(number));
}

Processes::~Processes() {
  if (library)
    library->finalize();
}

/// Each process adds up a piece of what all have, and gives the sum to the others.
void Processes::sum(float *values, int64_t length) const {
  if (!library)
    return;
  auto all = static_cast<size_t>(count);
  std::vector<float> sent, received, piece;
  for (int64_t first = 0; first < length; first += pieceLength * count) {
    int64_t left = std::min(length - first, pieceLength * count);
    auto each = static_cast<size_t>((left + count - 1) / count);
    auto bytes = static_cast<int>(each * sizeof(float));
    sent.assign(each * all, 0);
    std::copy_n(values + first, left, sent.begin());
    received.resize(each * all);
    check(library->allToAll(sent.data(), bytes, library->bytes, received.data(), bytes,
                            library->bytes, library->world),
          "MPI_Alltoall");
    piece.assign(received.begin(), received.begin() + static_cast<ptrdiff_t>(each));
    for (size_t other = 1; other < all; ++other)
      for (size_t i = 0; i < each; ++i)
        piece[i] += received[other * each + i];
    check(library->allGather(piece.data(), bytes, library->bytes, received.data(), bytes,
                             library->bytes, library->world),
          "MPI_Allgather");
    std::copy_n(received.begin(), left, values + first);
  }
}

std::vector<char> Processes::gather(const void *data, int bytes) const {
  std::vector<char> all(static_cast<size_t>(count) * static_cast<size_t>(bytes));
  if (library)
    check(library->allGather(data, bytes, library->bytes, all.data(), bytes, library->bytes,
                             library->world),
          "MPI_Allgather");
  else
    std::memcpy(all.data(), data, all.size());
  return all;
}

int64_t Processes::largest(int64_t value) const {
  std::vector<char> all = gather(&value, sizeof(value));
  for (size_t at = 0; at < all.size(); at += sizeof(value)) {
    int64_t other;
    std::memcpy(&other, all.data() + at, sizeof(other));
    value = std::max(value, other);
  }
  return value;
}

void Processes::abort(int exitCode) const {
  if (library)
    library->abort(library->world, exitCode);
  std::exit(exitCode);
}

} // namespace transformer::runtime
