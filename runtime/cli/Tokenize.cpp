//===- Tokenize.cpp - the subcommand tokenize -----------------------------===//
#include "runtime/base/Error.h"
#include "runtime/cli/Session.h"

namespace transformer::runtime {
namespace {

struct TokenizeOptions {
  std::vector<std::string> texts;
  std::string file;
  int64_t maxLength = 0;
};

void tokenize(const Session &session, const TokenizeOptions &options) {
  std::vector<std::string> texts = options.texts;
  if (!options.file.empty())
    for (std::string &line : readLines(options.file))
      texts.push_back(std::move(line));
  Tokenizer tokenizer = session.openTokenizer();
  std::optional<int64_t> limit;
  if (options.maxLength > 0)
    limit = options.maxLength;
  std::string out;
  for (const std::string &text : texts)
    out += formatted("{}\n", fmt::join(tokenizer.encode(text, limit).ids, " "));
  writeOut(out);
}

} // namespace

void addTokenize(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand("tokenize", "Print the ids of texts, a line each");
  auto options = std::make_shared<TokenizeOptions>();
  addWeights(*command, session);
  addTokenizer(*command, session);
  command->add_option("--text", options->texts, "A text; may be repeated")->take_all();
  command->add_option("--file", options->file, "A text a line; - is standard input");
  command->add_option("--max-length", options->maxLength, "Cut to so many ids")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  command->callback([&session, options] {
    session.command = [&session, options] { tokenize(session, *options); };
  });
}

} // namespace transformer::runtime
