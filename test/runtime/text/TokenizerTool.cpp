//===- TokenizerTool.cpp - a tokenizer without a model --------------------===//
//
// For comparisons (tokenizer_types.py). Standard input and output are records: a
// length in bytes (32 bits), then so many bytes. A record is a text, or ids of 32
// bits each.
//
// usage: tokenizer_tool TOKENIZER encode|pairs|decode|stream [TIMES]
//   encode   a text to ids           decode   ids to a text
//   pairs    two texts to ids        stream   the same, id by id
//   TIMES    how often (1)
// On stderr: seconds of the fastest time and of opening the tokenizer, peak memory in MB.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Error.h"
#include "runtime/text/TextStream.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <sys/resource.h>

using namespace transformer::runtime;

namespace {

using Records = std::vector<std::string>;

Records readRecords() {
  Records records;
  uint32_t size;
  while (std::fread(&size, sizeof(size), 1, stdin) == 1) {
    std::string &record = records.emplace_back(size, '\0');
    if (std::fread(record.data(), 1, size, stdin) != size)
      fail("standard input ends within a record");
  }
  return records;
}

void writeRecord(const std::string &record) {
  auto size = static_cast<uint32_t>(record.size());
  std::fwrite(&size, sizeof(size), 1, stdout);
  std::fwrite(record.data(), 1, size, stdout);
}

std::string toRecord(const std::vector<int64_t> &ids) {
  std::vector<int32_t> narrow(ids.begin(), ids.end());
  return {reinterpret_cast<const char *>(narrow.data()), narrow.size() * sizeof(int32_t)};
}

std::vector<int64_t> toIds(const std::string &record) {
  std::vector<int32_t> narrow(record.size() / sizeof(int32_t));
  if (!narrow.empty())
    std::memcpy(narrow.data(), record.data(), narrow.size() * sizeof(int32_t));
  return {narrow.begin(), narrow.end()};
}

std::string streamed(const Tokenizer &tokenizer, const std::vector<int64_t> &ids) {
  TextStream stream(tokenizer);
  std::string text;
  for (int64_t id : ids)
    text += stream.add(id);
  return text + stream.finish();
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

Records convert(const Tokenizer &tokenizer, const std::string &what, const Records &records) {
  Records results;
  results.reserve(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    if (what == "encode")
      results.push_back(toRecord(tokenizer.encode(records[i]).ids));
    else if (what == "pairs" && i + 1 < records.size())
      results.push_back(toRecord(tokenizer.encodePair(records[i], records[i + 1]).ids)), ++i;
    else if (what == "decode")
      results.push_back(tokenizer.decode(toIds(records[i])));
    else if (what == "stream")
      results.push_back(streamed(tokenizer, toIds(records[i])));
  }
  return results;
}

} // namespace

int main(int argc, char **argv) try {
  if (argc < 3)
    fail("usage: tokenizer_tool TOKENIZER encode|pairs|decode|stream [TIMES]");
  auto begin = std::chrono::steady_clock::now();
  Tokenizer tokenizer = Tokenizer::open(argv[1]);
  double opened = secondsSince(begin);
  Records records = readRecords(), results;
  double best = std::numeric_limits<double>::infinity();
  for (int times = argc > 3 ? std::atoi(argv[3]) : 1; times > 0; --times) {
    auto start = std::chrono::steady_clock::now();
    results = convert(tokenizer, argv[2], records);
    best = std::min(best, secondsSince(start));
  }
  for (const std::string &result : results)
    writeRecord(result);
  std::fprintf(stderr, "%.6f %.6f %.1f\n", best, opened, peakMegabytes());
  return 0;
} catch (const Error &error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
