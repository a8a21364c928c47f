//===- GenerateLines.cpp - many prompts on the command line ---------------===//
#include "runtime/cli/GenerateLines.h"

#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/cli/Session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <unistd.h>

namespace transformer::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Results in the order of the lines, and what there is to say of them.
class LineWriter {
public:
  LineWriter(Tokenizer &tokenizer, const std::vector<std::string> &lines,
             const std::vector<Prompt> &prompts)
      : tokenizer(tokenizer), lines(lines), prompts(prompts), first(lines.size()) {}

  void token(int64_t line) {
    if (double &time = first[size_t(line)]; time == 0)
      time = seconds(Clock::now() - start);
  }

  void done(int64_t line, const std::vector<Hypothesis> &found) {
    const Prompt &prompt = prompts[size_t(line)];
    Json sequences = Json::array();
    for (const Hypothesis &one : found) {
      sequences.push_back(newText(tokenizer, prompt, one));
      tokens += one.tokens.size() - prompt.tokens.size();
    }
    ready[line] = jsonText({{"prompt", lines[size_t(line)]}, {"sequences", sequences}}) + "\n";
    for (auto next = ready.find(written); next != ready.end(); next = ready.find(++written)) {
      writeOut(next->second);
      ready.erase(next);
    }
    if (++numDone < lines.size() && isatty(STDERR_FILENO))
      std::fputs(formatted("\r{} of {} prompts, {:.1f} tokens/second ", numDone, lines.size(),
                           double(tokens) / seconds(Clock::now() - start))
                     .c_str(),
                 stderr);
  }

  void finish() {
    double time = seconds(Clock::now() - start);
    std::string text = formatted("{} prompts, {} new tokens in {:.1f} s, {:.1f} tokens/second",
                                 lines.size(), tokens, time, double(tokens) / time);
    std::sort(first.begin(), first.end());
    if (first.front() > 0) // not with beams
      text += formatted("; first token after {:.1f} ms, the last prompt's after {:.1f} ms",
                        first.front() * 1e3, first.back() * 1e3);
    std::fputs(((isatty(STDERR_FILENO) ? "\r" : "") + text + "\n").c_str(), stderr);
  }

private:
  Tokenizer &tokenizer;
  const std::vector<std::string> &lines;
  const std::vector<Prompt> &prompts;
  Clock::time_point start = Clock::now();
  std::vector<double> first; // tokens: seconds
  std::map<int64_t, std::string> ready;
  int64_t written = 0;
  size_t numDone = 0, tokens = 0;
};

} // namespace

std::string newText(Tokenizer &tokenizer, const Prompt &prompt, const Hypothesis &sequence) {
  auto first = sequence.tokens.begin() + std::ptrdiff_t(prompt.tokens.size());
  return tokenizer.decode({first, sequence.tokens.end()});
}

void generateLines(Generator &generator, Tokenizer &tokenizer,
                   const std::vector<std::string> &lines) {
  std::vector<Prompt> prompts;
  for (const std::string &line : lines)
    prompts.push_back(generator.makePrompt(tokenizer.encode(line).ids));
  LineWriter writer(tokenizer, lines, prompts);
  generator.generate(
      prompts, {.token = [&](int64_t line, int64_t, int64_t) { writer.token(line); },
                .done = [&](int64_t line,
                            const std::vector<Hypothesis> &found) { writer.done(line, found); }});
  writer.finish();
}

} // namespace transformer::runtime
