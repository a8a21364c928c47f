//===- Embed.cpp - the subcommand embed -----------------------------------===//
#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/base/Path.h"
#include "runtime/cli/Session.h"
#include "runtime/files/Npy.h"
#include "runtime/files/Safetensors.h"
#include "runtime/files/TensorFiles.h"
#include "runtime/profile/Profile.h"
#include "runtime/text/Embedder.h"

#include <chrono>
#include <cstdio>

namespace transformer::runtime {
namespace {

struct EmbedOptions {
  std::vector<std::string> texts, queries;
  std::string file, outputs;
  int64_t top = 5;
};

/// {"text": "...", "embedding": [...]} a line.
std::string jsonLines(const std::vector<std::string> &texts, const Tensor &vectors) {
  ProfileScope scope("write vectors");
  std::string result;
  int64_t width = vectors.shape()[1];
  for (size_t i = 0; i < texts.size(); ++i) {
    const float *row = vectors.data<float>() + static_cast<int64_t>(i) * width;
    result += formatted("{{\"text\": {}, \"embedding\": [{}]}}\n", jsonText(texts[i]),
                        fmt::join(row, row + width, ", "));
  }
  return result;
}

std::string rankings(const EmbedOptions &options, const std::vector<std::string> &texts,
                     const Tensor &vectors, const Tensor &queries) {
  std::string result;
  for (size_t i = 0; i < options.queries.size(); ++i) {
    if (options.queries.size() > 1)
      result += formatted("{}{}\n", i ? "\n" : "", options.queries[i]);
    const float *query = queries.data<float>() + static_cast<int64_t>(i) * queries.shape()[1];
    for (const Match &match : rank(vectors, query, static_cast<size_t>(options.top)))
      result += formatted("{:.4f}  {}\n", match.score, texts[match.index]);
  }
  return result;
}

void writeVectors(const std::string &path, Tensor vectors) {
  ProfileScope scope("write vectors");
  if (path.size() > 4 && path.compare(path.size() - 4, 4, ".npy") == 0) {
    writeNpy(path, vectors);
  } else {
    TensorMap tensors;
    tensors["embeddings"] = std::move(vectors);
    writeSafetensors(path, tensors);
  }
}

void embed(const Session &session, const EmbedOptions &options) {
  std::vector<std::string> texts = options.texts;
  if (!options.file.empty())
    for (std::string &line : readLines(options.file))
      texts.push_back(std::move(line));
  if (texts.empty())
    fail("no texts: give --text \"...\" or --file lines.txt");
  if (!options.outputs.empty())
    checkFolder(options.outputs);
  Tokenizer tokenizer = session.openTokenizer();
  Program program = session.openProgram();
  Embedder embedder(program, tokenizer);
  auto start = std::chrono::steady_clock::now();
  Tensor vectors = embedder.embed(texts);
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (!options.queries.empty())
    writeOut(rankings(options, texts, vectors, embedder.embed(options.queries)));
  else if (options.outputs.empty())
    writeOut(jsonLines(texts, vectors));
  if (!options.outputs.empty())
    writeVectors(options.outputs, std::move(vectors));
  std::fputs(formatted("{} sentences in {:.3f} s: {:.1f} sentences/second\n", texts.size(),
                       time.count(), double(texts.size()) / std::max(time.count(), 1e-9))
                 .c_str(),
             stderr);
}

} // namespace

void addEmbed(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand("embed", "Sentence vectors, or a search by similarity");
  auto options = std::make_shared<EmbedOptions>();
  addWeights(*command, session);
  addTokenizer(*command, session);
  command->add_option("--text", options->texts, "A text; may be repeated")->take_all();
  command->add_option("--file", options->file, "A text a line; - is standard input");
  command->add_option("--outputs,-o", options->outputs,
                      "Write the vectors [texts, width] to FILE.npy, or to a safetensors file as "
                      "\"embeddings\" (default: JSON lines on standard output)");
  command
      ->add_option("--query", options->queries,
                   "Print the texts most similar to this one; may be repeated")
      ->take_all();
  command->add_option("--top-k", options->top, "How many of them")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  command->callback(
      [&session, options] { session.command = [&session, options] { embed(session, *options); }; });
}

} // namespace transformer::runtime
