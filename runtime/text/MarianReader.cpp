//===- MarianReader.cpp - source.spm and vocab.json -----------------------===//
//
// MarianTokenizer cuts with SentencePiece's own library and has ids of its own.
// (It can also put Moses' normalisation of punctuation into a field, which its
// encoding does not use: texts are taken as they are.)
//
//===----------------------------------------------------------------------===//
#include "runtime/text/TokenizerReader.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <limits>

namespace transformer::runtime {
namespace {

/// The scores that SentencePiece's library gives pieces, by place: 0 to those that the user
/// defined, which is more than others have.
void setScores(const SentencePieceFile &file, Unigram &model) {
  float least = std::numeric_limits<float>::max();
  for (const SentencePieceFile::Piece &piece : file.pieces) {
    if (piece.type == SentencePieceFile::Normal)
      least = std::min(least, piece.score);
    model.scores.push_back(piece.type == SentencePieceFile::UserDefined ? 0 : piece.score);
  }
  model.least = least;
}

PieceNormalizer makeNormalizer(const std::string &name, const SentencePieceFile &file) {
  PieceNormalizer normalizer;
  normalizer.addDummyPrefix = file.addDummyPrefix;
  normalizer.removeExtraWhitespaces = file.removeExtraWhitespaces;
  if (!file.charsmap.empty())
    normalizer.map =
        std::make_shared<Charsmap>(name + ": normalizer_spec.precompiled_charsmap", file.charsmap);
  std::vector<ByteTrie::Item> kept;
  for (const SentencePieceFile::Piece &piece : file.pieces)
    if (piece.type == SentencePieceFile::UserDefined)
      kept.emplace_back(piece.text, 0);
  if (!kept.empty()) {
    auto trie = std::make_shared<ByteTrie>();
    trie->build(std::move(kept));
    normalizer.userDefined = std::move(trie);
  }
  return normalizer;
}

} // namespace

void TokenizerReader::readMarian(const TokenizerFiles &files, const SentencePieceFile &file,
                                 TokenizerConfig &config) {
  config.setDefaults({{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}});
  TokenizerField fields = config.fields();
  if (fields.boolean("separate_vocabs", false))
    fields["separate_vocabs"].fail("two vocabularies are not supported, expected false");
  if (file.byteFallback)
    fail("{}: trainer_spec.byte_fallback: is not supported for MarianTokenizer, expected false",
         result.name);
  if (!files.has("vocab.json"))
    fail("{}vocab.json: MarianTokenizer needs this file, which is not there", files.prefix);
  std::string vocabName = files.prefix + "vocab.json";
  Json vocab = files.json("vocab.json");
  Unigram model;
  model.vocab.reserve(vocab.size());
  TokenizerField(vocabName, vocab).items([&](const std::string &token, const TokenizerField &id) {
    model.vocab.add(token, id.count());
  });
  const DescribedToken *unknown = config.named("unk_token");
  int64_t unknownId = unknown ? model.vocab.find(unknown->content) : -1;
  if (unknownId < 0)
    fail("{}: the vocabulary has no unk_token \"{}\"", vocabName,
         unknown ? printable(unknown->content) : "");
  setScores(file, model);
  JoinPieces join;
  join.dropsFirstSpace = file.addDummyPrefix || file.removeExtraWhitespaces;
  join.dropsAllSpaces = file.removeExtraWhitespaces;
  Vocabulary places;
  Unigram::Pieces pieces;
  for (size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece &piece = file.pieces[i];
    int64_t id = model.vocab.find(piece.text);
    model.ids.push_back(id < 0 ? unknownId : id);
    places.add(piece.text, static_cast<int64_t>(i));
    if (file.isInText(i))
      pieces.emplace_back(piece.text, static_cast<int32_t>(i));
    if (piece.type == SentencePieceFile::Control && id >= 0)
      join.silent.insert(piece.text);
  }
  model.unknownId = static_cast<int64_t>(file.unknown);
  for (const Vocabulary::Entry &entry : model.vocab.all())
    if (entry.token.starts_with(spaceMark) && places.find(entry.token) < 0)
      join.foreign.insert(entry.token);
  model.finish(std::move(pieces));
  result.languageCodes = unknownId;
  result.normalizer.steps = {makeNormalizer(result.name, file)};
  result.model = std::move(model);
  tokens = result.vocabulary().size();
  auto others = config.extra(/*alsoOfMap=*/true);
  for (DescribedToken &token : config.tokens(others ? *others : std::vector<DescribedToken>())) {
    if (token.content.empty())
      continue;
    token.normalized = false; // this class looks for all in the text as it is
    add(token, token.id ? *token.id : addedId(token.content));
  }
  join.special = {result.special.begin(), result.special.end()};
  result.decoder = Decoder{{std::move(join)}};
  if (config.named("pad_token"))
    result.pad = idOfNamed(config, "pad_token");
  int64_t end = idOfNamed(config, "eos_token");
  surround({{{0, {}, 0}, {-1, {end}, 0}}, {{0, {}, 0}, {1, {}, 0}, {-1, {end}, 0}}});
}

} // namespace transformer::runtime
