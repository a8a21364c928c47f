//===- CpuRelax.h - a pause between two looks at a variable -----*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_CPURELAX_H
#define TRANSFORMER_RUNTIME_CPURELAX_H

namespace transformer::runtime {

/// Tells the processor that this thread waits in a loop, so that it saves energy and leaves its
/// units to the core's other thread.
inline void cpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_CPURELAX_H
