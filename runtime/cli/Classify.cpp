//===- Classify.cpp - the subcommand classify -----------------------------===//
#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/cli/ModelFiles.h"
#include "runtime/cli/Session.h"
#include "runtime/text/TextBatches.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace transformer::runtime {
namespace {

struct ClassifyOptions {
  std::vector<std::string> texts;
  std::string file;
};

struct Answer {
  int64_t label = 0;
  float score = 0;
};

/// The index of the output logits [batch, classes] of an entry that takes input_ids.
size_t findLogits(const Module &module, const EntryInfo &entry) {
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    const OutputInfo &output = entry.outputs[i];
    if (output.name == "logits" && output.shape.size() == 2 && output.shape[1].size > 1 &&
        output.dtype == DataType::F32 && entry.findInput("input_ids"))
      return i;
  }
  fail("{}: classify needs a classifier of texts: input_ids, and logits [batch, 2 or more classes]",
       module.path());
}

/// As training takes lines: a text, or two with a TAB between them; cut to what the model takes.
std::vector<Encoding> encode(const Tokenizer &tokenizer, const std::vector<std::string> &texts,
                             const EntryInfo &entry, const std::string &folder) {
  std::optional<int64_t> most;
  for (std::optional<int64_t> known :
       {entry.findInput("input_ids")->maxLength, tokenizer.maxLength(), readMaxLength(folder)})
    if (known)
      most = std::min(*known, most.value_or(*known));
  std::vector<Encoding> encodings;
  for (const std::string &text : texts) {
    size_t tab = text.find('\t');
    encodings.push_back(
        tab == std::string::npos
            ? tokenizer.encode(text, most)
            : tokenizer.encodePair(text.substr(0, tab), text.substr(tab + 1), most));
    if (encodings.back().ids.empty())
      fail("text {} has no tokens: \"{}\"", encodings.size(), printable(text, 40));
  }
  return encodings;
}

/// The likeliest class, and its share of the softmax.
Answer answerOf(const float *logits, int64_t classes) {
  const float *best = std::max_element(logits, logits + classes);
  double sum = 0;
  for (int64_t i = 0; i < classes; ++i)
    sum += std::exp(double(logits[i]) - double(*best));
  return {best - logits, float(1 / sum)};
}

/// By number; "LABEL_3", as transformers has it, where the configuration has no name.
std::string className(const std::map<std::string, int64_t> &classes, int64_t label) {
  for (const auto &[name, number] : classes)
    if (number == label)
      return name;
  return formatted("LABEL_{}", label);
}

void classify(const Session &session, const ClassifyOptions &options) {
  std::vector<std::string> texts = options.texts;
  if (!options.file.empty())
    for (std::string &line : readLines(options.file))
      texts.push_back(std::move(line));
  if (texts.empty())
    fail("no texts: give --text \"...\" or --file lines.txt");
  const EntryInfo &entry = session.module->entry("forward");
  size_t output = findLogits(*session.module, entry);
  Tokenizer tokenizer = session.openTokenizer();
  Program program = session.openProgram();
  const std::string &folder = program.weights().folder();
  if (std::string type = readProblemType(folder);
      !type.empty() && type != "single_label_classification")
    fail("{}/config.json: classify gives one class a text; problem_type is {}", folder,
         printable(type, 40));
  auto start = std::chrono::steady_clock::now();
  std::vector<Answer> answers(texts.size());
  runInBatches(program, entry, encode(tokenizer, texts, entry, folder), tokenizer.padId(),
               [&](const Call &call, std::span<const size_t> rows) {
                 const Tensor &logits = call.outputs[output];
                 int64_t classes = logits.shape()[1];
                 for (size_t i = 0; i < rows.size(); ++i)
                   answers[rows[i]] =
                       answerOf(logits.data<float>() + int64_t(i) * classes, classes);
               });
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::map<std::string, int64_t> classes = readClasses(folder);
  std::string lines;
  for (size_t i = 0; i < texts.size(); ++i)
    lines += formatted("{{\"text\": {}, \"label\": {}, \"score\": {}}}\n", jsonText(texts[i]),
                       jsonText(className(classes, answers[i].label)), answers[i].score);
  writeOut(lines);
  std::fputs(formatted("{} texts in {:.3f} s: {:.1f} texts/second\n", texts.size(), time.count(),
                       double(texts.size()) / std::max(time.count(), 1e-9))
                 .c_str(),
             stderr);
}

} // namespace

void addClassify(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand("classify", "The class of each text, as JSON lines");
  auto options = std::make_shared<ClassifyOptions>();
  addWeights(*command, session);
  addTokenizer(*command, session);
  command
      ->add_option("--text", options->texts,
                   "A text, or two with a TAB between them; may be repeated")
      ->take_all();
  command->add_option("--file", options->file, "Such a text a line; - is standard input");
  command->callback([&session, options] {
    session.command = [&session, options] { classify(session, *options); };
  });
}

} // namespace transformer::runtime
