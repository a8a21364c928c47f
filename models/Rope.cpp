//===- Rope.cpp - rotary positions of a configuration ---------------------===//
#include "models/Rope.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The fields of one configuration that say how frequencies are made.
class RopeReader {
public:
  RopeReader(Config &config, int64_t positions, const Rope::Family &family)
      : config(config), positions(positions), family(family),
        key(config.has({"rope_parameters"}) ? "rope_parameters" : "rope_scaling"),
        fields(config.object(key)) {}

  Rope read(int64_t headDim) {
    Rope rope;
    std::string type = fields ? fields->text({"rope_type", "type"}, "default") : "default";
    if (family.scalesByLongRope && (type == "su" || type == "yarn"))
      type = "longrope";
    rope.theta = number("rope_theta", config.number({family.thetaKey}, 10000));
    dim = rotatedColumns(headDim);
    if (rope.theta == 0)
      config.fail(family.thetaKey, "a number above 0", "0");
    rope.width = 2 * pairs();
    if (rope.width > headDim)
      config.fail("head_dim", "an even number, whose halves are rotated", Twine(headDim));
    if (!config.ok())
      return rope;
    scale(rope, type);
    if (fields && !fields->ok())
      config.failFile(fields->error());
    return rope;
  }

private:
  int64_t pairs() const { return (dim + 1) / 2; }

  int64_t rotatedColumns(int64_t headDim) {
    bool isPartial = !family.partialKey.empty();
    StringRef ownKey = isPartial ? family.partialKey : inFields;
    double share = number(inFields, config.number({ownKey}, family.partial));
    auto columns = static_cast<int64_t>(double(headDim) * share);
    if (!isPartial && share != 1)
      config.fail(inFields, "1 (this family rotates whole heads)", std::to_string(share));
    else if (columns < 1 || columns > headDim)
      config.fail(ownKey, "a share of the head's " + Twine(headDim) + " columns, at least one",
                  std::to_string(share));
    return columns;
  }

  double number(StringRef name, double defaultValue) {
    return fields ? fields->number({name}, defaultValue) : defaultValue;
  }
  /// A number that must be there and above 0.
  double needed(StringRef name) {
    double value = number(name, 0);
    if (value <= 0)
      fields->fail(name, "a number above 0", fields->has({name}) ? "0" : "no such field");
    return value > 0 ? value : 1;
  }
  /// How long the sequences of the training were.
  double trainedLength() {
    int64_t outside = config.size({"original_max_position_embeddings"}, family.trainedLength,
                                  Config::maxPositions);
    return outside ? double(outside)
                   : number("original_max_position_embeddings", double(positions));
  }

  void scale(Rope &rope, StringRef type) {
    if (type == "default" && dim % 2 == 0)
      return; // the op's own
    for (int64_t i = 0; i < pairs(); ++i)
      rope.frequencies.push_back(std::pow(rope.theta, -2.0 * double(i) / double(dim)));
    if (type == "linear")
      scaleLinear(rope);
    else if (type == "dynamic")
      rope.maxLength = positions; // longer ones would change the frequencies of all
    else if (type == "llama3")
      scaleLlama3(rope);
    else if (type == "yarn")
      scaleYarn(rope);
    else if (type == "longrope")
      scaleLongRope(rope);
    else if (type != "default")
      config.failText(key, "a type of default, linear, dynamic, llama3, yarn or longrope", type);
  }

  void scaleLinear(Rope &rope) {
    double factor = needed("factor");
    for (double &f : rope.frequencies)
      f /= factor;
  }

  /// Long waves are stretched by the factor, short ones kept, those between mixed
  /// (Llama 3.1).
  void scaleLlama3(Rope &rope) {
    double factor = needed("factor"), low = needed("low_freq_factor"),
           high = needed("high_freq_factor"), length = trainedLength();
    if (high <= low)
      fields->fail("high_freq_factor", "a number above low_freq_factor", std::to_string(high));
    for (double &f : rope.frequencies) {
      double turns = length * f / (2 * M_PI);
      double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
      f = (1 - kept) * f / factor + kept * f;
    }
  }

  /// Peng et al. 2023, with the names of Hugging Face's fields.
  void scaleYarn(Rope &rope) {
    if (dim % 2)
      config.fail(inFields, "an even number of columns to rotate, with yarn", Twine(dim));
    double length = trainedLength();
    double factor = fields->has({"factor"}) ? needed("factor") : double(positions) / length;
    auto stretch = [&](double scale) {
      return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
    };
    double all = number("mscale_all_dim", 0), some = number("mscale", 0);
    rope.scale = some != 0 && all != 0 ? stretch(some) / stretch(all) : stretch(1);
    rope.scale = number("attention_factor", rope.scale);
    // Pairs that turn more than `fast` times in the trained length are kept, below
    // `slow` times stretched.
    auto pairOf = [&](double turns) {
      return double(dim) * std::log(length / (turns * 2 * M_PI)) / (2 * std::log(rope.theta));
    };
    auto orElse = [&](StringRef name, double value) {
      double given = number(name, 0);
      return given != 0 ? given : value;
    };
    double first = pairOf(orElse("beta_fast", 32)), last = pairOf(orElse("beta_slow", 1));
    if (fields->flag({"truncate"}, true)) {
      first = std::floor(first);
      last = std::ceil(last);
    }
    first = std::max(first, 0.0);
    last = std::min(last, double(dim - 1));
    if (first == last)
      last += 0.001;
    for (auto [i, f] : llvm::enumerate(rope.frequencies)) {
      double stretched = std::clamp((double(i) - first) / (last - first), 0.0, 1.0);
      f = stretched * f / factor + (1 - stretched) * f;
    }
  }

  /// Ding et al. 2024, with the names of Hugging Face's fields. Sequences longer
  /// than those of the training have other factors, and with them every position of
  /// the sequence has: they are refused.
  void scaleLongRope(Rope &rope) {
    double length = trainedLength();
    double factor = fields->has({"factor"}) ? needed("factor") : double(positions) / length;
    if (length < 2)
      return config.fail("original_max_position_embeddings", "at least 2, with longrope",
                         Twine(int64_t(length)));
    double scale = factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(length));
    rope.scale = number("attention_factor", scale);
    rope.maxLength = int64_t(length);
    auto factors = fields->numbers("short_factor");
    if (!factors || factors->size() != rope.frequencies.size())
      return fields->fail("short_factor",
                          Twine(rope.frequencies.size()) + " numbers, one for each pair of columns",
                          factors ? std::to_string(factors->size()) : "no such field");
    for (auto [f, stretched] : llvm::zip_equal(rope.frequencies, *factors))
      f /= stretched;
  }

  static constexpr StringLiteral inFields = "partial_rotary_factor";
  Config &config;
  int64_t positions, dim = 0;
  const Rope::Family &family;
  StringRef key;
  std::optional<Config> fields;
};

} // namespace

Rope Rope::read(Config &config, int64_t headDim, int64_t positions, const Family &family) {
  return RopeReader(config, positions, family).read(headDim);
}

Value Rope::table(Body &body, Value positions) const {
  OpBuilder &b = body.builder;
  auto given = frequencies.empty() ? DenseF64ArrayAttr() : b.getDenseF64ArrayAttr(frequencies);
  return RotaryTableOp::create(b, body.named("rotary_table"), body.rows(width), positions, given,
                               b.getF64FloatAttr(theta), b.getF64FloatAttr(scale));
}
