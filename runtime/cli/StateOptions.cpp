//===- StateOptions.cpp - the state on the command line -------------------===//
#include "runtime/cli/StateOptions.h"

#include "runtime/base/Error.h"
#include "runtime/base/Path.h"

#include <charconv>

namespace transformer::runtime {

void addStateOptions(CLI::App &app, StateOptions &options, bool saves) {
  app.add_option(
      "--state-in", options.input,
      "Start from the state in this file, which --state-out has written (default: zeros)");
  app.add_option("--size", options.sizes,
                 "NAME=N: a size that the state leaves open, for example capacity=512")
      ->take_all();
  if (saves)
    app.add_option("--state-out", options.output, "Write the state after the call");
}

static NamedSizes parseSizes(const std::vector<std::string> &texts) {
  NamedSizes sizes;
  for (const std::string &text : texts) {
    size_t equals = std::min(text.find('='), text.size());
    const char *end = text.data() + text.size();
    const char *begin = std::min(text.data() + equals + 1, end);
    int64_t size = 0;
    auto [rest, problem] = std::from_chars(begin, end, size);
    if (equals == 0 || problem != std::errc() || rest != end || size < 1)
      fail("--size {}: expected NAME=N, for example capacity=512", printable(text, 60));
    if (!sizes.emplace(text.substr(0, equals), size).second)
      fail("--size {}: given twice", printable(text, 60));
  }
  return sizes;
}

State openState(const Module &module, const EntryInfo &entry, const StateOptions &options) {
  const Description &description = module.description();
  NamedSizes sizes = parseSizes(options.sizes);
  for (const auto &[name, size] : sizes) {
    bool known = false;
    for (const StateInfo &state : description.states)
      for (const Dimension &dimension : state.shape)
        known |= dimension.name == name;
    if (!known)
      fail("--size {}={}: no state has a size of that name", printable(name), size);
  }
  if (entry.states.empty()) {
    if (!options.input.empty() || !options.output.empty())
      fail("entry {} keeps no state: --state-in and --state-out are not for it", entry.name);
    return {};
  }
  if (!options.output.empty())
    checkFolder(options.output);
  if (options.input.empty())
    return {description, sizes};
  State state = State::restore(description, options.input);
  for (const auto &[name, size] : sizes)
    if (state.sizes().at(name) != size)
      fail("--size {}={}: {} has {}", printable(name), size, options.input, state.sizes().at(name));
  return state;
}

} // namespace transformer::runtime
