//===- Nccl.h - NVIDIA's library between GPUs, as far as we use it -*- C++ -*-===//
//
// libnccl.so.2 is found when processes train together on several GPUs; nothing
// else needs it, so its types and functions are declared here.
//
//===----------------------------------------------------------------------===//
#ifndef TRANSFORMER_RUNTIME_CUDA_NCCL_H
#define TRANSFORMER_RUNTIME_CUDA_NCCL_H

#include "runtime/cuda/Driver.h"

#include <string>

namespace transformer::runtime {

using ncclResult_t = int;
using ncclComm_t = struct ncclComm *;
struct ncclUniqueId {
  char internal[128];
};

// Numbers of nccl.h.
constexpr ncclResult_t ncclSuccess = 0, ncclInProgress = 7;
constexpr int ncclFloat32 = 7;

/// FUNCTION(name, parameters)
#define TRANSFORMER_NCCL_FUNCTIONS(FUNCTION)                                                       \
  FUNCTION(ncclGetVersion, (int *version))                                                         \
  FUNCTION(ncclGetUniqueId, (ncclUniqueId * id))                                                   \
  FUNCTION(ncclCommInitRank, (ncclComm_t * communicator, int ranks, ncclUniqueId id, int rank))    \
  FUNCTION(ncclCommGetAsyncError, (ncclComm_t communicator, ncclResult_t * error))                 \
  FUNCTION(ncclCommDestroy, (ncclComm_t communicator))                                             \
  FUNCTION(ncclCommAbort, (ncclComm_t communicator))                                               \
  FUNCTION(ncclGroupStart, ())                                                                     \
  FUNCTION(ncclGroupEnd, ())                                                                       \
  FUNCTION(ncclSend, (const void *from, size_t count, int type, int to, ncclComm_t communicator,   \
                      CUstream stream))                                                            \
  FUNCTION(ncclRecv,                                                                               \
           (void *to, size_t count, int type, int from, ncclComm_t communicator, CUstream stream)) \
  FUNCTION(ncclAllGather, (const void *from, void *to, size_t count, int type,                     \
                           ncclComm_t communicator, CUstream stream))

/// The library's functions. Tests put others there.
struct Nccl {
#define FUNCTION(name, parameters) ncclResult_t(*name) parameters = nullptr;
  TRANSFORMER_NCCL_FUNCTIONS(FUNCTION)
#undef FUNCTION
  const char *(*ncclGetErrorString)(ncclResult_t result) = nullptr;
  /// Of 2.13 and later: what has happened, in more words. May be null.
  const char *(*ncclGetLastError)(ncclComm_t communicator) = nullptr;

  /// This machine's library, loaded once. Throws Error when there is none or it lacks a function.
  static const Nccl &get();

  /// Throws Error "NCCL: CALL: unhandled system error" when `result` is one.
  void check(ncclResult_t result, const char *call) const;
  /// "2.27.3"
  std::string version() const;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CUDA_NCCL_H
