//===- machine.cpp - the limits of this machine ---------------------------===//
// Prints {"fma_gflops": .., "pairs_gflops": .., "read_gbs": .., "vector_bits": ..} as N threads,
// one a core, reach them: multiply-adds on registers in float32; the same counted as Winograd's
// inner product counts them, with an addition beside each, three products for two multiply-adds;
// and reading a buffer that fits in no cache.
//   g++ -O3 -ffp-contract=fast -pthread machine.cpp -o machine && ./machine N [WIDEST_VECTOR_BITS]
#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

namespace {

constexpr int passes = 7;
constexpr size_t bufferBytes = size_t(512) << 20;
constexpr int64_t fmaSteps = 4'000'000;
constexpr int accumulators = 12; // latency 4-5, two a cycle: at least 10 chains

/// Keeps the compiler from dropping what nobody reads.
volatile float sink;

/// One function for each vector width: `accumulators` independent chains of multiply-adds. The
/// empty asm hides the chains' values, which are all equal, so that they stay apart.
#define FMA_LOOP(NAME, BYTES, CONSTRAINT, ...)                                                     \
  __VA_ARGS__ void NAME(int64_t steps) {                                                           \
    typedef float Vector __attribute__((vector_size(BYTES)));                                      \
    Vector sum[accumulators] = {}, factor = {}, term = {};                                         \
    factor = factor + 0.5f;                                                                        \
    term = term + 1.0f;                                                                            \
    for (int j = 0; j < accumulators; ++j)                                                         \
      asm volatile("" : "+" CONSTRAINT(sum[j]));                                                   \
    for (int64_t i = 0; i < steps; ++i)                                                            \
      _Pragma("GCC unroll 12") for (int j = 0; j < accumulators; ++j) /**/                         \
          sum[j] = sum[j] * factor + term;                                                         \
    for (int j = 1; j < accumulators; ++j)                                                         \
      sum[0] = sum[0] + sum[j];                                                                    \
    sink = sum[0][0];                                                                              \
  }

/// As many chains of additions beside them, where there are registers for both.
#define PAIRS_LOOP(NAME, BYTES, CONSTRAINT, ...)                                                   \
  __VA_ARGS__ void NAME(int64_t steps) {                                                           \
    typedef float Vector __attribute__((vector_size(BYTES)));                                      \
    Vector sum[accumulators] = {}, other[accumulators] = {}, factor = {}, term = {};               \
    factor = factor + 0.5f;                                                                        \
    term = term + 1.0f;                                                                            \
    for (int j = 0; j < accumulators; ++j)                                                         \
      asm volatile("" : "+" CONSTRAINT(sum[j]), "+" CONSTRAINT(other[j]));                         \
    for (int64_t i = 0; i < steps; ++i)                                                            \
      _Pragma("GCC unroll 12") for (int j = 0; j < accumulators; ++j) {                            \
        sum[j] = sum[j] * factor + term;                                                           \
        other[j] = other[j] + term;                                                                \
      }                                                                                            \
    for (int j = 0; j < accumulators; ++j)                                                         \
      sum[0] = sum[0] + sum[j] + other[j];                                                         \
    sink = sum[0][0];                                                                              \
  }

/// Likewise: adds up the bits of the buffer, eight vectors at a time.
#define READ_LOOP(NAME, BYTES, ...)                                                                \
  __VA_ARGS__ void NAME(const char *data, size_t bytes) {                                          \
    typedef int Vector __attribute__((vector_size(BYTES)));                                        \
    Vector sum[8] = {};                                                                            \
    for (size_t i = 0; i + 8 * (BYTES) <= bytes; i += 8 * (BYTES))                                 \
      _Pragma("GCC unroll 8") for (int j = 0; j < 8; ++j) sum[j] ^=                                \
          *reinterpret_cast<const Vector *>(data + i + j * (BYTES));                               \
    for (int j = 1; j < 8; ++j)                                                                    \
      sum[0] ^= sum[j];                                                                            \
    sink = float(sum[0][0]);                                                                       \
  }

#if defined(__x86_64__)
FMA_LOOP(fma512, 64, "v", __attribute__((target("avx512f"))))
PAIRS_LOOP(pairs512, 64, "v", __attribute__((target("avx512f"))))
FMA_LOOP(fma256, 32, "x", __attribute__((target("avx2,fma"))))
FMA_LOOP(fma128, 16, "x")
READ_LOOP(read256, 32, __attribute__((target("avx2"))))
READ_LOOP(read128, 16)
#else
FMA_LOOP(fma128, 16, "w")
READ_LOOP(read128, 16)
#endif

struct Kernels {
  int bits;
  void (*fma)(int64_t);
  void (*pairs)(int64_t); // or null
  void (*read)(const char *, size_t);
};

/// What this CPU can run with vectors of at most so many bits, widest first.
std::vector<Kernels> kernels(int widest) {
  std::vector<Kernels> found;
#if defined(__x86_64__)
  if (widest >= 512 && __builtin_cpu_supports("avx512f"))
    found.push_back({512, fma512, pairs512, read256});
  if (widest >= 256 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    found.push_back({256, fma256, nullptr, read256});
#endif
  found.push_back({128, fma128, nullptr, read128});
  return found;
}

/// The cores this process may use, in order.
std::vector<int> allowedCores() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set))
      cores.push_back(core);
  return cores;
}

