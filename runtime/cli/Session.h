//===- Session.h - what all subcommands share -------------------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_SESSION_H
#define TRANSFORMER_RUNTIME_SESSION_H

#include "runtime/execute/Program.h"
#include "runtime/generate/GenerationConfig.h"
#include "runtime/text/Tokenizer.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace transformer::runtime {

/// One invocation of a program: its module, the options that every subcommand has, and the
/// subcommand that was chosen.
struct Session {
  const Module *module = nullptr;
  std::string name;  // of the program
  std::string image; // the file that may have weights at its end

  int threads = 0; // 0: all there are
  std::string profile;
  std::string weights;
  std::string packedWeights;
  std::string tokenizer;
  std::function<void()> command; // what the chosen subcommand does
  int exitCode = 0;              // of a command that ends without an error

  /// The weights given with --weights, else the embedded ones. Throws Error when there are none and
  /// the module has parameters.
  Checkpoint openWeights() const;

  /// The same, or nothing when there are none.
  std::optional<Checkpoint> findWeights() const;

  /// Binds the weights; says on stderr what became of --packed-weights. What they lack is
  /// initialised from `seed`. `gpu` as Program::openDevice has it.
  Program openProgram(std::optional<Seed> seed = {}, int gpu = 0) const;

  /// How to generate: what lies in the first of `folders` that says it, else what the program was
  /// compiled with.
  GenerationConfig findGenerationConfig(const std::vector<std::string> &folders) const;

  /// --tokenizer, else the module's own, else the files beside the weights.
  Tokenizer openTokenizer() const;
};

/// Adds --weights and --packed-weights to a subcommand.
void addWeights(CLI::App &app, Session &session);

/// Adds --tokenizer to a subcommand.
void addTokenizer(CLI::App &app, Session &session);

/// The lines of `path` ("-" or "/dev/stdin": standard input), without line ends.
std::vector<std::string> readLines(const std::string &path);

/// Writes to standard output; throws Error when it is closed or full.
void writeOut(const std::string &text);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_SESSION_H
