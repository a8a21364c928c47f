//===- Profile.cpp - where the time goes ----------------------------------===//
#include "runtime/profile/Profile.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/profile/ProfileRecord.h"

#include <chrono>
#include <cstdio>
#include <map>

namespace transformer::runtime {

bool detail::profileOn = false;

namespace {

ProfileRecord record;
std::chrono::steady_clock::time_point origin;
const char *scopeLayer = nullptr; // set by ProfileScope
const char *workLayer = nullptr;  // set by tr_scope

std::map<const char *, tr_work> kernelWorks; // of kernels that say nothing but their name

constexpr tr_work unnamed = namedWork("unnamed");

int64_t sum(const LoopRecord &loop, const int64_t *perAmount) {
  int64_t total = 0;
  for (int64_t i = 0; i < loop.work->num_amounts; ++i)
    total += perAmount[i] * loop.amounts[i];
  return total;
}

} // namespace

int64_t flopsOf(const LoopRecord &loop) { return sum(loop, loop.work->flops); }

int64_t bytesOf(const LoopRecord &loop) {
  return sum(loop, loop.work->bytes) + loop.work->fixed_bytes;
}

void startProfile(int threads) {
  record = {};
  record.shares.resize(static_cast<size_t>(threads) - 1);
  // Memory that is there does not disturb the first loops.
  constexpr size_t expected = 8192;
  record.loops.reserve(expected);
  for (auto &shares : record.shares)
    shares.reserve(expected);
  origin = std::chrono::steady_clock::now();
  detail::profileOn = true;
}

int64_t profileNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              origin)
      .count();
}

void profileLoopBegin(const tr_work *work, const int64_t *amounts, int64_t tasks) {
  LoopRecord loop = {};
  loop.work = work ? work : &unnamed;
  loop.layer = loop.work->layer ? loop.work->layer : workLayer ? workLayer : scopeLayer;
  for (int64_t i = 0; i < loop.work->num_amounts; ++i)
    loop.amounts[i] = amounts[i];
  loop.tasks = loop.taken = tasks;
  loop.begin = profileNow();
  record.loops.push_back(loop);
}

void profileLoopEnd() {
  LoopRecord &loop = record.loops.back();
  loop.end = profileNow();
  if (loop.busyEnd == 0) // it ran on this thread alone
    loop.busyEnd = loop.end;
}

void profileShare(int thread, int64_t begin, int64_t end, int64_t tasks) {
  if (thread != 0) {
    record.shares[static_cast<size_t>(thread) - 1].push_back(
        {record.loops.size() - 1, tasks, begin, end});
    return;
  }
  record.loops.back().taken = tasks;
  record.loops.back().busyEnd = end;
}

void profileKernel(const char *name, int64_t blocks, const tr_work *work, const int64_t *amounts,
                   int64_t begin, int64_t end) {
  const tr_work *known =
      work ? work : &kernelWorks.try_emplace(name, namedWork(name)).first->second;
  LoopRecord loop = {};
  loop.work = known;
  loop.layer = known->layer;
  for (int64_t i = 0; i < known->num_amounts; ++i)
    loop.amounts[i] = amounts[i];
  loop.tasks = loop.taken = blocks;
  loop.begin = begin;
  loop.busyEnd = loop.end = end;
  loop.onDevice = true;
  record.loops.push_back(loop);
}

ProfileScope::ProfileScope(const char *label, const char *layer)
    : label(label), outerLayer(scopeLayer), begin(profiling() ? profileNow() : 0) {
  if (layer)
    scopeLayer = layer;
}

ProfileScope::~ProfileScope() {
  scopeLayer = outerLayer;
  if (profiling())
    record.scopes.push_back({label, begin, profileNow()});
}

void writeProfile(const std::string &path) {
  detail::profileOn = false;
  AtomicFile file(path);
  file.write(traceText(record));
  file.commit();
  std::string table = summaryText(record);
  std::fwrite(table.data(), 1, table.size(), stderr);
}

} // namespace transformer::runtime

extern "C" void tr_scope(const char *name) { transformer::runtime::workLayer = name; }
