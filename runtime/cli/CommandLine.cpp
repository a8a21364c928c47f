//===- CommandLine.cpp - the command line of every program ----------------===//
#include "runtime/cli/CommandLine.h"

#include "runtime/base/Error.h"
#include "runtime/base/FilesInUse.h"
#include "runtime/base/Path.h"
#include "runtime/base/Version.h"
#include "runtime/cli/Session.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/profile/Profile.h"

#include <algorithm>
#include <cstdio>
#include <new>

namespace transformer::runtime {

// A line SUBCOMMAND(NAME) for each file of CMakeLists.txt's list. The function adds its subcommand
// to `app`; parsing it sets session.command.
#define SUBCOMMAND(NAME) void add##NAME(CLI::App &app, Session &session);
#include "Subcommands.inc"
#undef SUBCOMMAND

namespace {

constexpr const char *footer = R"(
Examples:
  {0} run --weights model.safetensors --inputs in.safetensors --outputs out.safetensors
  {0} run -w CKPT_DIR --inputs input_ids=ids.npy --outputs last_hidden_state=hidden.npy
  {0} run -w CKPT_DIR --packed-weights model.packed -i in.safetensors -o out.safetensors
  {0} generate -w CKPT_DIR --prompt "Once upon a time" --max-new-tokens 100
  {0} embed -w CKPT_DIR --text "A first sentence." --text "Another one."
  {0} train -w CKPT_DIR --data steps.safetensors --learning-rate 1e-4 --save trained
  {0} bench -w CKPT_DIR --shape 8x128
  {0} SUBCOMMAND --help)";

void printError(const std::string &message) {
  std::string text = "error: " + message;
  size_t end = 0;
  for (int line = 0; line < 3 && end != std::string::npos; ++line)
    end = text.find('\n', end + 1);
  text = text.substr(0, end);
  std::fprintf(stderr, "%s\n", text.c_str());
}

void addCommon(CLI::App &app, Session &session) {
  app.add_option("--threads,-t", session.threads, "Threads (default: the CPUs of this process)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--profile", session.profile,
                 "Write where the time went as Chrome trace events (open in ui.perfetto.dev)");
}

std::vector<std::string> subcommands(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// CLI11 would only say that a subcommand is required.
void checkSubcommand(const CLI::App &app, int argc, char **argv) {
  if (argc < 1 || argv[0][0] == '-')
    return;
  std::vector<std::string> names = subcommands(app);
  if (std::find(names.begin(), names.end(), argv[0]) == names.end())
    fail("unknown subcommand \"{}\", expected one of: {}", printable(argv[0], 60),
         fmt::join(names, ", "));
}

void runCommand(Session &session) {
  int count = session.threads ? session.threads : availableThreads();
  setThreads(count);
  if (!session.profile.empty()) {
    checkFolder(session.profile);
    startProfile(count);
  }
  session.command();
  if (!session.profile.empty())
    writeProfile(session.profile);
}

} // namespace

int guarded(const std::function<int()> &body) {
  handleSignals();
  try {
    return body();
  } catch (const std::bad_alloc &) {
    printError("out of memory");
  } catch (const std::exception &problem) {
    printError(problem.what());
  }
  return 1;
}

int commandLine(int argc, char **argv, const tr_module &abi, const std::string &name,
                const std::string &image) {
  return guarded([&] {
    Module module(abi, name);
    Session session;
    session.module = &module;
    session.name = name;
    session.image = image;
    const Description &description = module.description();
    CLI::App app(formatted("A compiled {} model: runs without Python, libtorch or a compiler.",
                           description.modelType.empty() ? "Transformer" : description.modelType),
                 name);
    app.footer(formatted(fmt::runtime(footer), name));
    app.set_version_flag("--version", formatted("transformer-mlir {}\nmodule made by {}", version,
                                                description.producer));
    app.require_subcommand(0, 1);
    app.fallthrough();
    addCommon(app, session);
#define SUBCOMMAND(NAME) add##NAME(app, session);
#include "Subcommands.inc"
#undef SUBCOMMAND
    // A subcommand's help shows the common options, too.
    for (CLI::App *command : app.get_subcommands({}))
      command->footer(
          "--threads N, --profile TRACE.json and --version may follow every subcommand.");
    checkSubcommand(app, argc, argv);
    std::vector<std::string> arguments(argv, argv + argc);
    std::reverse(arguments.begin(), arguments.end());
    try {
      app.parse(std::move(arguments));
    } catch (const CLI::CallForHelp &) {
      writeOut(app.help());
      return 0;
    } catch (const CLI::CallForVersion &request) {
      writeOut(std::string(request.what()) + "\n");
      return 0;
    } catch (const CLI::ParseError &problem) {
      fail("{}\ntry {} --help", printable(problem.what(), 300), name);
    }
    if (!session.command)
      fail("no subcommand, expected one of: {}", fmt::join(subcommands(app), ", "));
    runCommand(session);
    return session.exitCode;
  });
}

} // namespace transformer::runtime
