//===- Regex.cpp - regular expressions of tokenizer.json ------------------===//
#include "runtime/text/Regex.h"

#include "runtime/base/Error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

namespace transformer::runtime {
namespace {

constexpr size_t leastSteps = 10'000'000; // PCRE2's own limit
constexpr size_t stepsPerByte = 32;

const char *reasonOf(int problem, char (&buffer)[256]) {
  if (pcre2_get_error_message(problem, reinterpret_cast<PCRE2_UCHAR *>(buffer), sizeof(buffer)) < 0)
    return "unknown problem";
  return buffer;
}

/// What a thread needs to search: room for the first pair of offsets, and a stack.
struct Searcher {
  pcre2_match_data *data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context *context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack *stack = pcre2_jit_stack_create(32 << 10, 4 << 20, nullptr);

  Searcher() {
    if (!data || !context)
      throw std::bad_alloc();
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~Searcher() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

} // namespace

Regex::Regex(const std::string &where, const std::string &pattern) : where(where) {
  std::string rewritten = fromOniguruma(where, pattern);
  int problem = 0;
  PCRE2_SIZE offset = 0;
  // Ruby's ^ and $ match at every line.
  pcre2_code *compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rewritten.data()), rewritten.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &problem,
                    &offset, nullptr);
  if (!compiled) {
    char buffer[256];
    fail("{}: regular expression \"{}\" is not supported: {}", where, printable(pattern),
         reasonOf(problem, buffer));
  }
  pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE); // where it cannot, it is interpreted
  code.reset(compiled, [](void *pointer) { pcre2_code_free(static_cast<pcre2_code *>(pointer)); });
}

bool Regex::find(std::string_view text, size_t from, size_t &begin, size_t &end) const {
  static thread_local Searcher searcher;
  // What is not quadratic takes a few steps a byte.
  size_t steps = std::min<size_t>(leastSteps + stepsPerByte * text.size(), UINT32_MAX);
  pcre2_set_match_limit(searcher.context, static_cast<uint32_t>(steps));
  int found =
      pcre2_match(static_cast<pcre2_code *>(code.get()), reinterpret_cast<PCRE2_SPTR>(text.data()),
                  text.size(), from, PCRE2_NO_UTF_CHECK, searcher.data, searcher.context);
  if (found == PCRE2_ERROR_NOMATCH)
    return false;
  if (found < 0) {
    char buffer[256];
    fail("{}: a search with the regular expression failed: {}", where, reasonOf(found, buffer));
  }
  const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(searcher.data);
  begin = offsets[0];
  end = offsets[1];
  return begin <= end; // \K could turn them round
}

} // namespace transformer::runtime
