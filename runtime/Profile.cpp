//===- Profile.cpp - where the time goes ----------------------------------===//
#include "runtime/Profile.h"

#include "runtime/AtomicFile.h"
#include "runtime/Error.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <vector>

namespace transformer::runtime {

bool detail::profileOn = false;

namespace {

struct Span {
  const char *label;
  const char *layer;
  double begin, end; // microseconds
  int64_t count;     // tasks of the loop, -1 when it is none
};

struct alignas(64) ThreadSpans {
  std::vector<Span> spans;
};

std::vector<ThreadSpans> recorded;
std::chrono::steady_clock::time_point origin;
const char *currentLayer = nullptr; // set by tr_scope; only changes between loops

std::string quoted(const char *text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace

void startProfile(int threads) {
  recorded.assign(static_cast<size_t>(threads), {});
  for (ThreadSpans &thread : recorded)
    thread.spans.reserve(4096);
  origin = std::chrono::steady_clock::now();
  detail::profileOn = true;
}

double profileNow() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - origin)
      .count();
}

void profileSpan(int thread, const char *label, double begin, double end, int64_t count) {
  recorded[static_cast<size_t>(thread)].spans.push_back({label, currentLayer, begin, end, count});
}

ProfileScope::ProfileScope(const char *label)
    : label(label), begin(profiling() ? profileNow() : 0) {}

ProfileScope::~ProfileScope() {
  if (profiling())
    profileSpan(0, label, begin, profileNow(), -1);
}

void writeProfile(const std::string &path) {
  detail::profileOn = false;
  AtomicFile file(path);
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (size_t thread = 0; thread < recorded.size(); ++thread) {
    text += fmt::format("{{\"ph\": \"M\", \"pid\": 1, \"tid\": {}, \"name\": \"thread_name\", "
                        "\"args\": {{\"name\": \"{}\"}}}}",
                        thread, thread == 0 ? "caller" : fmt::format("worker {}", thread));
    for (const Span &span : recorded[thread].spans) {
      text += fmt::format(
          ",\n{{\"ph\": \"X\", \"pid\": 1, \"tid\": {}, \"name\": {}, \"ts\": {:.3f}, "
          "\"dur\": {:.3f}, \"args\": {{",
          thread, quoted(span.label ? span.label : "unnamed"), span.begin, span.end - span.begin);
      if (span.count >= 0)
        text += fmt::format("\"layer\": {}, \"tasks\": {}, \"threads\": {}",
                            quoted(span.layer ? span.layer : ""), span.count, recorded.size());
      text += "}}";
    }
    text += thread + 1 == recorded.size() ? "\n" : ",\n";
    file.write(text);
    text.clear();
  }
  file.write("]}\n");
  file.commit();
}

} // namespace transformer::runtime

extern "C" void tr_scope(const char *name) { transformer::runtime::currentLayer = name; }
