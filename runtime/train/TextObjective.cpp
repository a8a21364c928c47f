//===- TextObjective.cpp - what a model learns from text ------------------===//
#include "runtime/train/TextObjective.h"

#include "runtime/base/Error.h"

namespace transformer::runtime {
namespace {

struct Kind {
  const char *name;
  TextObjective objective;
  const char *ending, *line;
};

constexpr Kind kinds[] = {
    {"next_token", TextObjective::NextToken, ".txt", "TEXT"},
    {"masked_token", TextObjective::MaskedToken, ".txt", "TEXT"},
    {"target_token", TextObjective::TargetToken, ".tsv", "SOURCE<TAB>TARGET"},
    {"class", TextObjective::Class, ".tsv", "TEXT<TAB>LABEL or TEXT<TAB>TEXT<TAB>LABEL"},
    {"regression", TextObjective::Regression, ".tsv",
     "TEXT<TAB>NUMBER or TEXT<TAB>TEXT<TAB>NUMBER"},
};

} // namespace

TextObjective textObjective(const std::string &name, const std::string &path) {
  if (name.empty())
    fail("{}: this program does not say what it learns from text, expected a safetensors file of "
         "its inputs and labels",
         path);
  for (const Kind &kind : kinds) {
    if (name != kind.name)
      continue;
    if (!path.ends_with(kind.ending))
      fail("{}: this program, with the objective {}, takes a {} file of lines {}", path, name,
           kind.ending, kind.line);
    return kind.objective;
  }
  fail("{}: the objective {} of this program cannot be had from text, expected a safetensors file "
       "of its inputs and labels",
       path, printable(name));
}

} // namespace transformer::runtime
