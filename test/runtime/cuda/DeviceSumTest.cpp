#include "runtime/cuda/DeviceSum.h"

#include "runtime/base/Error.h"
#include "test/runtime/TestSupport.h"
#include "test/runtime/cuda/FakeDriver.h"

#include <algorithm>
#include <numeric>

using namespace transformer::runtime;

namespace {

constexpr int ranks = 3, own = 1;
const std::vector<int64_t> sizes = {5, 0, 300, 1, 130}; // of tensors

/// Numbers whose sums depend on their order, of one rank, one tensor behind the other.
std::vector<float> numbersOf(int rank) {
  std::vector<float> result(436);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = (float(i) + 0.1f) * (rank == 0 ? 1e8f : rank == own ? -1e8f : 1.0f);
  return result;
}

std::vector<float> sums() {
  std::vector<float> result = numbersOf(0);
  for (int rank = 1; rank < ranks; ++rank)
    for (size_t i = 0; i < result.size(); ++i)
      result[i] += numbersOf(rank)[i];
  return result;
}

/// What NCCL is asked for, in order, and what it answers; the other ranks' part is played from what
/// their numbers are.
struct FakeNccl {
  std::vector<std::string> calls;
  std::string failing;                   // the call
  ncclResult_t asyncError = ncclSuccess; // of what is under way
  int64_t bucket = 128, first = 0;       // the numbers that are under way begin there
  bool inGroup = false;
} nccl;

ncclResult_t say(const std::string &call) {
  nccl.calls.push_back(call);
  return call == nccl.failing ? 3 : ncclSuccess;
}

/// Number `i` of the bucket that is under way; zeros behind the last one.
float numberOf(const std::vector<float> &all, int64_t i) {
  int64_t place = nccl.first + i;
  bool isThere = i < nccl.bucket && place < int64_t(all.size());
  return isThere ? all[size_t(place)] : 0;
}

ncclResult_t send(const void *from, size_t count, int type, int to, ncclComm_t, CUstream) {
  EXPECT_TRUE(nccl.inGroup);
  EXPECT_EQ(type, ncclFloat32);
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(FakeDriver::at<float>(from)[i],
              numberOf(numbersOf(own), to * int64_t(count) + int64_t(i)));
  return say("send " + std::to_string(to));
}

ncclResult_t receive(void *to, size_t count, int, int from, ncclComm_t, CUstream) {
  EXPECT_TRUE(nccl.inGroup);
  for (size_t i = 0; i < count; ++i)
    FakeDriver::at<float>(to)[i] = numberOf(numbersOf(from), own * int64_t(count) + int64_t(i));
  return say("receive " + std::to_string(from));
}

ncclResult_t gather(const void *from, void *to, size_t count, int, ncclComm_t, CUstream) {
  EXPECT_EQ(from, static_cast<char *>(to) + own * count * sizeof(float));
  for (size_t i = 0; i < ranks * count; ++i)
    if (i / count == own)
      EXPECT_EQ(FakeDriver::at<float>(to)[i], numberOf(sums(), int64_t(i)));
    else
      FakeDriver::at<float>(to)[i] = numberOf(sums(), int64_t(i));
  nccl.first += nccl.bucket;
  return say("gather");
}

Nccl functions() {
  Nccl result;
  result.ncclCommInitRank = [](ncclComm_t *, int size, ncclUniqueId, int rank) {
    return say("join as " + std::to_string(rank) + " of " + std::to_string(size));
  };
  result.ncclCommGetAsyncError = [](ncclComm_t, ncclResult_t *error) {
    return *error = nccl.asyncError, ncclSuccess;
  };
  result.ncclCommDestroy = [](ncclComm_t) { return say("destroy"); };
  result.ncclCommAbort = [](ncclComm_t) { return say("abort"); };
  result.ncclGroupStart = [] { return nccl.inGroup = true, say("begin"); };
  result.ncclGroupEnd = [] { return nccl.inGroup = false, say("end"); };
  result.ncclSend = send;
  result.ncclRecv = receive;
  result.ncclAllGather = gather;
  result.ncclGetErrorString = [](ncclResult_t) { return "internal error"; };
  result.ncclGetLastError = [](ncclComm_t) { return "a cable is out"; };
  return result;
}

class DeviceSumTest : public testing::Test {
protected:
  DeviceSumTest() {
    FakeDriver::reset();
    nccl = {};
    FakeDriver::get().kernels["add_shares"] = [](void **arguments) {
      auto *sums = FakeDriver::at<float>(*static_cast<char **>(arguments[0]));
      const auto *shares = FakeDriver::at<float>(*static_cast<char **>(arguments[1]));
      size_t each = 4 * size_t(*static_cast<unsigned *>(arguments[2]));
      for (size_t i = 0; i < each; ++i) {
        sums[i] = shares[i];
        for (unsigned share = 1; share < *static_cast<unsigned *>(arguments[3]); ++share)
          sums[i] += shares[share * each + i];
      }
    };
    std::vector<float> all = numbersOf(own);
    const float *next = all.data();
    for (int64_t size : sizes) {
      memory.emplace_back(device, size_t(size) * sizeof(float), "test");
      device->upload(memory.back().data(), next, size_t(size) * sizeof(float));
      tensors.push_back({memory.back().data(), size});
      next += size;
    }
  }

