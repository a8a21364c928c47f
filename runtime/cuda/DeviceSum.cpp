//===- DeviceSum.cpp - sums over the GPUs of several processes ------------===//
#include "runtime/cuda/DeviceSum.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <exception>
#include <thread>

namespace transformer::runtime {
namespace {

/// Of a share: whole pieces of 16 bytes that begin where memory does.
constexpr int64_t alignment = 64;
constexpr unsigned threads = 256;

/// A module for training has no kernel that adds up what other processes have; it is four numbers a
/// thread, from the first share to the last one.
constexpr const char *kernelName = "add_shares";
constexpr const char *ptx = R"(
.version 7.0
.target sm_80
.address_size 64

.visible .entry add_shares(
  .param .u64 sums,
  .param .u64 shares,
  .param .u32 fours,
  .param .u32 count
)
{
  .reg .pred %p;
  .reg .b32 %r<7>;
  .reg .b64 %rd<6>;
  .reg .f32 %f<8>;

  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r0, %r1, %r2;
  ld.param.u32 %r4, [fours];
  setp.ge.u32 %p, %r3, %r4;
  @%p bra END;
  ld.param.u64 %rd0, [sums];
  cvta.to.global.u64 %rd0, %rd0;
  ld.param.u64 %rd1, [shares];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.u32 %r5, [count];
  mul.wide.u32 %rd2, %r3, 16;
  mul.wide.u32 %rd3, %r4, 16;
  add.u64 %rd0, %rd0, %rd2;
  add.u64 %rd1, %rd1, %rd2;
  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1];
NEXT:
  sub.u32 %r5, %r5, 1;
  setp.eq.u32 %p, %r5, 0;
  @%p bra DONE;
  add.u64 %rd1, %rd1, %rd3;
  ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%rd1];
  add.rn.f32 %f0, %f0, %f4;
  add.rn.f32 %f1, %f1, %f5;
  add.rn.f32 %f2, %f2, %f6;
  add.rn.f32 %f3, %f3, %f7;
  bra NEXT;
DONE:
  st.global.v4.f32 [%rd0], {%f0, %f1, %f2, %f3};
END:
  ret;
}
)";

} // namespace

DeviceSum::DeviceSum(const Nccl &nccl, std::shared_ptr<Device> opened, const ncclUniqueId &id,
                     int rank, int size, int64_t bucket)
    : nccl(nccl), device(std::move(opened)), rank(rank), size(size), bucket(bucket),
      uncaught(std::uncaught_exceptions()) {
  const CudaDriver &driver = device->api();
  nccl.check(nccl.ncclCommInitRank(&communicator, size, id, rank), "ncclCommInitRank");
  try {
    driver.check(driver.cuModuleLoadDataEx(&module, ptx, 0, nullptr, nullptr),
                 "loading the kernel that adds up gradients: cuModuleLoadDataEx");
    driver.check(driver.cuModuleGetFunction(&kernel, module, kernelName), "cuModuleGetFunction");
  } catch (...) {
    release(/*failed=*/true);
    throw;
  }
}

DeviceSum::~DeviceSum() { release(std::uncaught_exceptions() > uncaught); }

/// Where this process failed, others may never come to what is under way, which `Destroy` would
/// wait for.
void DeviceSum::release(bool failed) noexcept {
  failed ? nccl.ncclCommAbort(communicator) : nccl.ncclCommDestroy(communicator);
  if (module)
    device->api().cuModuleUnload(module);
}

char *DeviceSum::share(const DeviceMemory &of, int64_t each, int index) const {
  return of.data() + size_t(each * index) * sizeof(float);
}

void DeviceSum::add(const std::vector<DeviceNumbers> &tensors) {
  int64_t total = 0;
  for (const DeviceNumbers &tensor : tensors)
    total += tensor.count;
  auto eachOf = [&](int64_t count) { // of `count` numbers, whole pieces
    return (count + size * alignment - 1) / (size * alignment) * alignment;
  };
  auto bytes = size_t(eachOf(std::min(total, bucket)) * size) * sizeof(float);
  if (numbers.size() < bytes) {
    numbers = DeviceMemory(device, bytes, "gradients on their way");
    received = DeviceMemory(device, bytes, "gradients on their way");
  }
  for (int64_t first = 0; first < total; first += bucket) {
    int64_t count = std::min(total - first, bucket), each = eachOf(count);
    copyBucket(tensors, first, count, Way::Out);
    device->zero(numbers.data() + size_t(count) * sizeof(float),
                 size_t(each * size - count) * sizeof(float));
    exchange(each);
    addShares(each);
    nccl.check(nccl.ncclAllGather(share(numbers, each, rank), numbers.data(), size_t(each),
                                  ncclFloat32, communicator, device->queue()),
               "ncclAllGather");
    copyBucket(tensors, first, count, Way::Back);
  }
  waitForAll();
}

/// Numbers `first` to `first + count` of the tensors, one behind the other, and the bucket.
void DeviceSum::copyBucket(const std::vector<DeviceNumbers> &tensors, int64_t first, int64_t count,
                           Way way) {
  int64_t begin = 0; // of the tensor
  for (const DeviceNumbers &tensor : tensors) {
    int64_t from = std::max(begin, first), to = std::min(begin + tensor.count, first + count);
    if (from < to) {
      char *own = tensor.data + size_t(from - begin) * sizeof(float);
      char *piece = numbers.data() + size_t(from - first) * sizeof(float);
      auto bytes = size_t(to - from) * sizeof(float);
      way == Way::Out ? device->copy(piece, own, bytes) : device->copy(own, piece, bytes);
    }
    begin += tensor.count;
  }
}

/// Everybody gets its share from everybody. In a group: each call alone would wait for the other
/// side's, and all would wait for each other.
void DeviceSum::exchange(int64_t each) {
  nccl.check(nccl.ncclGroupStart(), "ncclGroupStart");
  for (int other = 0; other < size; ++other) {
    if (other == rank)
      continue;
    nccl.check(nccl.ncclSend(share(numbers, each, other), size_t(each), ncclFloat32, other,
                             communicator, device->queue()),
               "ncclSend");
    nccl.check(nccl.ncclRecv(share(received, each, other), size_t(each), ncclFloat32, other,
                             communicator, device->queue()),
               "ncclRecv");
  }
  nccl.check(nccl.ncclGroupEnd(), "ncclGroupEnd");
  device->copy(share(received, each, rank), share(numbers, each, rank),
               size_t(each) * sizeof(float));
}

/// The sums are this process' share of the bucket.
void DeviceSum::addShares(int64_t each) {
  const CudaDriver &driver = device->api();
  char *sums = share(numbers, each, rank), *shares = received.data();
  auto fours = static_cast<unsigned>(each / 4), count = static_cast<unsigned>(size);
  void *arguments[] = {&sums, &shares, &fours, &count};
  driver.check(driver.cuLaunchKernel(kernel, (fours + threads - 1) / threads, 1, 1, threads, 1, 1,
                                     0, device->queue(), arguments, nullptr),
               "adding up gradients: cuLaunchKernel");
}

/// What is under way stays so where another process or the way to it is lost, and only NCCL is
/// told.
void DeviceSum::waitForAll() {
  for (bool isDone = false; !isDone; std::this_thread::yield()) {
    isDone = device->isDone();
    ncclResult_t problem = ncclSuccess;
    nccl.check(nccl.ncclCommGetAsyncError(communicator, &problem), "ncclCommGetAsyncError");
    if (problem != ncclInProgress)
      nccl.check(problem, "gradients between GPUs");
  }
}

} // namespace transformer::runtime
