//===- SentencePieceFile.cpp - a SentencePiece model's file ---------------===//
#include "runtime/text/SentencePieceFile.h"

#include "runtime/base/Error.h"
#include "runtime/text/Utf8.h"

#include <cmath>
#include <cstring>
#include <unordered_map>

namespace transformer::runtime {
namespace {

/// A value of a message: its field's number, and what follows in protobuf's wire format.
struct WireValue {
  enum Kind { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
  uint64_t field;
  Kind kind;
  uint64_t number = 0;    // of Varint, Fixed32 and Fixed64
  std::string_view bytes; // of Bytes
};

/// Reads the values of a message one after the other; each length is checked.
class WireReader {
public:
  /// `where` begins messages, "spiece.model: trainer_spec".
  WireReader(std::string where, std::string_view rest) : where(std::move(where)), rest(rest) {}

  /// The next value; false at the end.
  bool next(WireValue &value) {
    if (rest.empty())
      return false;
    uint64_t tag = varint();
    value = {tag >> 3, static_cast<WireValue::Kind>(tag & 7), 0, {}};
    switch (value.kind) {
    case WireValue::Varint:
      value.number = varint();
      return true;
    case WireValue::Fixed64:
      value.number = fixed(8);
      return true;
    case WireValue::Fixed32:
      value.number = fixed(4);
      return true;
    case WireValue::Bytes: {
      uint64_t size = varint();
      if (size > rest.size())
        fail("{}: expected {} bytes of field {}, found {}", where, size, value.field, rest.size());
      value.bytes = rest.substr(0, size);
      rest.remove_prefix(size);
      return true;
    }
    }
    fail("{}: expected a value of wire type 0, 1, 2 or 5, found {} for field {}", where, tag & 7,
         value.field);
  }

private:
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && !rest.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(rest[0]);
      rest.remove_prefix(1);
      if (shift < 64)
        value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80)
        return value;
    }
    fail("{}: a number without an end", where);
  }

  uint64_t fixed(size_t size) {
    if (rest.size() < size)
      fail("{}: expected {} more bytes, found {}", where, size, rest.size());
    uint64_t value = 0;
    std::memcpy(&value, rest.data(), size);
    rest.remove_prefix(size);
    return value;
  }

  std::string where;
  std::string_view rest;
};

/// A known field: checks the kind of its value.
class FieldReader {
public:
  FieldReader(const std::string &message, const char *name, const WireValue &value)
      : where(message + (message.ends_with(": ") ? "" : ".") + name), value(value) {}

  std::string_view bytes() const {
    require(WireValue::Bytes, "bytes");
    return value.bytes;
  }
  bool boolean() const {
    require(WireValue::Varint, "true or false");
    return value.number != 0;
  }
  uint64_t number() const {
    require(WireValue::Varint, "a number");
    return value.number;
  }
  float real() const {
    require(WireValue::Fixed32, "a float");
    auto bits = static_cast<uint32_t>(value.number);
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    if (!std::isfinite(number))
      fail("{}: expected a finite number, found {}", where, number);
    return number;
  }
  std::string path() const { return where; }

private:
  void require(WireValue::Kind kind, const char *expected) const {
    if (value.kind != kind)
      fail("{}: expected {}, found wire type {}", where, expected, static_cast<int>(value.kind));
  }

  std::string where;
  const WireValue &value;
};

/// Reads the messages of a ModelProto; numbers of fields are those of sentencepiece_model.proto.
class ModelProtoReader {
public:
  explicit ModelProtoReader(const std::string &name) : name(name) {}