  std::vector<float> found() const {
    std::vector<float> result;
    for (const DeviceNumbers &tensor : tensors) {
      const auto *data = FakeDriver::at<float>(tensor.data);
      result.insert(result.end(), data, data + tensor.count);
    }
    return result;
  }

  tr_device_code code = {"ptx", 3, "cubin", 5, nullptr, 0, 0};
  std::shared_ptr<Device> device =
      std::make_shared<Device>(FakeDriver::driver(), DeviceModule{"fake", "sm_80", &code});
  Nccl table = functions();
  std::vector<DeviceMemory> memory;
  std::vector<DeviceNumbers> tensors;
};

TEST_F(DeviceSumTest, AddsSharesInTheOrderOfRanks) {
  std::vector<std::string> turn = {"begin",     "send 0", "receive 0", "send 2",
                                   "receive 2", "end",    "gather"};
  std::vector<std::string> expected = {"join as 1 of 3"};
  {
    DeviceSum sum(table, device, {}, own, ranks, nccl.bucket);
    sum.add(tensors);
    for (int bucket = 0; bucket < 4; ++bucket) // of 436 numbers
      expected.insert(expected.end(), turn.begin(), turn.end());
    EXPECT_EQ(nccl.calls, expected);
    EXPECT_EQ(found(), sums());
  }
  EXPECT_EQ(nccl.calls.back(), "destroy");
}

TEST_F(DeviceSumTest, OneBucketHoldsAll) {
  nccl.bucket = 1 << 20;
  DeviceSum sum(table, device, {}, own, ranks, nccl.bucket);
  sum.add(tensors);
  EXPECT_EQ(nccl.calls.size(), 8u);
  EXPECT_EQ(found(), sums());
}

TEST_F(DeviceSumTest, NamesTheCallThatFails) {
  nccl.bucket = 1 << 20;
  nccl.failing = "join as 1 of 3";
  EXPECT_EQ(errorOf([&] { DeviceSum(table, device, {}, own, ranks); }),
            "NCCL: ncclCommInitRank: internal error: a cable is out");
  nccl.failing = "send 2";
  EXPECT_EQ(errorOf([&] { DeviceSum(table, device, {}, own, ranks).add(tensors); }),
            "NCCL: ncclSend: internal error: a cable is out");
  EXPECT_EQ(nccl.calls.back(), "abort"); // what is under way is not waited for
}

TEST_F(DeviceSumTest, SaysWhatHappensOnTheWay) {
  nccl.bucket = 1 << 20;
  nccl.asyncError = 6;
  EXPECT_EQ(errorOf([&] { DeviceSum(table, device, {}, own, ranks).add(tensors); }),
            "NCCL: gradients between GPUs: internal error: a cable is out");
  EXPECT_EQ(nccl.calls.back(), "abort");
}

TEST_F(DeviceSumTest, KnowsBothKindsOfVersions) {
  table.ncclGetVersion = [](int *version) { return *version = 2708, ncclSuccess; };
  EXPECT_EQ(table.version(), "2.7.8");
  table.ncclGetVersion = [](int *version) { return *version = 22703, ncclSuccess; };
  EXPECT_EQ(table.version(), "2.27.3");
}

} // namespace
