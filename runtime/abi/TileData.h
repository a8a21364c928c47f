//===- TileData.h - AMX's registers, which Linux gives to who asks -*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_TILEDATA_H
#define TRANSFORMER_RUNTIME_TILEDATA_H

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace transformer::runtime {

/// Asks for them, for all threads of this process for as long as it runs; whether it has them
/// (Documentation/arch/x86/xstate.rst). False where there are none.
inline bool mayUseTileData() {
#if defined(__x86_64__)
  constexpr long requestPermission = 0x1023,
                 tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool granted = syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return granted;
#else
  return false;
#endif
}

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_TILEDATA_H
