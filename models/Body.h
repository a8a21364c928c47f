//===- Body.h - writing the body of a layer or an entry point -------------===//
#ifndef MODELS_BODY_H
#define MODELS_BODY_H

#include "dialect/TransformerDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <functional>
#include <string>

namespace mlir::transformer {

/// How a family starts its parameters before training.
struct InitScheme {
  /// Standard deviation of weights and embeddings with zero biases (Hugging
  /// Face), or nothing: PyTorch's defaults, Linear uniform in +-1/sqrt(fan_in),
  /// Embedding normal(1).
  std::optional<double> deviation;
  /// Weights are xavier_uniform instead (torch.nn.Transformer).
  bool xavier = false;

  InitAttr linearWeight(MLIRContext *context) const;
  InitAttr linearBias(MLIRContext *context, int64_t fanIn) const;
  /// The row `padding` starts as zeros.
  InitAttr embedding(MLIRContext *context, std::optional<int64_t> padding = {}) const;
};

/// Rates of dropout in training.
struct DropoutRates {
  double hidden = 0;     // of what is added to the residual stream
  double attention = 0;  // of attention's probabilities
  double activation = 0; // between the layers of a feed-forward block
  double embedding = 0;  // of their sum, where that is another rate than `hidden`
  double classifier = 0; // of what a head for sequences or tokens reads
};

InitAttr makeInit(MLIRContext *context, InitKind kind);
InitAttr makeInit(MLIRContext *context, InitKind kind, double value,
                  std::optional<int64_t> zeroRow = {});

/// A norm: its formula and how its tensors are called.
struct Norm {
  double eps;
  bool unbiased = false;
  bool epsOutside = false;
  llvm::StringRef gamma = "weight";
  llvm::StringRef beta = "bias";
  bool affine = true; // else gamma is 1 and beta 0, which no checkpoint holds
};

/// A root mean square norm, whose tensor is called `weight`.
struct RmsNorm {
  double eps;
  bool lessOne = false; // stored is gamma - 1
  int64_t heads = 1;    // parts of a row that are normalised by themselves
  double scale = 1;     // of the result
  double start = 1;     // gamma's elements before training
};

/// What an attention block attends to, beside its rows and sequences.
struct AttentionOptions {
  int64_t heads;
  bool causal = false;
  Value memory = {};
  Value memorySequences = {};
  int64_t kvHeads = 0;     // as many as heads
  int64_t window = 0;      // none
  Value positionBias = {}; // none
  Value scaleFactor = {};  // a factor of the scores that is a value; none
  // Disentangled: scores of queries and of keys with distances, and the column of a distance.
  Value queryScores = {}, keyScores = {};
  llvm::ArrayRef<int32_t> columns = {};
};

/// A convolution over time.
struct Convolution {
  int64_t kernel, stride, padding;
};

/// Writes ops one after the other, taking weights by name: in an entry point a
/// name is a parameter's, in a layer function it is the part after the layer's
/// own prefix and becomes an argument.
class Body {
public:
  using WeightSource =
      std::function<Value(llvm::StringRef name, RankedTensorType type, InitAttr init)>;

  /// `dropout` outlives the body.
  Body(Block *block, InitScheme init, const DropoutRates &dropout, WeightSource weights);

  /// The weight called `name`; the same name gives the same value.
  Value weight(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, InitAttr init);

  /// A constant vector.
  Value constant(llvm::ArrayRef<float> values, llvm::StringRef name);

