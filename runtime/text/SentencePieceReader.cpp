//===- SentencePieceReader.cpp - tokenizers of a SentencePiece model ------===//
#include "runtime/text/TokenizerReader.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <numeric>

namespace transformer::runtime {
namespace {

struct PieceClass {
  std::string_view name;
  const char *file;
  SentencePieceFile::ModelType modelType;
};
constexpr PieceClass classes[] = {
    {"AlbertTokenizer", "spiece.model", SentencePieceFile::Unigram},
    {"LlamaTokenizer", "tokenizer.model", SentencePieceFile::Bpe},
    {"MarianTokenizer", "source.spm", SentencePieceFile::Unigram},
    {"MT5Tokenizer", "spiece.model", SentencePieceFile::Unigram},
    {"T5Tokenizer", "spiece.model", SentencePieceFile::Unigram},
    {"XLMRobertaTokenizer", "sentencepiece.bpe.model", SentencePieceFile::Unigram}};

const PieceClass &findClass(const TokenizerFiles &files, const TokenizerConfig &config) {
  std::string name = config.className();
  if (name.empty() &&
      (files.model.empty() ? files.has("source.spm") : files.model.ends_with(".spm")))
    name = "MarianTokenizer";
  if (name.empty())
    fail("{}tokenizer_config.json: a SentencePiece model needs tokenizer_class, here or in "
         "config.json",
         files.prefix);
  for (const PieceClass &item : classes)
    if (item.name == name)
      return item;
  fail("{}tokenizer_config.json: tokenizer_class: \"{}\" is not supported without a "
       "tokenizer.json, expected AlbertTokenizer, LlamaTokenizer, MarianTokenizer, MT5Tokenizer, "
       "T5Tokenizer or XLMRobertaTokenizer",
       files.prefix, printable(name));
}

/// The pairs whose union is a piece, the likeliest piece first, of one piece's the shortest first
/// part first.
void addMerges(const SentencePieceFile &file, Bpe &model) {
  auto isText = [&](size_t i) {
    return file.isInText(i) && file.pieces[i].type != SentencePieceFile::Byte;
  };
  std::vector<ByteTrie::Item> items;
  std::vector<size_t> order;
  for (size_t i = 0; i < file.pieces.size(); ++i)
    if (isText(i)) {
      items.emplace_back(file.pieces[i].text, static_cast<int32_t>(i));
      order.push_back(i);
    }
  ByteTrie trie;
  trie.build(std::move(items));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return file.pieces[a].score > file.pieces[b].score; });
  uint32_t rank = 0;
  for (size_t i : order) {
    std::string_view text = file.pieces[i].text;
    trie.eachPrefix(text, [&](size_t length, int32_t) {
      std::string_view rest = text.substr(length);
      int64_t second = model.vocab.find(rest);
      if (second >= 0 && isText(static_cast<size_t>(second)))
        model.addMerge(text.substr(0, length), rest, rank++);
    });
  }
}

} // namespace

Tokenizer TokenizerReader::read(const TokenizerFiles &files) {
  readPieces(files);
  finish();
  return std::move(result);
}

void TokenizerReader::readPieces(const TokenizerFiles &files) {
  TokenizerConfig config(files);
  const PieceClass &kind = findClass(files, config);
  std::string name = files.model.empty() ? kind.file : files.model;
  if (!files.has(name))
    fail("{}{}: {} needs this file, which is not there", files.prefix, name, kind.name);
  result.name = files.prefix + name;
  SentencePieceFile file = readSentencePieceFile(result.name, files.bytes.find(name)->second);
  if (file.modelType != kind.modelType)
    fail("{}: trainer_spec.model_type: {} needs {}", result.name, kind.name,
         kind.modelType == SentencePieceFile::Bpe ? "bpe" : "unigram");
  if (kind.name == "MarianTokenizer")
    return readMarian(files, file, config);
  if (kind.name == "AlbertTokenizer")
    readAlbert(file, config);
  else if (kind.name == "XLMRobertaTokenizer")
    readXlmRoberta(file, config);
  else if (kind.name == "LlamaTokenizer")
    readLlama(file, config);
  else
    readT5(file, config);
}

