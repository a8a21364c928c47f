//===- TextFile.cpp - the lines of a file as tokens -----------------------===//
#include "runtime/train/TextFile.h"

#include "runtime/base/Error.h"
#include "runtime/base/Memory.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/text/Utf8.h"

#include <exception>
#include <mutex>

namespace transformer::runtime {
namespace {

constexpr size_t partBytes = size_t(1) << 18; // of work for one thread

bool isBlank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

/// Calls visit(line) for each line, without its end.
template <typename Visit> void eachLine(std::string_view text, Visit visit) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    visit(line);
    begin = end + 1;
  }
}

/// Whole lines, together about partBytes long.
std::vector<std::string_view> partsOf(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = text.find('\n', std::min(partBytes, text.size()));
    parts.push_back(text.substr(0, end == std::string_view::npos ? end : end + 1));
    text.remove_prefix(parts.back().size());
  }
  return parts;
}

} // namespace

void Examples::add(const Example &example) {
  ids.add(example.ids);
  types.add(example.types);
  targets.add(example.target);
  labels.push_back(example.label);
  numCut += example.isCut;
}

void Examples::append(const Examples &other) {
  ids.append(other.ids);
  types.append(other.types);
  targets.append(other.targets);
  labels.insert(labels.end(), other.labels.begin(), other.labels.end());
  numCut += other.numCut;
}

Examples readExamples(const std::string &path,
                      const std::function<Example(std::string_view line)> &make,
                      const LoadProgress &progress) {
  MappedFile file(path);
  std::string_view text = file.text();
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3); // the mark that some editors begin files with
  std::vector<std::string_view> parts = partsOf(text);
  std::vector<Examples> found(parts.size());
  std::vector<std::exception_ptr> problems(parts.size());
  std::mutex mutex;
  size_t doneBytes = 0;
  auto read = [&](std::string_view line, Examples &examples) {
    try {
      if (!isUtf8(line))
        fail("not UTF-8");
      if (isBlank(line))
        return;
      Example example = make(line);
      if (!example.ids.empty())
        examples.add(example);
    } catch (const Error &problem) {
      auto number = 1 + std::count(text.data(), line.data(), '\n');
      fail("{}: line {}: {}", path, number, problem.what());
    }
  };
  parallelFor(int64_t(parts.size()), [&](int64_t i) {
    try {
      eachLine(parts[size_t(i)], [&](std::string_view line) { read(line, found[size_t(i)]); });
    } catch (...) {
      problems[size_t(i)] = std::current_exception();
    }
    std::lock_guard lock(mutex);
    doneBytes += parts[size_t(i)].size();
    progress(double(doneBytes) / double(text.size()));
  });
  for (const std::exception_ptr &problem : problems)
    if (problem)
      std::rethrow_exception(problem);
  file.checkUnchanged();
  Examples all;
  for (Examples &part : found) {
    all.append(part);
    part = {};
  }
  return all;
}

} // namespace transformer::runtime
