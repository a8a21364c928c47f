//===- PreTokenizer.cpp - the field pre_tokenizer of tokenizer.json -------===//
#include "runtime/text/PreTokenizer.h"

#include "runtime/text/ByteLevel.h"
#include "runtime/text/CharacterClasses.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

namespace transformer::runtime {
namespace {

/// Collects the parts of one segment: matches of a pattern and what lies between them, in order and
/// without gaps.
class Cutter {
public:
  Cutter(std::vector<Segment> &out, const Segment &whole, SplitBehavior behavior)
      : out(out), whole(whole), behavior(behavior) {}

  void part(size_t begin, size_t end, bool isMatch) {
    switch (behavior) {
    case SplitBehavior::Removed:
      flush();
      if (!isMatch)
        start(begin, end);
      break;
    case SplitBehavior::Isolated:
      flush();
      start(begin, end);
      break;
    case SplitBehavior::Contiguous:
      join(begin, end, isMatch == previous);
      break;
    case SplitBehavior::MergedWithPrevious:
      join(begin, end, isMatch && !previous);
      break;
    case SplitBehavior::MergedWithNext:
      // What comes takes in a match before it, unless it is one, too.
      join(begin, end, !isMatch && previous);
      break;
    }
    previous = isMatch;
  }

  void flush() {
    if (open && pending.end > pending.begin)
      out.push_back(pending);
    open = false;
  }

private:
  void start(size_t begin, size_t end) {
    pending = {begin, end, whole.atStart && begin == whole.begin};
    open = true;
  }

  void join(size_t begin, size_t end, bool toPending) {
    if (toPending && open) {
      pending.end = end;
      return;
    }
    flush();
    start(begin, end);
  }