void TokenizerReader::readT5(const SentencePieceFile &file, TokenizerConfig &config) {
  config.setDefaults({{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}});
  TokenizerField fields = config.fields();
  int64_t count = fields.has("extra_ids") ? fields["extra_ids"].count(1 << 16) : 100;
  std::vector<std::string> extra;
  while (count > 0)
    extra.push_back(formatted("<extra_id_{}>", --count));
  unigram(file, 0, {}, extra);
  addCharsmap(file);
  wordsOfPieces(Metaspace::Always);
  addTokens(file, config, extra);
  int64_t end = idOfNamed(config, "eos_token");
  surround(
      {{{0, {}, 0}, {-1, {end}, 0}}, {{0, {}, 0}, {-1, {end}, 0}, {1, {}, 0}, {-1, {end}, 0}}});
}

void TokenizerReader::readAlbert(const SentencePieceFile &file, TokenizerConfig &config) {
  config.setDefaults({{"bos_token", "[CLS]"},
                      {"eos_token", "[SEP]"},
                      {"unk_token", "<unk>"},
                      {"sep_token", "[SEP]"},
                      {"pad_token", "<pad>"},
                      {"cls_token", "[CLS]"},
                      {"mask_token", "[MASK]"}});
  TokenizerField fields = config.fields();
  unigram(file, 0, {}, {});
  auto &steps = result.normalizer.steps;
  steps.push_back(Replace{"``", std::nullopt, "\""});
  steps.push_back(Replace{"''", std::nullopt, "\""});
  if (!fields.boolean("keep_accents", false)) {
    steps.push_back(UnicodeForm{/*compose=*/false, /*compatibility=*/true});
    steps.push_back(StripAccents{});
  }
  if (fields.boolean("do_lower_case", true))
    steps.push_back(Lowercase{});
  addCharsmap(file);
  wordsOfPieces(fields.boolean("add_prefix_space", true) ? Metaspace::Always : Metaspace::Never);
  addTokens(file, config, {});
  surround(surroundBert(idOfNamed(config, "cls_token"), idOfNamed(config, "sep_token")));
}

void TokenizerReader::readXlmRoberta(const SentencePieceFile &file, TokenizerConfig &config) {
  config.setDefaults({{"bos_token", "<s>"},
                      {"eos_token", "</s>"},
                      {"unk_token", "<unk>"},
                      {"sep_token", "</s>"},
                      {"pad_token", "<pad>"},
                      {"cls_token", "<s>"},
                      {"mask_token", "<mask>"}});
  auto content = [&](const char *key, const char *fallback) {
    const DescribedToken *token = config.named(key);
    return token ? token->content : std::string(fallback);
  };
  // fairseq's four come before the pieces, which begin with three of them.
  unigram(file, 3,
          {content("bos_token", "<s>"), content("pad_token", "<pad>"), content("eos_token", "</s>"),
           content("unk_token", "<unk>")},
          {content("mask_token", "<mask>")});
  std::get<Unigram>(result.model).unknownId = 3;
  addCharsmap(file);
  wordsOfPieces(config.fields().boolean("add_prefix_space", true) ? Metaspace::Always
                                                                  : Metaspace::Never);
  addTokens(file, config, {});
  int64_t begin = idOfNamed(config, "bos_token"), end = idOfNamed(config, "eos_token");
  surround({{{-1, {begin}, 0}, {0, {}, 0}, {-1, {end}, 0}},
            {{-1, {begin}, 0}, {0, {}, 0}, {-1, {end, end}, 0}, {1, {}, 0}, {-1, {end}, 0}}});
}

void TokenizerReader::readLlama(const SentencePieceFile &file, TokenizerConfig &config) {
  config.setDefaults({{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}});
  TokenizerField fields = config.fields();
  Bpe model;
  model.fuseUnknown = true;
  model.byteFallback = true;
  model.vocab.reserve(file.pieces.size());
  for (size_t i = 0; i < file.pieces.size(); ++i)
    model.vocab.add(file.pieces[i].text, static_cast<int64_t>(i));
  addMerges(file, model);
  result.model = std::move(model);
  bool prefix = fields.boolean("add_prefix_space", true);
  Metaspace space{std::string(spaceMark), Metaspace::Never, /*split=*/false};
  if (prefix)
    space.prepend = fields.boolean("legacy", false) ? Metaspace::Always : Metaspace::First;
  result.preTokenizer.steps = {space};
  result.decoder =
      Decoder{{Replace{std::string(spaceMark), std::nullopt, " "}, JoinBytes{}, Fuse{}}};
  if (prefix)
    result.decoder->steps.push_back(StripCharacter{U' ', 1, 0});
  addTokens(file, config, {});
  PostProcessor parts{{{0, {}, 0}}, {{0, {}, 0}, {1, {}, 1}}};
  auto around = [&](const char *flag, const char *key, bool before) {
    if (!fields.boolean(flag, false) || !config.named(key))
      return;
    int64_t id = idOfNamed(config, key);
    auto put = [&](std::vector<TemplatePart> &list, int text, int64_t type) {
      auto at = std::find_if(list.begin(), list.end(),
                             [&](const TemplatePart &part) { return part.text == text; });
      list.insert(before ? at : at + 1, {-1, {id}, type});
    };
    put(parts.single, 0, 0);
    put(parts.pair, 0, 0);
    put(parts.pair, 1, 1);
  };
  around("add_bos_token", "bos_token", true);
  around("add_eos_token", "eos_token", false);
  surround(std::move(parts));
}

