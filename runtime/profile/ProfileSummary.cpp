//===- ProfileSummary.cpp - a profile as a table --------------------------===//
#include "runtime/base/Error.h"
#include "runtime/profile/ProfileRecord.h"

#include <algorithm>
#include <map>

namespace transformer::runtime {
namespace {

/// Sums over loops of one label. Times in nanoseconds; `late` and `waited` are summed over threads.
struct Row {
  std::string label;
  int64_t calls = 0, time = 0, flops = 0, bytes = 0;
  int64_t late = 0;   // from a loop's begin to a thread's first task; all of it without a task
  int64_t waited = 0; // from a thread's last task to the loop's end
};

struct Table {
  std::string label;
  int64_t calls = 0, time = 0;
  std::map<std::string, Row> rows;
};

struct Idle {
  int64_t late, waited;
};

/// Idle time of each loop, over all threads.
std::vector<Idle> idleTimes(const ProfileRecord &record) {
  std::vector<Idle> idle;
  auto workers = static_cast<int64_t>(record.shares.size());
  for (const LoopRecord &loop : record.loops)
    idle.push_back(
        {loop.onDevice ? 0 : workers * (loop.end - loop.begin), loop.end - loop.busyEnd});
  for (const auto &shares : record.shares)
    for (const ShareRecord &share : shares) {
      const LoopRecord &loop = record.loops[share.loop];
      idle[share.loop].late -= loop.end - share.begin;
      idle[share.loop].waited += loop.end - share.end;
    }
  return idle;
}

/// The scopes that hold no other scope, by label in the order of their first begin, and the loops
/// inside them.
std::vector<Table> tables(const ProfileRecord &record) {
  std::vector<ScopeRecord> scopes = record.scopes;
  std::sort(scopes.begin(), scopes.end(),
            [](const ScopeRecord &a, const ScopeRecord &b) { return a.begin < b.begin; });
  std::vector<Idle> idle = idleTimes(record);
  std::vector<Table> result;
  size_t loop = 0;
  for (const ScopeRecord &scope : scopes) {
    auto table = std::find_if(result.begin(), result.end(),
                              [&](const Table &t) { return t.label == scope.label; });
    if (table == result.end()) {
      table = result.emplace(result.end());
      table->label = scope.label;
    }
    ++table->calls;
    table->time += scope.end - scope.begin;
    while (loop < record.loops.size() && record.loops[loop].begin < scope.begin)
      ++loop;
    for (; loop < record.loops.size() && record.loops[loop].end <= scope.end; ++loop) {
      const LoopRecord &item = record.loops[loop];
      Row &row = table->rows[item.work->label];
      row.label = item.work->label;
      ++row.calls;
      row.time += item.end - item.begin;
      row.flops += flopsOf(item);
      row.bytes += bytesOf(item);
      row.late += idle[loop].late;
      row.waited += idle[loop].waited;
    }
  }
  return result;
}

double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * double(part) / double(whole) : 0;
}

std::string rate(int64_t amount, int64_t time) {
  return amount == 0 ? ""
                     : formatted("{:.1f}", double(amount) / double(std::max<int64_t>(time, 1)));
}

std::string rowText(const Row &row, int64_t whole, size_t threads) {
  int64_t threadTime = row.time * static_cast<int64_t>(threads);
  return formatted("{:10.3f} {:5.1f} % {:7} {:>8} {:>7} {:5.1f} % {:5.1f} %  {}\n",
                   double(row.time) * 1e-6, percent(row.time, whole), row.calls,
                   rate(row.flops, row.time), rate(row.bytes, row.time),
                   percent(row.late, threadTime), percent(row.waited, threadTime), row.label);
}

} // namespace

std::string summaryText(const ProfileRecord &record) {
  std::string text;
  for (const Table &table : tables(record)) {
    text += formatted("{}: {} x, {:.3f} ms, {} threads\n", table.label, table.calls,
                      double(table.time) * 1e-6, record.threads());
    if (table.rows.empty())
      continue;
    text += formatted("{:>10} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7}  {}\n", "ms", "share", "calls",
                      "GFLOP/s", "GB/s", "late", "waited", "work");
    std::vector<Row> rows;
    int64_t rest = table.time;
    for (const auto &[label, row] : table.rows) {
      rows.push_back(row);
      rest -= row.time;
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row &a, const Row &b) { return a.time > b.time; });
    for (const Row &row : rows)
      text += rowText(row, table.time, record.threads());
    text += formatted("{:10.3f} {:5.1f} % {:42} between loops\n", double(rest) * 1e-6,
                      percent(rest, table.time), "");
  }
  return text;
}

} // namespace transformer::runtime
