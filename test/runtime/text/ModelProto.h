//===- ModelProto.h - SentencePiece models in tests -------------*- C++ -*-===//
#ifndef TRANSFORMER_TEST_RUNTIME_TEXT_MODELPROTO_H
#define TRANSFORMER_TEST_RUNTIME_TEXT_MODELPROTO_H

#include <cstdint>
#include <cstring>
#include <string>

namespace transformer::runtime {

/// Writes a message in protobuf's wire format.
class WireWriter {
public:
  WireWriter &number(unsigned field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  WireWriter &real(unsigned field, float value) {
    varint(field << 3 | 5);
    char raw[sizeof(value)];
    std::memcpy(raw, &value, sizeof(value));
    text.append(raw, sizeof(raw));
    return *this;
  }
  WireWriter &bytes(unsigned field, const std::string &value) {
    varint(field << 3 | 2);
    varint(value.size());
    text += value;
    return *this;
  }
  WireWriter &varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      text += static_cast<char>(value | 0x80);
    text += static_cast<char>(value);
    return *this;
  }

  std::string text;
};

/// A ModelProto, field by field.
class ModelProto {
public:
  enum { Normal = 1, Unknown, Control, UserDefined, Unused, Byte };

  ModelProto &piece(const std::string &piece, float score = 0, int type = Normal) {
    WireWriter message;
    message.bytes(1, piece).real(2, score);
    if (type != Normal)
      message.number(3, static_cast<uint64_t>(type));
    file.bytes(1, message.text);
    return *this;
  }
  ModelProto &trainer(unsigned field, uint64_t value) {
    file.bytes(2, WireWriter().number(field, value).text);
    return *this;
  }
  ModelProto &normalizer(unsigned field, uint64_t value) {
    file.bytes(3, WireWriter().number(field, value).text);
    return *this;
  }

  WireWriter file;
};

} // namespace transformer::runtime

#endif // TRANSFORMER_TEST_RUNTIME_TEXT_MODELPROTO_H
