//===- Session.cpp - what all subcommands share ---------------------------===//
#include "runtime/cli/Session.h"

#include "runtime/base/Error.h"
#include "runtime/base/Path.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/text/TokenizerFileNames.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace transformer::runtime {

std::optional<Checkpoint> Session::findWeights() const {
  if (!weights.empty())
    return Checkpoint::open(weights);
  if (auto embedded = findEmbeddedWeights(image))
    return Checkpoint::openEmbedded(image, *embedded);
  return std::nullopt;
}

Checkpoint Session::openWeights() const {
  if (auto found = findWeights())
    return std::move(*found);
  if (module->description().parameters.empty())
    return {};
  fail("no weights: give --weights model.safetensors (or its folder)");
}

Program Session::openProgram(std::optional<Seed> seed, int gpu) const {
  Checkpoint checkpoint = seed && weights.empty() ? Checkpoint() : openWeights();
  Program program(*module, Program::openDevice(*module, gpu), std::move(checkpoint), packedWeights,
                  seed);
  if (!program.notice().empty())
    std::fputs((program.notice() + "\n").c_str(), stderr);
  return program;
}

GenerationConfig Session::findGenerationConfig(const std::vector<std::string> &folders) const {
  for (const std::string &folder : folders)
    if (std::optional<GenerationConfig> found = GenerationConfig::find(folder))
      return *found;
  const std::optional<GenerationInfo> &own = module->description().generation;
  return own ? GenerationConfig::parseFile(own->file, name + ": " + own->file, own->text)
             : GenerationConfig();
}

Tokenizer Session::openTokenizer() const {
  if (!tokenizer.empty())
    return Tokenizer::open(tokenizer);
  const std::string &own = module->description().tokenizer;
  if (!own.empty())
    return Tokenizer::parse(name + ": tokenizer", own);
  if (weights.empty())
    fail("no tokenizer: give --tokenizer tokenizer.json (or vocab.txt, a SentencePiece model, or "
         "their folder)");
  std::string folder = isDirectory(weights) ? weights : parentFolder(weights);
  if (!Tokenizer::isIn(folder))
    fail("{}: no {} beside the weights: give --tokenizer", folder, tokenizerFileList);
  return Tokenizer::open(folder);
}

void addWeights(CLI::App &app, Session &session) {
  app.add_option("--weights,-w", session.weights,
                 "model.safetensors, an index of shards, or the folder of either "
                 "(default: the embedded weights)");
  app.add_option("--packed-weights", session.packedWeights,
                 "A file that keeps the packed weights for a faster start; made when it is missing "
                 "or belongs to another program or other weights");
}

void addTokenizer(CLI::App &app, Session &session) {
  app.add_option("--tokenizer", session.tokenizer,
                 "tokenizer.json, vocab.txt, a SentencePiece model or their folder "
                 "(default: the embedded one, then the weights' folder)");
}

/// All that comes from a file or, once somebody writes to it, from a pipe.
static std::string readStream(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "rbe");
  if (!file)
    fail("{}: cannot open: {}", path, std::strerror(errno));
  std::string text;
  char block[1 << 16];
  errno = 0;
  while (size_t count = std::fread(block, 1, sizeof(block), file))
    text.append(block, count);
  bool failed = std::ferror(file) != 0;
  int problem = errno;
  std::fclose(file);
  if (failed)
    fail("{}: cannot read: {}", path, std::strerror(problem));
  return text;
}

std::vector<std::string> readLines(const std::string &path) {
  std::string text = readStream(path == "-" ? "/dev/stdin" : path);
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    size_t length = end - start;
    if (length > 0 && text[end - 1] == '\r')
      --length;
    lines.push_back(text.substr(start, length));
    start = end + 1;
  }
  return lines;
}

void writeOut(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail("standard output: cannot write: {}", std::strerror(errno));
}

} // namespace transformer::runtime