/// The model: `before`, pieces from place `first` on, `after`. Those around the pieces have the
/// score 0; plain text has none of `before`.
void TokenizerReader::unigram(const SentencePieceFile &file, size_t first,
                              const std::vector<std::string> &before,
                              const std::vector<std::string> &after) {
  Unigram model;
  std::vector<bool> inText;
  auto append = [&](const std::string &text, double score, bool isInText) {
    model.vocab.add(text, static_cast<int64_t>(model.scores.size()));
    model.scores.push_back(score);
    inText.push_back(isInText);
  };
  model.vocab.reserve(before.size() + file.pieces.size() + after.size());
  for (const std::string &token : before)
    append(token, 0, false);
  if (file.unknown >= first)
    model.unknownId = static_cast<int64_t>(before.size() + file.unknown - first);
  for (size_t i = first; i < file.pieces.size(); ++i)
    append(file.pieces[i].text, file.pieces[i].score, file.isInText(i));
  for (const std::string &token : after)
    append(token, 0, true);
  Unigram::Pieces pieces;
  for (const Vocabulary::Entry &entry : model.vocab.all())
    if (inText[static_cast<size_t>(entry.id)])
      pieces.emplace_back(entry.token, static_cast<int32_t>(entry.id));
  model.finish(std::move(pieces));
  result.model = std::move(model);
}

/// Words begin with U+2581, which becomes a space between them.
void TokenizerReader::wordsOfPieces(Metaspace::Scheme scheme) {
  Metaspace space{std::string(spaceMark), scheme, /*split=*/true};
  result.preTokenizer.steps = {SplitClass{SplitClass::Whitespace, SplitBehavior::Removed}, space};
  result.decoder = Decoder{{space}};
}

void TokenizerReader::addCharsmap(const SentencePieceFile &file) {
  if (!file.charsmap.empty())
    result.normalizer.steps.push_back(Precompiled{std::make_shared<Charsmap>(
        result.name + ": normalizer_spec.precompiled_charsmap", file.charsmap)});
}

/// Adds the tokens that are found before all else: what the files name, and, where they give no
/// list, the model's control and user-defined pieces, with `extra` behind them.
void TokenizerReader::addTokens(const SentencePieceFile &file, const TokenizerConfig &config,
                                const std::vector<std::string> &extra) {
  tokens = result.vocabulary().size();
  auto others = config.extra();
  if (!others) {
    others.emplace();
    for (const SentencePieceFile::Piece &piece : file.pieces) {
      bool controls = piece.type == SentencePieceFile::Control;
      if (!controls && piece.type != SentencePieceFile::UserDefined)
        continue;
      DescribedToken &token = others->emplace_back();
      token.content = piece.text;
      token.special = controls;
    }
    for (const std::string &content : extra)
      others->emplace_back().content = content;
  }
  for (const DescribedToken &token : config.tokens(*others))
    if (!token.content.empty())
      add(token, addedId(token.content));
  if (config.named("pad_token"))
    result.pad = idOfNamed(config, "pad_token");
}

int64_t TokenizerReader::idOfNamed(const TokenizerConfig &config, const char *key) const {
  const DescribedToken *token = config.named(key);
  int64_t id = token ? result.idOf(token->content) : -1;
  if (id < 0)
    fail("{}: the vocabulary has no {} \"{}\"", result.name, key,
         token ? printable(token->content) : "");
  return id;
}

} // namespace transformer::runtime
