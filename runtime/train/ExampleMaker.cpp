//===- ExampleMaker.cpp - from a line of text to a row --------------------===//
#include "runtime/train/ExampleMaker.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace transformer::runtime {
namespace {

constexpr int64_t noLimit = std::numeric_limits<int64_t>::max();

const InputInfo *find(const std::vector<const InputInfo *> &inputs, const char *name) {
  for (const InputInfo *input : inputs)
    if (input->name == name)
      return input;
  return nullptr;
}

/// What --max-length says, which the model must take, else the least that is known.
std::optional<int64_t> lengthLimit(std::optional<int64_t> given, const InputInfo &input,
                                   const Tokenizer &tokenizer, const TextModel &model) {
  if (given && input.maxLength && *given > *input.maxLength)
    fail("--max-length {}: {} of this model takes at most {} tokens", *given, input.name,
         *input.maxLength);
  if (given)
    return given;
  int64_t least = noLimit;
  for (std::optional<int64_t> known : {input.maxLength, tokenizer.maxLength(), model.maxLength})
    least = std::min(least, known.value_or(noLimit));
  return least == noLimit ? std::nullopt : std::optional(least);
}

void checkIds(const std::vector<int64_t> &ids, const InputInfo &input) {
  int64_t size = std::numeric_limits<int32_t>::max();
  if (input.range)
    size = std::min(size, input.range->high);
  for (int64_t id : ids)
    if (id >= size)
      fail("the tokenizer gives the id {}, {} of this model takes 0 to {}: are they of one "
           "checkpoint?",
           id, input.name, size - 1);
}

std::vector<std::string> fieldsOf(std::string_view line) {
  std::vector<std::string> fields;
  for (size_t begin = 0; begin <= line.size();) {
    size_t end = std::min(line.find('\t', begin), line.size());
    fields.emplace_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

/// All of `text` as a number.
template <typename T> std::optional<T> parseNumber(const std::string &text) {
  T value;
  const char *last = text.data() + text.size();
  auto [end, problem] = std::from_chars(text.data(), last, value);
  return problem == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

} // namespace

ExampleMaker::ExampleMaker(const TextModel &model, TextObjective objective,
                           const std::vector<const InputInfo *> &inputs,
                           std::optional<int64_t> maxLength, bool isStream)
    : model(model), objective(objective), ids(find(inputs, "input_ids")),
      types(find(inputs, "token_type_ids")), labels(find(inputs, "labels")), isStream(isStream) {
  if (!ids || !labels)
    fail("this program does not train on text: it has no {}", ids ? "labels" : "input_ids");
  limit = lengthLimit(maxLength, *ids, model.tokenizer, model);
  if (objective != TextObjective::TargetToken)
    return;
  const InputInfo *decoderIds = find(inputs, "decoder_input_ids");
  const Tokenizer &tokenizer = model.targetTokenizer ? *model.targetTokenizer : model.tokenizer;
  targetLimit = lengthLimit(maxLength, decoderIds ? *decoderIds : *labels, tokenizer, model);
  start = model.generation.decoderStart();
  // What surrounds targets is what an empty one consists of.
  std::vector<int64_t> around = tokenizer.encode("").ids;
  const std::vector<int64_t> &ends = model.generation.eosTokenId;
  bool hasEnd = !around.empty() && std::count(ends.begin(), ends.end(), around.back());
  if (!hasEnd && !ends.empty())
    end = ends.front();
  hasStart = around.size() > size_t(hasEnd) && around.front() == start;
}

Example ExampleMaker::makeText(const std::string &first, const std::string *second) const {
  auto encode = [&](int64_t most) {
    return second ? model.tokenizer.encodePair(first, *second, most)
                  : model.tokenizer.encode(first, most);
  };
  Encoding encoding = encode(noLimit);
  bool isCut = limit && !isStream && int64_t(encoding.ids.size()) > *limit;
  if (isCut)
    encoding = encode(*limit);
  checkIds(encoding.ids, *ids);
  if (!types)
    encoding.types.clear();
  return {std::move(encoding.ids), std::move(encoding.types), {}, 0, isCut};
}

std::vector<int64_t> ExampleMaker::makeTarget(const std::string &text, bool &isCut) const {
  const Tokenizer &tokenizer = model.targetTokenizer ? *model.targetTokenizer : model.tokenizer;
  // A start that the tokenizer adds is the decoder's; an end that it does not add needs its place.
  int64_t added = int64_t(end.has_value()) - int64_t(hasStart);
  std::vector<int64_t> target = tokenizer.encode(text, noLimit).ids;
  if (targetLimit && int64_t(target.size()) + added > *targetLimit) {
    target = tokenizer.encode(text, *targetLimit - added).ids;
    isCut = true;
  }
  if (hasStart)
    target.erase(target.begin());
  if (end)
    target.push_back(*end);
  checkIds(target, *labels);
  return target;
}

double ExampleMaker::makeLabel(const std::string &text) const {
  if (objective == TextObjective::Regression) {
    std::optional<double> value = parseNumber<double>(text);
    if (!value || !std::isfinite(*value))
      fail("expected a number behind the last TAB, found \"{}\"", printable(text, 40));
    return *value;
  }
  std::optional<int64_t> index;
  if (auto found = model.classes.find(text); found != model.classes.end())
    index = found->second;
  else
    index = parseNumber<int64_t>(text);
  ValueRange range = labels->range.value_or(ValueRange{0, noLimit});
  if (index && *index >= range.low && *index < range.high)
    return double(*index);
  std::string expected = formatted("a class from {} to {}", range.low, range.high - 1);
  if (!model.classes.empty()) {
    std::vector<std::string> names;
    for (const auto &[name, value] : model.classes)
      names.push_back(printable(name, 40));
    expected += formatted(" or one of {}", printable(formatted("{}", fmt::join(names, ", ")), 300));
  }
  fail("unknown label \"{}\", expected {}", printable(text, 40), expected);
}

Example ExampleMaker::make(std::string_view line) const {
  if (objective == TextObjective::NextToken || objective == TextObjective::MaskedToken)
    return makeText(std::string(line) + (isStream ? "\n" : ""), nullptr);
  std::vector<std::string> fields = fieldsOf(line);
  bool hasTarget = objective == TextObjective::TargetToken;
  if (fields.size() != 2 && (fields.size() != 3 || hasTarget))
    fail("expected {}, found {} TABs",
         hasTarget ? "SOURCE<TAB>TARGET" : "TEXT<TAB>LABEL or TEXT<TAB>TEXT<TAB>LABEL",
         fields.size() - 1);
  Example example = makeText(fields[0], fields.size() == 3 ? &fields[1] : nullptr);
  if (example.ids.empty())
    fail("no tokens before the TAB");
  if (!hasTarget)
    example.label = makeLabel(fields.back());
  else if ((example.target = makeTarget(fields[1], example.isCut)).empty())
    fail("no tokens behind the TAB");
  return example;
}

} // namespace transformer::runtime