  SentencePieceFile read(std::string_view bytes) {
    WireReader reader(name, bytes);
    for (WireValue value; reader.next(value);) {
      auto field = [&](const char *key) { return FieldReader(name + ": ", key, value); };
      if (value.field == 1)
        readPiece(field(formatted("pieces[{}]", file.pieces.size()).c_str()));
      else if (value.field == 2)
        readTrainer(field("trainer_spec"));
      else if (value.field == 3)
        readNormalizer(field("normalizer_spec"));
      else if (value.field == 5)
        readDenormalizer(field("denormalizer_spec"));
    }
    check();
    return std::move(file);
  }

private:
  void readPiece(const FieldReader &message) {
    SentencePieceFile::Piece piece;
    WireReader reader(message.path(), message.bytes());
    for (WireValue value; reader.next(value);) {
      auto field = [&](const char *key) { return FieldReader(message.path(), key, value); };
      if (value.field == 1)
        piece.text = field("piece").bytes();
      else if (value.field == 2)
        piece.score = field("score").real();
      else if (value.field == 3)
        piece.type = readType(field("type"));
    }
    if (piece.text.empty() || !isUtf8(piece.text))
      fail("{}.piece: expected text in UTF-8, found \"{}\"", message.path(), printable(piece.text));
    file.pieces.push_back(std::move(piece));
  }

  static SentencePieceFile::Type readType(const FieldReader &field) {
    uint64_t type = field.number();
    if (type < SentencePieceFile::Normal || type > SentencePieceFile::Byte)
      fail("{}: expected a number from 1 to 6, found {}", field.path(), type);
    return static_cast<SentencePieceFile::Type>(type);
  }

  void readTrainer(const FieldReader &message) {
    WireReader reader(message.path(), message.bytes());
    for (WireValue value; reader.next(value);) {
      auto field = [&](const char *key) { return FieldReader(message.path(), key, value); };
      if (value.field == 3)
        readModelType(field("model_type"));
      else if (value.field == 24)
        require(field("treat_whitespace_as_suffix"), false);
      else if (value.field == 35)
        file.byteFallback = field("byte_fallback").boolean();
    }
  }

  void readModelType(const FieldReader &field) {
    uint64_t type = field.number();
    if (type != SentencePieceFile::Unigram && type != SentencePieceFile::Bpe)
      fail("{}: {} is not supported, expected unigram or bpe", field.path(),
           type == 3   ? "word"
           : type == 4 ? "char"
                       : formatted("{}", type));
    file.modelType = static_cast<SentencePieceFile::ModelType>(type);
  }

  void readNormalizer(const FieldReader &message) {
    WireReader reader(message.path(), message.bytes());
    for (WireValue value; reader.next(value);) {
      auto field = [&](const char *key) { return FieldReader(message.path(), key, value); };
      if (value.field == 2)
        file.charsmap = field("precompiled_charsmap").bytes();
      else if (value.field == 3)
        file.addDummyPrefix = field("add_dummy_prefix").boolean();
      else if (value.field == 4)
        file.removeExtraWhitespaces = field("remove_extra_whitespaces").boolean();
      else if (value.field == 5)
        require(field("escape_whitespaces"), true);
    }
  }

  static void readDenormalizer(const FieldReader &message) {
    WireReader reader(message.path(), message.bytes());
    for (WireValue value; reader.next(value);) {
      FieldReader field(message.path(), "precompiled_charsmap", value);
      if (value.field == 2 && !field.bytes().empty())
        fail("{}: is not supported, expected none", field.path());
    }
  }

  static void require(const FieldReader &field, bool expected) {
    if (field.boolean() != expected)
      fail("{}: {} is not supported, expected {}", field.path(), !expected, expected);
  }

  void check() {
    if (file.pieces.empty())
      fail("{}: not a SentencePiece model: it has no pieces", name);
    std::unordered_map<std::string_view, size_t> places;
    bool found = false;
    for (size_t i = 0; i < file.pieces.size(); ++i) {
      const SentencePieceFile::Piece &piece = file.pieces[i];
      auto [other, isNew] = places.emplace(piece.text, i);
      if (!isNew)
        fail("{}: pieces[{}]: \"{}\" is pieces[{}], too", name, i, printable(piece.text),
             other->second);
      if (piece.type != SentencePieceFile::Unknown)
        continue;
      if (found)
        fail("{}: pieces[{}]: the unknown piece is pieces[{}]", name, i, file.unknown);
      file.unknown = i;
      found = true;
    }
    if (!found)
      fail("{}: no piece has the type UNKNOWN", name);
  }

  const std::string &name;
  SentencePieceFile file;
};

} // namespace

SentencePieceFile readSentencePieceFile(const std::string &name, std::string_view bytes) {
  return ModelProtoReader(name).read(bytes);
}

} // namespace transformer::runtime
