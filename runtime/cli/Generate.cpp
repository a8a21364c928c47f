//===- Generate.cpp - the subcommand generate -----------------------------===//
#include "runtime/base/Error.h"
#include "runtime/cli/BatchOptions.h"
#include "runtime/cli/GenerateLines.h"
#include "runtime/cli/Session.h"
#include "runtime/files/TensorFiles.h"
#include "runtime/generate/Generator.h"
#include "runtime/generate/PromptBatch.h"
#include "runtime/generate/StopStringFilter.h"
#include "runtime/text/TextStream.h"

#include <chrono>
#include <cstdio>

namespace transformer::runtime {
namespace {

/// A field of generation_config.json that the command line sets.
struct ConfigOption {
  const char *option, *name, *help;
  enum { Integer, Number, Flag } kind;
};

constexpr ConfigOption fields[] = {
    {"--max-new-tokens", "max_new_tokens", "Tokens to generate at most", ConfigOption::Integer},
    {"--min-new-tokens", "min_new_tokens", "And at least", ConfigOption::Integer},
    {"--num-beams", "num_beams", "Beam search with so many beams", ConfigOption::Integer},
    {"--num-return-sequences", "num_return_sequences", "Sequences a prompt", ConfigOption::Integer},
    {"--length-penalty", "length_penalty", "Beams: scores are divided by length to this power",
     ConfigOption::Number},
    {"--early-stopping", "early_stopping", "Beams: ends when there are enough sequences",
     ConfigOption::Flag},
    {"--do-sample", "do_sample", "Draw tokens by their probabilities", ConfigOption::Flag},
    {"--temperature", "temperature", "Sampling: scores are divided by it", ConfigOption::Number},
    {"--top-k", "top_k", "Sampling: of the K most likely tokens; 0: of all", ConfigOption::Integer},
    {"--top-p", "top_p", "Sampling: of the most likely tokens that have this probability together",
     ConfigOption::Number},
    {"--min-p", "min_p", "Sampling: of tokens at least so likely, beside the likeliest",
     ConfigOption::Number},
    {"--typical-p", "typical_p", "Sampling: of the most typical tokens with this probability",
     ConfigOption::Number},
    {"--seed", "seed", "Sampling: the seed of the random numbers", ConfigOption::Integer},
    {"--repetition-penalty", "repetition_penalty", "Divides the scores of tokens that were there",
     ConfigOption::Number},
    {"--no-repeat-ngram-size", "no_repeat_ngram_size", "No so many tokens come twice",
     ConfigOption::Integer},
};

struct GenerateOptions {
  std::vector<std::string> inputs, outputs;
  std::string prompt, file;
  BatchLimits batch;
  std::map<const ConfigOption *, Json> given;
  std::vector<std::string> settings;
  bool chat = false;
};

/// How fast tokens come.
class Statistics {
public:
  explicit Statistics(size_t promptTokens) : promptTokens(promptTokens) {}
  void count() {
    last = Clock::now();
    if (tokens++ == 0)
      first = last;
  }
  std::string line() const {
    auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
    double prefill = seconds(first - start), rest = seconds(last - first);
    return formatted(
        "prompt: {} tokens, {:.1f} tokens/second; first token after {:.1f} ms; then {} "
        "tokens, {:.1f} tokens/second\n",
        promptTokens, double(promptTokens) / std::max(prefill, 1e-9), prefill * 1e3, tokens - 1,
        double(tokens - 1) / std::max(rest, 1e-9));
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now(), first = start, last = start;
  size_t promptTokens, tokens = 0;
};

/// FIELD=VALUE; what is no JSON is a string.
void setField(GenerationConfig &config, const std::string &setting) {
  size_t end = setting.find('=');
  if (end == std::string::npos)
    fail("--set {}: expected FIELD=VALUE, for example num_beams=4", printable(setting));
  std::string field = setting.substr(0, end), value = setting.substr(end + 1);
  Json json = Json::parse(value, nullptr, /*allow_exceptions=*/false);
  config.set("--set " + printable(field), field, json.is_discarded() ? Json(value) : json);
}

GenerationConfig readConfig(const Session &session, const GenerateOptions &options) {
  std::vector<std::string> folders;
  if (!session.weights.empty())
    folders.push_back(session.openWeights().folder());
  GenerationConfig config = session.findGenerationConfig(folders);
  for (const auto &[field, value] : options.given)
    config.set(field->option, field->name, value);
  for (const std::string &setting : options.settings)
    setField(config, setting);
  return config;
}

/// The text that follows a prompt, as it comes; with beams or more than one sequence at the end.
void generateText(Generator &generator, Tokenizer &tokenizer, const GenerationConfig &config,
                  const std::string &text) {
  Prompt prompt = generator.makePrompt(tokenizer.encode(text).ids);
  if (config.numBeams > 1 || config.numReturnSequences > 1) {
    std::vector<std::vector<Hypothesis>> results = generator.generate({&prompt, 1});
    for (const Hypothesis &found : results[0])
      writeOut(newText(tokenizer, prompt, found) + "\n");
    return;
  }
  TextStream stream(tokenizer);
  StopStringFilter filter(config.stopStrings);
  Statistics statistics(prompt.source.size());
  generator.generate({&prompt, 1}, {.token = [&](int64_t, int64_t, int64_t token) {
                       statistics.count();
                       writeOut(filter.put(stream.add(token)));
                     }});
  writeOut(filter.put(stream.finish()) + filter.finish() + "\n");
  std::fputs(statistics.line().c_str(), stderr);
}

/// --prompt and --file.
void generateTexts(const Session &session, const GenerateOptions &options) {
  std::vector<std::string> lines;
  if (!options.file.empty())
    lines = readLines(options.file);
  GenerationConfig config = readConfig(session, options);
  Tokenizer tokenizer = session.openTokenizer();
  Program program = session.openProgram();
  TokenBytes bytes = [&](int64_t id) -> std::string_view {
    const std::string *token = tokenizer.token(id, /*skipSpecial=*/false);
    return token ? std::string_view(*token) : std::string_view();
  };
  Generator generator(program, config, options.batch, bytes);
  if (options.file.empty())
    generateText(generator, tokenizer, config, options.prompt);
  else if (!lines.empty())
    generateLines(generator, tokenizer, lines);
}

void generateTensors(const Session &session, const GenerateOptions &options) {
  checkOutputSpecs(options.outputs, {"sequences"});
  GenerationConfig config = readConfig(session, options);
  PromptBatch batch(readTensors(options.inputs), config, Sources::exist(*session.module),
                    Sources::features(*session.module), Sources::padding(*session.module));
  Program program = session.openProgram();
  config = batch.withNewTokens(config, StepModel(program).maxPositions());
  Generator generator(program, config, options.batch);
  TensorMap outputs;
  outputs["sequences"] = batch.sequences(generator.generate(batch.prompts()), config.fillToken());
  writeTensors(options.outputs, outputs);
}

void generate(const Session &session, const GenerateOptions &options) {
  if (options.chat)
    fail("--chat: chat templates (the field chat_template of tokenizer_config.json) are not "
         "supported: give the text that the template makes with --prompt");
  bool tensors = !options.inputs.empty();
  if (int(tensors) + int(!options.prompt.empty()) + int(!options.file.empty()) != 1)
    fail("expected one of --prompt TEXT, --file FILE and --inputs FILE --outputs FILE\n"
         "try {} generate --help",
         session.name);
  if (tensors == options.outputs.empty())
    fail("--outputs {}\ntry {} generate --help",
         tensors ? "is required with --inputs" : "goes with --inputs only", session.name);
  tensors ? generateTensors(session, options) : generateTexts(session, options);
}

void addField(CLI::App &command, const ConfigOption &field, GenerateOptions &options) {
  switch (field.kind) {
  case ConfigOption::Integer:
    command.add_option_function<int64_t>(
        field.option, [&](int64_t value) { options.given[&field] = value; }, field.help);
    break;
  case ConfigOption::Number:
    command.add_option_function<double>(
        field.option, [&](double value) { options.given[&field] = value; }, field.help);
    break;
  case ConfigOption::Flag:
    command.add_flag_callback(field.option, [&] { options.given[&field] = true; }, field.help);
    break;
  }
}

} // namespace

void addGenerate(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand(
      "generate", "Continue prompts, a text or tokens, or with an encoder-decoder answer them; "
                  "what is not given here is taken from the generation_config.json beside the "
                  "weights, or that of the checkpoint which was compiled");
  auto options = std::make_shared<GenerateOptions>();
  addWeights(*command, session);
  addTokenizer(*command, session);
  command->add_option("--prompt", options->prompt,
                      "A text; what comes of it is printed, then to stderr how fast");
  command->add_option("--file,-f", options->file,
                      "A prompt a line (-: standard input); printed is a JSON object a line, "
                      "{\"prompt\": ..., \"sequences\": [...]}");
  command
      ->add_option(
          "--inputs,-i", options->inputs,
          "input_ids and attention_mask (of Whisper input_features), for an encoder-decoder also "
          "decoder_input_ids: a safetensors file, or NAME=FILE.npy")
      ->take_all();
  command
      ->add_option("--outputs,-o", options->outputs,
                   "sequences, which begin with what they continue: a safetensors file, or "
                   "sequences=FILE.npy")
      ->take_all();
  addBatchOptions(*command, options->batch);
  for (const ConfigOption &field : fields)
    addField(*command, field, *options);
  command
      ->add_option("--set", options->settings,
                   "FIELD=VALUE: any field of a generation_config.json, for example "
                   "bad_words_ids=[[5],[7,9]] or early_stopping=never")
      ->take_all();
  command->add_flag("--chat", options->chat, "Not supported: templates have to be applied before");
  command->callback([&session, options] {
    session.command = [&session, options] { generate(session, *options); };
  });
}

} // namespace transformer::runtime
