//===- CpuRelax.h - the pause of a spinning thread --------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_CPURELAX_H
#define TRANSFORMER_RUNTIME_CPURELAX_H

namespace transformer::runtime {

/// Tells the CPU that this thread polls memory: it saves power, and leaves the core to the other
/// hardware thread.
inline void cpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#else
#error "no pause instruction known for this CPU"
#endif
}

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CPURELAX_H
