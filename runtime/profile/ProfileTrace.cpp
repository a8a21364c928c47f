//===- ProfileTrace.cpp - a profile as Chrome's trace events --------------===//
#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/profile/ProfileRecord.h"

#include <algorithm>

namespace transformer::runtime {
namespace {

struct Event {
  std::string name, arguments; // arguments: the inside of a JSON object
  int64_t begin, end;
};

/// The shape with each {} replaced by the amount that it stands for.
std::string shapeOf(const LoopRecord &loop) {
  std::string text = loop.work->shape;
  size_t from = 0;
  for (int64_t i = 0; i < loop.work->num_amounts; ++i) {
    size_t place = text.find("{}", from);
    if (place == std::string::npos)
      break;
    std::string amount = std::to_string(loop.amounts[i]);
    text.replace(place, 2, amount);
    from = place + amount.size();
  }
  return text;
}

/// What the spans of a loop have in common.
std::string description(const LoopRecord &loop, size_t thread, int64_t taken) {
  return formatted("\"layer\": {}, \"shape\": {}, \"thread\": {}, \"tasks\": {}, \"taken\": {}",
                   jsonText(loop.layer ? loop.layer : ""), jsonText(shapeOf(loop)), thread,
                   loop.tasks, taken);
}

/// A rate in 1e9 a second, of something a nanosecond.
void addRate(std::string &text, const char *what, const char *unit, int64_t amount,
             const LoopRecord &loop) {
  if (amount != 0)
    text += formatted(", \"{}\": {}, \"{}\": {:.3f}", what, amount, unit,
                      double(amount) / double(std::max<int64_t>(loop.end - loop.begin, 1)));
}

Event eventOfKernel(const LoopRecord &loop) {
  std::string text =
      formatted("\"layer\": {}, \"shape\": {}, \"blocks\": {}",
                jsonText(loop.layer ? loop.layer : ""), jsonText(shapeOf(loop)), loop.tasks);
  addRate(text, "flops", "gflops_per_second", flopsOf(loop), loop);
  addRate(text, "bytes", "gb_per_second", bytesOf(loop), loop);
  return {loop.work->label, text, loop.begin, loop.end};
}

Event eventOf(const LoopRecord &loop, size_t threads) {
  std::string text = description(loop, 0, loop.taken);
  text += formatted(", \"threads\": {}, \"waited_us\": {:.3f}", threads,
                    double(loop.end - loop.busyEnd) * 1e-3);
  addRate(text, "flops", "gflops_per_second", flopsOf(loop), loop);
  addRate(text, "bytes", "gb_per_second", bytesOf(loop), loop);
  return {loop.work->label, text, loop.begin, loop.end};
}

void writeThread(std::string &text, size_t thread, const std::string &name,
                 std::vector<Event> events) {
  // Outer spans before inner ones that begin with them.
  std::stable_sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  text += formatted("{}{{\"ph\": \"M\", \"pid\": 1, \"tid\": {}, \"name\": \"thread_name\", "
                    "\"args\": {{\"name\": \"{}\"}}}}",
                    thread == 0 ? "" : ",\n", thread, name);
  for (const Event &event : events) {
    int64_t duration = event.end - event.begin;
    text += formatted(",\n{{\"ph\": \"X\", \"pid\": 1, \"tid\": {}, \"name\": {}, "
                      "\"ts\": {}.{:03}, \"dur\": {}.{:03}, \"args\": {{{}}}}}",
                      thread, jsonText(event.name), event.begin / 1000, event.begin % 1000,
                      duration / 1000, duration % 1000, event.arguments);
  }
}

} // namespace

std::string traceText(const ProfileRecord &record) {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  std::vector<Event> events;
  for (const ScopeRecord &scope : record.scopes)
    events.push_back({scope.label, "", scope.begin, scope.end});
  std::vector<Event> kernels;
  for (const LoopRecord &loop : record.loops)
    if (loop.onDevice)
      kernels.push_back(eventOfKernel(loop));
    else
      events.push_back(eventOf(loop, record.threads()));
  writeThread(text, 0, "caller", std::move(events));
  for (size_t thread = 1; thread < record.threads(); ++thread) {
    events.clear();
    for (const ShareRecord &share : record.shares[thread - 1]) {
      const LoopRecord &loop = record.loops[share.loop];
      events.push_back(
          {loop.work->label, description(loop, thread, share.tasks), share.begin, share.end});
    }
    writeThread(text, thread, formatted("worker {}", thread), std::move(events));
  }
  if (!kernels.empty())
    writeThread(text, record.threads(), "GPU", std::move(kernels));
  return text + "\n]}\n";
}

} // namespace transformer::runtime