/// Seconds of the fastest of some passes in which `body(thread)` runs on every thread at once.
double fastest(int threads, const std::function<void(int)> &body) {
  using Clock = std::chrono::steady_clock;
  std::vector<int> cores = allowedCores();
  Clock::time_point start;
  double best = 1e30;
  bool begin = true;
  std::barrier gate(threads, [&]() noexcept { // runs once each time all threads have arrived
    if (!begin)
      best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    begin = !begin;
    start = Clock::now();
  });
  std::vector<std::thread> pool;
  for (int thread = 0; thread < threads; ++thread)
    pool.emplace_back([&, thread] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(cores[size_t(thread) % cores.size()], &set);
      pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
      for (int pass = 0; pass < passes; ++pass) {
        gate.arrive_and_wait();
        body(thread);
        gate.arrive_and_wait();
      }
    });
  for (std::thread &thread : pool)
    thread.join();
  return best;
}

} // namespace

int main(int argc, char **argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  int widest = argc > 2 ? std::atoi(argv[2]) : 512;
  if (threads < 1 || threads > 1024 || widest < 128) {
    std::fprintf(stderr, "usage: machine THREADS [WIDEST_VECTOR_BITS]\n");
    return 1;
  }
  double gflops = 0, pairs = 0;
  int bits = 0;
  for (const Kernels &kernel : kernels(widest)) {
    double flops = 2.0 * (kernel.bits / 32) * accumulators * double(fmaSteps) * threads;
    double reached = flops / fastest(threads, [&](int) { kernel.fma(fmaSteps); }) * 1e-9;
    pairs = std::max(pairs, reached);
    if (kernel.pairs)
      pairs = std::max(pairs,
                       1.5 * flops / fastest(threads, [&](int) { kernel.pairs(fmaSteps); }) * 1e-9);
    if (reached > gflops * 1.01) { // wider vectors unless narrower ones are truly faster
      gflops = reached;
      bits = kernel.bits;
    }
  }

  void *memory =
      mmap(nullptr, bufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    return 1;
  }
  madvise(memory, bufferBytes, MADV_HUGEPAGE);
  std::memset(memory, 1, bufferBytes);
  const char *data = static_cast<const char *>(memory);
  size_t share = bufferBytes / size_t(threads) / 4096 * 4096;
  auto read = kernels(widest).front().read;
  double seconds =
      fastest(threads, [&](int thread) { read(data + share * size_t(thread), share); });
  std::printf(
      "{\"fma_gflops\": %.2f, \"pairs_gflops\": %.2f, \"read_gbs\": %.2f, \"vector_bits\": %d}\n",
      gflops, pairs, double(share) * threads / seconds * 1e-9, bits);
}
