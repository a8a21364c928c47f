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
  InitAttr embedding(MLIRContext *context) const;
};

InitAttr makeInit(MLIRContext *context, InitKind kind);
InitAttr makeInit(MLIRContext *context, InitKind kind, double value);

/// A norm: its formula and how its tensors are called.
struct Norm {
  double eps;
  bool unbiased = false;
  bool epsOutside = false;
  llvm::StringRef gamma = "weight";
  llvm::StringRef beta = "bias";
};

/// What an attention block attends to, beside its rows and sequences.
struct AttentionOptions {
  int64_t heads;
  bool causal = false;
  Value memory = {};
  Value memorySequences = {};
  int64_t kvHeads = 0; // as many as heads
  int64_t window = 0;  // none
};

/// Writes ops one after the other, taking weights by name: in an entry point a
/// name is a parameter's, in a layer function it is the part after the layer's
/// own prefix and becomes an argument.
class Body {
public:
  using WeightSource =
      std::function<Value(llvm::StringRef name, RankedTensorType type, InitAttr init)>;

  Body(Block *block, InitScheme init, WeightSource weights);

  /// The weight called `name`; the same name gives the same value.
  Value weight(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, InitAttr init);

  /// `NAME.weight` and `NAME.bias`, with as many outputs as `width`.
  Value linear(Value x, llvm::StringRef name, int64_t width,
               WeightLayout layout = WeightLayout::OutIn,
               std::optional<InitScheme> otherInit = std::nullopt);
  /// The same, `[out, in]`, whose bias may not be there.
  Value linear(Value x, llvm::StringRef name, int64_t width, bool hasBias);
  /// A linear layer of given tensors, `bias` may be null; `name` is the result's.
  Value linear(Value x, Value weight, Value bias, WeightLayout layout, llvm::StringRef name);
  /// `NAME.weight` of shape `[rows, width]`.
  Value embedding(Value ids, llvm::StringRef name, int64_t rows, int64_t width, double scale = 1);
  /// Interleaved sinusoids.
  Value sinusoids(Value positions, int64_t width, int64_t maxPositions);
  Value layerNorm(Value x, llvm::StringRef name, const Norm &norm);
  /// `NAME.weight`.
  Value rmsNorm(Value x, llvm::StringRef name, double eps);
  Value add(Value x, Value residual, llvm::StringRef name);
  Value activation(ActivationKind kind, Value x);
  /// Splits rows into `parts` of equal width.
  SmallVector<Value> split(Value x, unsigned parts, llvm::StringRef name);
  /// Rows `first .. first + count - 1` of a weight or a bias.
  Value slice(Value weight, int64_t first, int64_t count, llvm::StringRef name);
  /// Attention of projected rows; `scaleFactor` may be null.
  Value attention(ArrayRef<Value> qkv, Value sequences, const AttentionOptions &options,
                  double scale, Value scaleFactor = {});
  /// Four linear layers called `names` (query, key, value, output).
  Value multiHeadAttention(Value x, Value sequences, const std::array<std::string, 4> &names,
                           const AttentionOptions &options);
  /// Two linear layers called `up` and `down`.
  Value feedForward(ActivationKind kind, Value x, llvm::StringRef up, llvm::StringRef down,
                    int64_t width, WeightLayout layout = WeightLayout::OutIn,
                    std::optional<InitScheme> downInit = std::nullopt);
  /// Three linear layers: down(activation(gate(x)) * up(x)).
  Value gatedFeedForward(ActivationKind kind, Value x, llvm::StringRef gate, llvm::StringRef up,
                         llvm::StringRef down, int64_t width, bool hasBias);
  /// Cosines and sines of `width` rotated columns for positions `[tokens]`.
  Value rotaryTable(Value positions, int64_t width, double theta);
  /// x, whose heads are rotated by their positions.
  Value rotate(Value x, Value table, int64_t heads, llvm::StringRef name);
  Value firstToken(Value x, Value sequences);
  Value unpack(Value x, Value sequences, llvm::StringRef name,
               std::optional<int64_t> column = std::nullopt);

  /// A location that gives the next value its name in the text.
  Location named(llvm::StringRef name);
  RankedTensorType rows(int64_t width);

  OpBuilder builder;
  InitScheme init;

private:
  std::pair<Value, Value> linearWeights(llvm::StringRef name, int64_t in, int64_t out,
                                        WeightLayout layout, const InitScheme &init,
                                        bool hasBias = true);
  AttentionOptionsAttr optionsOf(const AttentionOptions &options);

  WeightSource source;
  llvm::StringMap<Value> known;
};

} // namespace mlir::transformer

#endif // MODELS_BODY_H