  /// `NAME.weight` and `NAME.bias`, with as many outputs as `width`.
  Value linear(Value x, llvm::StringRef name, int64_t width,
               WeightLayout layout = WeightLayout::OutIn,
               std::optional<InitScheme> otherInit = std::nullopt);
  /// The same, `[out, in]`, whose bias may not be there.
  Value linear(Value x, llvm::StringRef name, int64_t width, bool hasBias);
  /// A linear layer of given tensors, `bias` may be null; `name` is the result's.
  Value linear(Value x, Value weight, Value bias, WeightLayout layout, llvm::StringRef name);
  /// A linear layer of the windows of sequences, whose results are the tokens of
  /// other ones: `NAME.weight` of shape `[width, in, kernel]` and `NAME.bias`.
  Value convolution(Value x, Value sequences, Value resultSequences, llvm::StringRef name,
                    int64_t width, const Convolution &convolution);
  /// `NAME.weight` of shape `[rows, width]`.
  Value embedding(Value ids, llvm::StringRef name, int64_t rows, int64_t width, double scale = 1,
                  std::optional<int64_t> padding = {});
  /// Rows of a given table; `name` is the result's.
  Value embedding(Value ids, Value table, llvm::StringRef name, double scale = 1,
                  std::optional<int64_t> padding = {});
  Value sinusoids(Value positions, int64_t width, int64_t maxPositions,
                  SinusoidLayout layout = SinusoidLayout::Interleaved);
  Value layerNorm(Value x, llvm::StringRef name, const Norm &norm);
  /// `NAME.weight`.
  Value rmsNorm(Value x, llvm::StringRef name, const RmsNorm &norm);
  Value add(Value x, Value residual, llvm::StringRef name);
  Value activation(ActivationKind kind, Value x);
  /// x, of which training drops some numbers.
  Value drop(Value x, double rate);
  Value drop(Value x) { return drop(x, dropout.hidden); }
  /// Splits rows into `parts` of equal width, or into parts of `widths`.
  SmallVector<Value> split(Value x, unsigned parts, llvm::StringRef name);
  SmallVector<Value> split(Value x, llvm::ArrayRef<int64_t> widths, llvm::StringRef name);
  /// Rows `first .. first + count - 1` of a weight or a bias.
  Value slice(Value weight, int64_t first, int64_t count, llvm::StringRef name);
  /// Of a weight or a bias for `heads` heads of several parts (query, key and
  /// value beside each other) one part of every head, `[heads * D, ...]`.
  Value partOfHeads(Value weight, int64_t heads, int64_t part, int64_t parts, llvm::StringRef name);
  /// Of each head's first `rotated` rows the even ones, then the odd ones: what
  /// is rotated in neighbouring pairs is then rotated in halves.
  Value halvesOfPairs(Value weight, int64_t heads, int64_t rotated, llvm::StringRef name);
  /// Attention of projected rows.
  Value attention(ArrayRef<Value> qkv, Value sequences, const AttentionOptions &options,
                  double scale);
  /// Four linear layers called `names` (query, key, value, output).
  Value multiHeadAttention(Value x, Value sequences, const std::array<std::string, 4> &names,
                           const AttentionOptions &options);
  /// Two linear layers called `up` and `down`.
  Value feedForward(ActivationKind kind, Value x, llvm::StringRef up, llvm::StringRef down,
                    int64_t width, WeightLayout layout = WeightLayout::OutIn,
                    std::optional<InitScheme> downInit = std::nullopt, bool hasBias = true);
  /// Three linear layers: down(activation(gate(x)) * up(x)).
  Value gatedFeedForward(ActivationKind kind, Value x, llvm::StringRef gate, llvm::StringRef up,
                         llvm::StringRef down, int64_t width, bool hasBias,
                         std::optional<InitScheme> downInit = std::nullopt);
  /// The same, of which gate and up are the two halves of the layer `gateUp`; without biases.
  Value gatedFeedForward(ActivationKind kind, Value x, llvm::StringRef gateUp, llvm::StringRef down,
                         int64_t width);
  /// x, whose heads are rotated by their positions.
  Value rotate(Value x, Value table, int64_t heads, llvm::StringRef name);
  Value firstToken(Value x, Value sequences);
  Value lastToken(Value x, Value sequences);
  Value unpack(Value x, Value sequences, llvm::StringRef name,
               std::optional<int64_t> column = std::nullopt);
  /// The same for sequences of one length, which the result's type has.
  Value unpackFixed(Value x, Value sequences, llvm::StringRef name, int64_t length);
  /// The same elements in another static shape.
  Value reshape(Value x, llvm::ArrayRef<int64_t> shape, llvm::StringRef name);

  /// A location that gives the next value its name in the text.
  Location named(llvm::StringRef name);
  RankedTensorType rows(int64_t width);

  OpBuilder builder;
  InitScheme init;
  const DropoutRates &dropout;

  /// `NAME.weight` and `NAME.bias`, which is null if there is none.
  std::pair<Value, Value> linearWeights(llvm::StringRef name, int64_t in, int64_t out,
                                        WeightLayout layout, const InitScheme &init,
                                        bool hasBias = true);

private:
  AttentionOptionsAttr optionsOf(const AttentionOptions &options);

  WeightSource source;
  llvm::StringMap<Value> known;
};

} // namespace mlir::transformer

#endif // MODELS_BODY_H
