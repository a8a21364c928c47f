//===- Tokenize.cpp - the subcommand tokenize -----------------------------===//
#include "runtime/base/Error.h"
#include "runtime/cli/Session.h"

#include <algorithm>
#include <charconv>

namespace transformer::runtime {
namespace {

struct TokenizeOptions {
  std::vector<std::string> texts;
  std::string file;
  int64_t maxLength = 0;
  bool decode = false;
  bool special = false;
};

/// The ids of a line: numbers with white space between them.
std::vector<int64_t> readIds(const std::string &text) {
  std::vector<int64_t> ids;
  const char *at = text.data(), *end = at + text.size();
  auto skip = [&] { at = std::find_if(at, end, [](char c) { return c != ' ' && c != '\t'; }); };
  for (skip(); at != end; skip()) {
    int64_t id;
    auto [next, problem] = std::from_chars(at, end, id);
    if (problem != std::errc() || (next != end && *next != ' ' && *next != '\t'))
      fail("--decode: expected ids with spaces between them, found \"{}\"",
           printable(std::string(at, end), 40));
    ids.push_back(id);
    at = next;
  }
  return ids;
}

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
    if (options.decode)
      out += tokenizer.decode(readIds(text), !options.special) + '\n';
    else
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
  command->add_flag("--decode", options->decode, "Texts are ids: print the text of each");
  command->add_flag("--special", options->special, "With --decode, print special tokens, too");
  command->callback([&session, options] {
    session.command = [&session, options] { tokenize(session, *options); };
  });
}

} // namespace transformer::runtime
