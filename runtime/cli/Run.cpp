//===- Run.cpp - the subcommand run ---------------------------------------===//
#include "runtime/base/Error.h"
#include "runtime/cli/Session.h"
#include "runtime/cli/StateOptions.h"
#include "runtime/files/TensorFiles.h"

namespace transformer::runtime {
namespace {

struct RunOptions {
  std::vector<std::string> inputs, outputs;
  std::string entry = "forward";
  StateOptions state;
};

void run(const Session &session, const RunOptions &options) {
  const EntryInfo &entry = session.module->entry(options.entry);
  std::vector<std::string> names;
  for (const OutputInfo &output : entry.outputs)
    names.push_back(output.name);
  checkOutputSpecs(options.outputs, names);
  if (options.outputs.empty() && !names.empty())
    fail("--outputs is required\ntry {} run --help", session.name);
  State state = openState(*session.module, entry, options.state);
  TensorMap inputs = readTensors(options.inputs);
  Program program = session.openProgram();
  writeTensors(options.outputs, program.run(options.entry, std::move(inputs), &state));
  if (!options.state.output.empty())
    state.save(options.state.output);
}

} // namespace

void addRun(CLI::App &app, Session &session) {
  CLI::App *command = app.add_subcommand("run", "Run the model on tensors in files");
  auto options = std::make_shared<RunOptions>();
  addWeights(*command, session);
  command
      ->add_option("--inputs,-i", options->inputs,
                   "A safetensors file, or NAME=FILE.npy; may be repeated")
      ->required()
      ->take_all();
  command
      ->add_option("--outputs,-o", options->outputs,
                   "A safetensors file for all, or NAME=FILE.npy for one; may be repeated")
      ->take_all();
  addStateOptions(*command, options->state, /*saves=*/true);
  command->add_option("--entry", options->entry, "The entry point")->capture_default_str();
  command->callback(
      [&session, options] { session.command = [&session, options] { run(session, *options); }; });
}

} // namespace transformer::runtime