  std::vector<Segment> &out;
  const Segment &whole;
  SplitBehavior behavior;
  Segment pending{};
  bool open = false;
  bool previous = false; // the last part was a match
};

/// Calls cut(segment, out) for each segment; `out` replaces them.
template <typename Cut> void each(Segments &segments, Cut cut) {
  std::vector<Segment> out;
  out.reserve(segments.items.size());
  for (const Segment &item : segments.items)
    cut(item, out);
  segments.items = std::move(out);
}

void step(const Split &split, Segments &segments) {
  each(segments, [&](const Segment &item, std::vector<Segment> &out) {
    std::string_view text = segments.of(item);
    if (split.pattern) { // all of it is matches
      for (size_t at = 0; at < text.size();) {
        size_t end = matchEnd(*split.pattern, text, at);
        out.push_back({item.begin + at, item.begin + end, item.atStart && at == 0});
        at = end;
      }
      return;
    }
    Cutter cutter(out, item, split.behavior);
    size_t done = 0, search = 0;
    while (search < text.size()) {
      size_t begin = 0, end = 0;
      if (split.regex) {
        if (!split.regex->find(text, search, begin, end))
          break;
      } else {
        begin = split.text.empty() ? std::string_view::npos : text.find(split.text, search);
        if (begin == std::string_view::npos)
          break;
        end = begin + split.text.size();
      }
      search = end;
      if (begin == end && end < text.size())
        nextCharacter(text, search);
      if (done < begin)
        cutter.part(item.begin + done, item.begin + begin, split.invert);
      cutter.part(item.begin + begin, item.begin + end, !split.invert);
      done = end;
    }
    if (done < text.size())
      cutter.part(item.begin + done, item.end, split.invert);
    cutter.flush();
  });
}

/// Cuts at each character for which isMatch(c) holds.
template <typename IsMatch>
void cutAt(Segments &segments, SplitBehavior behavior, IsMatch isMatch) {
  each(segments, [&](const Segment &item, std::vector<Segment> &out) {
    std::string_view text = segments.of(item);
    Cutter cutter(out, item, behavior);
    size_t done = 0;
    for (size_t at = 0; at < text.size();) {
      size_t begin = at;
      if (!isMatch(nextCharacter(text, at)))
        continue;
      if (done < begin)
        cutter.part(item.begin + done, item.begin + begin, false);
      cutter.part(item.begin + begin, item.begin + at, true);
      done = at;
    }
    if (done < text.size())
      cutter.part(item.begin + done, item.end, false);
    cutter.flush();
  });
}

/// Rewrites each segment: write(segment's text, out) appends its new text.
template <typename Write> void rewrite(Segments &segments, Write write) {
  std::string text;
  text.reserve(segments.text.size() + 4 * segments.items.size());
  for (Segment &item : segments.items) {
    size_t begin = text.size();
    write(item, segments.of(item), text);
    item.begin = begin;
    item.end = text.size();
  }
  segments.storage = std::move(text);
  segments.text = segments.storage;
}

void step(const SplitBytes &bytes, Segments &segments) {
  if (bytes.addPrefixSpace) {
    bool needed = false;
    for (const Segment &item : segments.items)
      needed |= segments.text[item.begin] != ' ';
    if (needed)
      rewrite(segments, [](const Segment &, std::string_view from, std::string &out) {
        if (from[0] != ' ')
          out += ' ';
        out += from;
      });
  }
  if (bytes.usePattern)
    step(Split{"", std::nullopt, SplitPattern::Gpt2}, segments);
  if (!bytes.keepBytes)
    rewrite(segments, [](const Segment &, std::string_view from, std::string &out) {
      appendByteCharacters(out, from);
    });
}

void step(const Metaspace &space, Segments &segments) {
  const std::string &mark = space.replacement;
  rewrite(segments, [&](const Segment &item, std::string_view from, std::string &out) {
    bool wanted =
        space.prepend == Metaspace::Always || (space.prepend == Metaspace::First && item.atStart);
    if (wanted && from[0] != ' ' && from.substr(0, mark.size()) != mark)
      out += mark;
    for (size_t at = 0; at < from.size();) {
      size_t end = std::min(from.find(' ', at), from.size());
      out.append(from, at, end - at);
      if (end < from.size())
        out += mark;
      at = end + 1;
    }
  });
  if (space.split)
    step(Split{mark, std::nullopt, std::nullopt, SplitBehavior::MergedWithNext}, segments);
}

void step(const SplitClass &split, Segments &segments) {
  switch (split.at) {
  case SplitClass::Whitespace:
    return cutAt(segments, split.behavior, isWhitespace);
  case SplitClass::Punctuation:
    return cutAt(segments, split.behavior, isBertPunctuation);
  case SplitClass::Numeric:
    return cutAt(segments, split.behavior, isNumeric);
  }
}

void step(const SplitWords &, Segments &segments) {
  enum Kind { None, Space, Word, Other };
  each(segments, [&](const Segment &item, std::vector<Segment> &out) {
    std::string_view text = segments.of(item);
    size_t start = 0;
    Kind last = None;
    auto end = [&](size_t at) {
      if (last == Word || last == Other)
        out.push_back({item.begin + start, item.begin + at, item.atStart && start == 0});
      start = at;
    };
    for (size_t at = 0; at < text.size();) {
      size_t begin = at;
      char32_t c = nextCharacter(text, at);
      Kind kind = isRegexWord(c) ? Word : isWhitespace(c) ? Space : Other;
      if (kind != last)
        end(begin);
      last = kind;
    }
    end(text.size());
  });
}

void step(const SplitBert &, Segments &segments) {
  each(segments, [&](const Segment &item, std::vector<Segment> &out) {
    std::string_view text = segments.of(item);
    size_t start = 0;
    auto endWord = [&](size_t end, size_t next) {
      if (end > start)
        out.push_back({item.begin + start, item.begin + end, item.atStart && start == 0});
      start = next;
    };
    for (size_t at = 0; at < text.size();) {
      size_t begin = at;
      char32_t c = nextCharacter(text, at);
      if (isBertPunctuation(c)) {
        endWord(begin, begin);
        endWord(at, at);
      } else if (isWhitespace(c)) {
        endWord(begin, at);
      }
    }
    endWord(text.size(), text.size());
  });
}

void step(const SplitLength &split, Segments &segments) {
  each(segments, [&](const Segment &item, std::vector<Segment> &out) {
    std::string_view text = segments.of(item);
    for (size_t at = 0; at < text.size();) {
      size_t begin = at;
      for (size_t i = 0; i < split.length && at < text.size(); ++i)
        nextCharacter(text, at);
      out.push_back({item.begin + begin, item.begin + at, item.atStart && begin == 0});
    }
  });
}

} // namespace

void PreTokenizer::apply(Segments &segments) const {
  for (const PreTokenizerStep &item : steps)
    std::visit([&](const auto &one) { step(one, segments); }, item);
}

} // namespace transformer::runtime
