//===- Bench.cpp - the subcommand bench -----------------------------------===//
#include "runtime/profile/Bench.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Error.h"
#include "runtime/base/Path.h"
#include "runtime/cli/BatchOptions.h"
#include "runtime/cli/Session.h"
#include "runtime/cli/StateOptions.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/files/TensorFiles.h"
#include "runtime/profile/BenchGeneration.h"
#include "runtime/train/Trainer.h"

#include <cstdio>
#include <fmt/ranges.h>
#include <optional>

namespace transformer::runtime {
namespace {

struct BenchOptions {
  std::string shape, entry, jsonPath;
  std::vector<int64_t> lengths, newTokens;
  std::vector<std::string> inputs;
  int64_t numBeams = 1;
  BatchLimits batch;
  int repeat = 10;
  bool json = false;
  StateOptions state;
};

/// "8x128" is eight lengths of 128.
std::vector<int64_t> parseShape(const std::string &text) {
  long long rows = 0, columns = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%lldx%lld%n", &rows, &columns, &used) != 2 ||
      static_cast<size_t>(used) != text.size() || rows < 1 || columns < 1 || rows > 1 << 20 ||
      columns > 1 << 24)
    fail("--shape {}: expected BATCHxSEQUENCE, for example 8x128", printable(text, 40));
  return std::vector<int64_t>(static_cast<size_t>(rows), columns);
}

/// A JSON object to where --json says, else text.
void report(const BenchOptions &options, const std::string &object, const std::string &text) {
  if (options.json && options.jsonPath.empty()) {
    writeOut(object);
    return;
  }
  if (options.json) {
    AtomicFile file(options.jsonPath);
    file.write(object);
    file.commit();
  }
  writeOut(text);
}

void runGeneration(const Session &session, const BenchOptions &options,
                   const std::vector<int64_t> &lengths) {
  if (!options.inputs.empty() || !options.entry.empty())
    fail("--new-tokens goes with --shape or --lengths, not with --inputs or --entry");
  Program program = session.openProgram();
  GenerationTimes times = benchGeneration(
      program, {lengths, options.newTokens, options.numBeams, options.batch}, options.repeat);
  double perSecond = double(times.tokens) / times.medianMs * 1e3;
  std::string object =
      formatted("{{\"median_ms\": {:.4f}, \"min_ms\": {:.4f}, \"max_ms\": {:.4f}, \"tokens\": {}, "
                "\"tokens_per_second\": {:.3f}",
                times.medianMs, times.minMs, times.maxMs, times.tokens, perSecond);
  std::string text =
      formatted("generate, {} prompts, {} beams, {} new tokens, {} threads, {} runs\n"
                "median {:.3f} ms, min {:.3f} ms, max {:.3f} ms, {:.1f} tokens/second\n",
                lengths.size(), options.numBeams, times.tokens, threads(), options.repeat,
                times.medianMs, times.minMs, times.maxMs, perSecond);
  if (options.numBeams == 1) {
    object +=
        formatted(", \"prefill_ms\": {:.4f}, \"decode_tokens_per_second\": {:.3f}, "
                  "\"first_token_ms\": [{:.4f}]",
                  times.prefillMs, times.decodeTokensPerSecond, fmt::join(times.firstMs, ", "));
    text += formatted("prompts {:.3f} ms, then {:.1f} tokens/second\n", times.prefillMs,
                      times.decodeTokensPerSecond);
  }
  report(options, object + "}\n", text);
}

void runBench(const Session &session, const BenchOptions &options) {
  int ways = !options.shape.empty() + !options.lengths.empty() + !options.inputs.empty();
  if (ways > 1)
    fail("give one of --shape, --lengths and --inputs");
  if (!options.jsonPath.empty())
    checkFolder(options.jsonPath);
  std::vector<int64_t> lengths = options.lengths;
  if (lengths.empty())
    lengths = parseShape(options.shape.empty() ? "1x128" : options.shape);
  if (!options.newTokens.empty())
    return runGeneration(session, options, lengths);
  if (options.numBeams > 1)
    fail("--num-beams goes with --new-tokens");
  std::string name = options.entry;
  if (name.empty())
    name = Trainer::trains(*session.module) ? Trainer::kEntry : "forward";
  bool trains = name == Trainer::kEntry;
  if (trains && !(options.state.input.empty() && options.state.sizes.empty()))
    fail("a step of training starts from the weights: --state-in and --size are not for it");
  const EntryInfo &entry = session.module->entry(name);
  auto inputs = [&] {
    return options.inputs.empty() ? randomInputs(entry, lengths) : readTensors(options.inputs);
  };
  Program program = session.openProgram();
  State state;
  std::optional<Trainer> trainer; // a copy of the weights, which nobody keeps
  if (trains) {
    trainer.emplace(program);
    trainer->step(inputs(), {}); // whose update the next steps may begin with
  } else {
    state = openState(*session.module, entry, options.state);
  }
  Call call = trains ? trainer->prepare(inputs(), {}) : program.prepare(name, inputs(), &state);
  BenchResult result = bench(program, call, options.repeat);
  std::string object = formatted(
      "{{\"median_ms\": {:.4f}, \"min_ms\": {:.4f}, \"max_ms\": {:.4f}, \"tokens\": {}, "
      "\"flops\": {:.0f}, \"gflops\": {:.3f}}}\n",
      result.medianMs, result.minMs, result.maxMs, result.tokens, result.flops, result.gflops);
  std::string shape = call.inputs.empty() ? "" : shapeText(call.inputs[0].shape());
  double perSecond = double(result.tokens) / std::max(result.medianMs, 1e-9) * 1e3;
  report(options, object,
         formatted("{} {}, {} tokens, {} threads, {} runs\n"
                   "median {:.3f} ms, min {:.3f} ms, max {:.3f} ms\n"
                   "{:.0f} tokens/second, {:.1f} GFLOP/s\n",
                   entry.name, shape, result.tokens, threads(), options.repeat, result.medianMs,
                   result.minMs, result.maxMs, perSecond, result.gflops));
}

} // namespace

void addBench(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand("bench", "Time the model on random or given inputs");
  auto options = std::make_shared<BenchOptions>();
  addWeights(*command, session);
  command->add_option("--shape", options->shape, "BATCHxSEQUENCE (default: 1x128)");
  command
      ->add_option("--lengths", options->lengths,
                   "A length a row, separated by commas; padded to the longest")
      ->delimiter(',')
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24));
  command->add_option("--inputs,-i", options->inputs, "A safetensors file, or NAME=FILE.npy")
      ->take_all();
  command
      ->add_option("--new-tokens", options->newTokens,
                   "Time generation: prompts of these lengths are continued by so many tokens, one "
                   "number for all or one a prompt, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(int64_t(2), int64_t(1) << 24));
  command->add_option("--num-beams", options->numBeams, "Beams of each prompt, with --new-tokens")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20));
  addBatchOptions(*command, options->batch);
  command->add_option("--repeat", options->repeat, "Timed runs, after two to warm up")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--entry", options->entry,
                      "The entry point (default: forward; of a training program a step)");
  addStateOptions(*command, options->state, /*saves=*/false);
  CLI::Option *json = command->add_option(
      "--json", options->jsonPath, "Write one JSON object: to FILE, or alone to standard output");
  json->expected(0, 1);
  command->callback([&session, options, json] {
    options->json = json->count() > 0;
    session.command = [&session, options] { runBench(session, *options); };
  });
}

} // namespace transformer::runtime
