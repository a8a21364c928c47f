//===- Gradients.cpp - losses, and the backward of ops --------------------===//
#include "dialect/reference/Operations.h"
#include <cmath>

using namespace mlir;
using namespace mlir::transformer;
using namespace mlir::transformer::reference;

LogicalResult reference::evaluate(ShiftLabelsOp op, Frame &frame) {
  const Tensor &labels = frame.tensor(op.getLabels());
  int64_t columns = labels.shape[1];
  Tensor result = labels;
  for (int64_t i = 0; i < labels.size(); ++i)
    result.integers()[i] =
        (i + 1) % columns ? labels.integers()[i + 1] : static_cast<int64_t>(op.getIgnoreIndex());
  frame.set(op.getResult(), std::move(result));
  return success();
}

/// softmax of a row of scores.
static std::vector<double> probabilities(llvm::ArrayRef<double> scores) {
  double most = *llvm::max_element(scores), sum = 0;
  std::vector<double> result;
  for (double score : scores)
    sum += result.emplace_back(std::exp(score - most));
  for (double &value : result)
    value /= sum;
  return result;
}

static Tensor scalar(double value) { return Tensor{{}, std::vector<double>{value}}; }

/// A loss, the mean of `count` terms; 0 of none.
static Tensor meanOf(double sum, int64_t count) { return scalar(count ? sum / count : 0.0); }

/// Makes the gradients of a sum of `count` terms those of what depends on their mean.
static void scaleToMean(Tensor &gradients, int64_t count, const Tensor &dloss) {
  for (double &value : gradients.reals())
    value *= dloss.reals()[0] / std::max<int64_t>(count, 1);
}

template <typename OpTy> static bool counts(OpTy op, int64_t label) {
  auto padding = op.getPaddingIndex();
  return label != static_cast<int64_t>(op.getIgnoreIndex()) &&
         !(padding && label == static_cast<int64_t>(*padding));
}

/// Calls `visit` with each row that counts, its label and probabilities; returns how many.
template <typename OpTy>
static FailureOr<int64_t>
forEachLabel(OpTy op, Frame &frame,
             llvm::function_ref<void(int64_t, int64_t, llvm::ArrayRef<double>)> visit) {
  const Tensor &logits = frame.tensor(op.getLogits()), &labels = frame.tensor(op.getLabels());
  if (labels.shape[0] != logits.shape[0])
    return frame.fail(op, "expected as many labels as rows");
  int64_t classes = logits.shape[1], count = 0;
  for (int64_t t = 0; t < logits.shape[0]; ++t) {
    int64_t label = labels.integers()[t];
    if (!counts(op, label))
      continue;
    if (label < 0 || label >= classes)
      return frame.fail(op, "label " + llvm::Twine(label) + " of row " + llvm::Twine(t) +
                                " is outside [0, " + llvm::Twine(classes) + ")");
    visit(t, label, probabilities({logits.row(t), static_cast<size_t>(classes)}));
    ++count;
  }
  return count;
}

LogicalResult reference::evaluate(CrossEntropyOp op, Frame &frame) {
  double smoothing = op.getLabelSmoothing().convertToDouble(), sum = 0;
  auto count = forEachLabel(op, frame, [&](int64_t, int64_t label, llvm::ArrayRef<double> p) {
    double all = 0;
    for (double value : p)
      all += std::log(value);
    sum -= (1 - smoothing) * std::log(p[label]) + smoothing / p.size() * all;
  });
  if (failed(count))
    return failure();
  frame.set(op.getLoss(), meanOf(sum, *count));
  return success();
}

LogicalResult reference::evaluate(CrossEntropyGradientOp op, Frame &frame) {
  double smoothing = op.getLabelSmoothing().convertToDouble();
  Tensor result = Tensor::zeros(frame.tensor(op.getLogits()).shape);
  auto count = forEachLabel(op, frame, [&](int64_t t, int64_t label, llvm::ArrayRef<double> p) {
    for (auto [v, value] : llvm::enumerate(p)) {
      double target = static_cast<int64_t>(v) == label ? 1 - smoothing : 0;
      result.row(t)[v] = value - target - smoothing / p.size();
    }
  });
  if (failed(count))
    return failure();
  scaleToMean(result, *count, frame.tensor(op.getDloss()));
  frame.set(op.getDlogits(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(LabelledTokensOp op, Frame &frame) {
  const Tensor &labels = frame.tensor(op.getLabels()), &mask = frame.tensor(op.getMask());
  Sequences spans = frame.sequences(op.getSequences());
  if (labels.shape != mask.shape)
    return frame.fail(op, "labels have shape " + shapeText(labels.shape) + ", but the mask has " +
                              shapeText(mask.shape));
  std::vector<int64_t> counted, first;
  for (auto [t, place] : llvm::enumerate(spans.places)) {
    bool isLast = op.getShifted() && (place + 1) % spans.length == 0;
    int64_t label = isLast ? static_cast<int64_t>(op.getIgnoreIndex())
                           : labels.integers()[place + (op.getShifted() ? 1 : 0)];
    if (!counts(op, label))
      continue;
    counted.push_back(label);
    first.push_back(t);
  }
  spans.batch = counted.size();
  first.push_back(spans.tokens());
  spans.offsets = std::move(first);
  Tensor result = Tensor::integerZeros({spans.batch});
  result.integers() = std::move(counted);
  frame.set(op.getCounted(), std::move(result));
  frame.set(op.getSpans(), std::move(spans));
  return success();
}

LogicalResult reference::evaluate(CountLabelsOp op, Frame &frame) {
  const Tensor &labels = frame.tensor(op.getLabels());
  int64_t count = labels.size();
  if (labels.isInteger())
    count = llvm::count_if(labels.integers(), [&](int64_t label) { return counts(op, label); });
  frame.set(op.getCount(), scalar(count));
  return success();
}

/// Which token of sequence `b` came from the column of its position; its end where none did.
static int64_t meantOf(const Sequences &sequences, const Tensor &positions, int64_t b) {
  int64_t column = std::max<int64_t>(positions.integers()[b], 0);
  for (int64_t t = sequences.offsets[b]; t < sequences.offsets[b + 1]; ++t)
    if (sequences.places[t] % sequences.length == column)
      return t;
  return sequences.offsets[b + 1];
}

LogicalResult reference::evaluate(CountSpansOp op, Frame &frame) {
  const Tensor &positions = frame.tensor(op.getPositions());
  const Sequences &sequences = frame.sequences(op.getSequences());
  if (positions.shape[0] != sequences.batch)
    return frame.fail(op, "expected a position for each sequence");
  int64_t count = llvm::count_if(llvm::seq(sequences.batch), [&](int64_t b) {
    return meantOf(sequences, positions, b) < sequences.offsets[b + 1];
  });
  frame.set(op.getCount(), scalar(count));
  return success();
}

/// Calls `visit` with each sequence that counts: its first token, the place of the one that is
/// meant among its tokens, and their probabilities; returns how many count.
template <typename OpTy>
static FailureOr<int64_t>
forEachSpan(OpTy op, Frame &frame,
            llvm::function_ref<void(int64_t, int64_t, llvm::ArrayRef<double>)> visit) {
  const Tensor &logits = frame.tensor(op.getLogits()), &positions = frame.tensor(op.getPositions());
  const Sequences &sequences = frame.sequences(op.getSequences());
  if (failed(checkRows(op, frame, "logits", logits, sequences)))
    return failure();
  if (positions.shape[0] != sequences.batch)
    return frame.fail(op, "expected a position for each sequence");
  int64_t count = 0;
  for (int64_t b = 0; b < sequences.batch; ++b) {
    int64_t first = sequences.offsets[b], end = sequences.offsets[b + 1];
    int64_t meant = meantOf(sequences, positions, b);
    std::vector<double> scores;
    for (int64_t t = first; t < end; ++t)
      scores.push_back(logits.row(t)[op.getColumn()]);
    if (meant == end)
      continue;
    visit(first, meant - first, probabilities(scores));
    ++count;
  }
  return count;
}

LogicalResult reference::evaluate(SpanLossOp op, Frame &frame) {
  double sum = 0;
  auto count = forEachSpan(op, frame, [&](int64_t, int64_t meant, llvm::ArrayRef<double> p) {
    sum -= std::log(p[meant]);
  });
  if (failed(count))
    return failure();
  frame.set(op.getLoss(), meanOf(sum, *count));
  return success();
}

LogicalResult reference::evaluate(SpanLossGradientOp op, Frame &frame) {
  Tensor result = Tensor::zeros(frame.tensor(op.getLogits()).shape);
  auto count = forEachSpan(op, frame, [&](int64_t first, int64_t meant, llvm::ArrayRef<double> p) {
    for (auto [i, value] : llvm::enumerate(p))
      result.row(first + i)[op.getColumn()] = value - (static_cast<int64_t>(i) == meant);
  });
  if (failed(count))
    return failure();
  scaleToMean(result, *count, frame.tensor(op.getDloss()));
  frame.set(op.getDlogits(), std::move(result));
  return success();
}

/// The labels of an element_loss, which may be integers.
static std::vector<double> numbersOf(const Tensor &labels) {
  if (!labels.isInteger())
    return labels.reals();
  return {labels.integers().begin(), labels.integers().end()};
}

static double logistic(double x) { return 1 / (1 + std::exp(-x)); }

LogicalResult reference::evaluate(ElementLossOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX()), &labels = frame.tensor(op.getLabels());
  bool squared = op.getKind() == LossKind::Squared;
  double sum = 0;
  for (auto [a, y] : llvm::zip_equal(x.reals(), numbersOf(labels)))
    sum +=
        squared ? (a - y) * (a - y) : std::max(a, 0.0) - a * y + std::log1p(std::exp(-std::abs(a)));
  double count = std::max<size_t>(x.reals().size(), 1);
  frame.set(op.getLoss(), scalar(sum / count));
  return success();
}

LogicalResult reference::evaluate(ElementLossGradientOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX()), &labels = frame.tensor(op.getLabels());
  bool squared = op.getKind() == LossKind::Squared;
  Tensor result = Tensor::zeros(x.shape);
  double share = frame.tensor(op.getDloss()).reals()[0] / x.reals().size();
  for (auto [dx, a, y] : llvm::zip_equal(result.reals(), x.reals(), numbersOf(labels)))
    dx = share * (squared ? 2 * (a - y) : logistic(a) - y);
  frame.set(op.getDx(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(LinearWeightGradientOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX()), &dy = frame.tensor(op.getDy());
  int64_t inputs = x.shape[1], outputs = dy.shape[1];
  bool outIn = op.getLayout() == WeightLayout::OutIn;
  Tensor result = op.getOnto() ? frame.tensor(op.getOnto())
                               : Tensor::zeros(outIn ? std::vector{outputs, inputs}
                                                     : std::vector{inputs, outputs});
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t n = 0; n < outputs; ++n)
      for (int64_t k = 0; k < inputs; ++k)
        (outIn ? result.row(n)[k] : result.row(k)[n]) += dy.row(t)[n] * x.row(t)[k];
  frame.set(op.getDweight(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(SumRowsOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX());
  Tensor result = Tensor::zeros({x.shape[1]});
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t c = 0; c < x.shape[1]; ++c)
      result.reals()[c] += x.row(t)[c];
  frame.set(op.getResult(), std::move(result));
  return success();
}

static double derivative(ActivationKind kind, double x) {
  switch (kind) {
  case ActivationKind::Relu:
    return x > 0 ? 1 : x <= 0 ? 0 : x; // NaN stays
  case ActivationKind::Gelu:
    return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) +
           x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
  case ActivationKind::GeluTanh: {
    double c = std::sqrt(2 / M_PI), t = std::tanh(c * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
  }
  case ActivationKind::Silu:
  case ActivationKind::QuickGelu: {
    double slope = kind == ActivationKind::Silu ? 1 : 1.702, s = 1 / (1 + std::exp(-slope * x));
    return s + slope * x * s * (1 - s);
  }
  case ActivationKind::Tanh:
    return 1 - std::tanh(x) * std::tanh(x);
  }
  llvm_unreachable("unknown activation");
}

LogicalResult reference::evaluate(ActivationGradientOp op, Frame &frame) {
  Tensor result = frame.tensor(op.getDy());
  for (auto [d, x] : llvm::zip_equal(result.reals(), frame.tensor(op.getX()).reals()))
    d *= derivative(op.getKind(), x);
  frame.set(op.getDx(), std::move(result));
  return success();
}

namespace {

/// The backward of a norm over `width` consecutive numbers, x's and dy's; adds to dgamma and dbeta.
struct NormBackward {
  NormAttr norm;
  llvm::ArrayRef<double> gamma;
  bool centred;

  void run(const double *x, const double *dy, double *dx, double *dgamma, double *dbeta) const {
    size_t width = gamma.size();
    double mean = 0, squares = 0, eps = norm.getEps().convertToDouble();
    for (size_t c = 0; centred && c < width; ++c)
      mean += x[c] / width;
    for (size_t c = 0; c < width; ++c)
      squares += (x[c] - mean) * (x[c] - mean);
    double count = norm.getUnbiased() ? width - 1 : width, variance = squares / count;
    bool outside = norm.getEpsOutside();
    double d = outside ? std::sqrt(variance) + eps : std::sqrt(variance + eps);
    double meanOfG = 0, sumOfGh = 0;
    for (size_t c = 0; c < width; ++c) {
      double h = (x[c] - mean) / d, g = dy[c] * gamma[c];
      meanOfG += centred ? g / width : 0;
      sumOfGh += g * h;
      dgamma[c] += dy[c] * h;
      if (dbeta)
        dbeta[c] += dy[c];
    }
    double factor = sumOfGh / count; // 0 where all numbers are the same
    factor /= outside && variance > 0 ? 1 - eps / d : 1;
    for (size_t c = 0; c < width; ++c)
      dx[c] = (dy[c] * gamma[c] - meanOfG - (x[c] - mean) / d * factor) / d;
  }
};

} // namespace

/// dx and, if there is one, the gradient that it is added to.
static Tensor addOnto(Tensor dx, Value onto, Frame &frame) {
  if (onto)
    for (auto [to, from] : llvm::zip_equal(dx.reals(), frame.tensor(onto).reals()))
      to += from;
  return dx;
}

LogicalResult reference::evaluate(LayerNormGradientOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX()), &dy = frame.tensor(op.getDy());
  const Tensor &gamma = frame.tensor(op.getGamma());
  Tensor dx = Tensor::zeros(x.shape), dgamma = Tensor::zeros(gamma.shape), dbeta = dgamma;
  NormBackward backward{op.getNorm(), gamma.reals(), /*centred=*/true};
  for (int64_t t = 0; t < x.shape[0]; ++t)
    backward.run(x.row(t), dy.row(t), dx.row(t), dgamma.reals().data(), dbeta.reals().data());
  frame.set(op.getDx(), addOnto(std::move(dx), op.getOnto(), frame));
  frame.set(op.getDgamma(), std::move(dgamma));
  frame.set(op.getDbeta(), std::move(dbeta));
  return success();
}

LogicalResult reference::evaluate(RmsNormGradientOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX()), &dy = frame.tensor(op.getDy());
  const Tensor &gamma = frame.tensor(op.getGamma());
  Tensor dx = Tensor::zeros(x.shape), dgamma = Tensor::zeros(gamma.shape);
  NormBackward backward{op.getNorm(), gamma.reals(), /*centred=*/false};
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t first = 0; first < x.shape[1]; first += gamma.shape[0])
      backward.run(x.row(t) + first, dy.row(t) + first, dx.row(t) + first, dgamma.reals().data(),
                   nullptr);
  frame.set(op.getDx(), addOnto(std::move(dx), op.getOnto(), frame));
  frame.set(op.getDgamma(), std::move(dgamma));
  return success();
}

LogicalResult reference::evaluate(EmbeddingGradientOp op, Frame &frame) {
  const Tensor &ids = frame.tensor(op.getIds()), &dy = frame.tensor(op.getDy());
  auto type = cast<RankedTensorType>(op.getDtable().getType());
  Tensor result = op.getOnto() ? frame.tensor(op.getOnto()) : Tensor::zeros(type.getShape().vec());
  double squares = 0, scale = op.getScale().convertToDouble();
  for (int64_t t = 0; t < dy.shape[0]; ++t) {
    int64_t id = ids.integers()[t];
    if (id < 0 || id >= result.shape[0])
      return frame.fail(op, "id " + llvm::Twine(id) + " is outside of the table");
    if (op.getPaddingIndex() == id)
      continue;
    for (int64_t c = 0; c < dy.shape[1]; ++c) {
      double before = result.row(id)[c], after = before + scale * dy.row(t)[c];
      squares += after * after - before * before;
      result.row(id)[c] = after;
    }
  }
  if (op.getSquares())
    frame.set(op.getSquares(), Tensor{{}, std::vector<double>{squares}});
  frame.set(op.getDtable(), std::move(result));
  return success();
}

LogicalResult reference::evaluate(RotaryEmbeddingGradientOp op, Frame &frame) {
  const Tensor &dy = frame.tensor(op.getDy()), &table = frame.tensor(op.getTable());
  Tensor dx = dy;
  int64_t heads = op.getNumHeads(), width = dy.shape[1] / heads, half = table.shape[1] / 2;
  for (int64_t t = 0; t < dy.shape[0]; ++t)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < half; ++i) {
        int64_t first = h * width + i, second = first + half;
        double c = table.row(t)[i], s = table.row(t)[half + i];
        dx.row(t)[first] = dy.row(t)[first] * c + dy.row(t)[second] * s;
        dx.row(t)[second] = dy.row(t)[second] * c - dy.row(t)[first] * s;
      }
  frame.set(op.getDx(), std::move(dx));
  return success();
}

LogicalResult reference::evaluate(WindowsGradientOp op, Frame &frame) {
  const Tensor &dy = frame.tensor(op.getDy());
  const Sequences &windows = frame.sequences(op.getResultSequences());
  const Sequences &tokens = frame.sequences(op.getSequences());
  if (failed(checkRows(op, frame, "dy", dy, windows)) ||
      failed(checkBatch(op, frame, windows, tokens)))
    return failure();
  int64_t width = widthOf(op.getDx()), kernel = dy.shape[1] / width;
  Tensor dx = Tensor::zeros({tokens.tokens(), width});
  for (int64_t b = 0; b < windows.batch; ++b)
    for (int64_t row = windows.offsets[b]; row < windows.offsets[b + 1]; ++row)
      for (int64_t j = 0; j < kernel; ++j) {
        int64_t token = tokens.offsets[b] +
                        (row - windows.offsets[b]) * static_cast<int64_t>(op.getStride()) -
                        static_cast<int64_t>(op.getPadding()) + j;
        if (token < tokens.offsets[b] || token >= tokens.offsets[b + 1])
          continue;
        for (int64_t c = 0; c < width; ++c)
          dx.row(token)[c] += dy.row(row)[j * width + c];
      }
  frame.set(op.getDx(), std::move(dx));
  return success();
}

LogicalResult reference::evaluate(TokenGradientOp op, Frame &frame) {
  const Tensor &dy = frame.tensor(op.getDy());
  const Sequences &sequences = frame.sequences(op.getSequences());
  Tensor dx = Tensor::zeros({sequences.tokens(), dy.shape[1]});
  for (int64_t b = 0; b < sequences.batch; ++b) {
    int64_t first = sequences.offsets[b], end = sequences.offsets[b + 1];
    if (first < end)
      std::copy_n(dy.row(b), dy.shape[1], dx.row(op.getLast() ? end - 1 : first));
  }
  frame.set(op.getDx(), std::move(dx));
  return success();
}

LogicalResult reference::evaluate(RelativeScoresGradientOp op, Frame &frame) {
  const Tensor &x = frame.tensor(op.getX()), &table = frame.tensor(op.getTable());
  const Tensor &dy = frame.tensor(op.getDy());
  int64_t heads = op.getNumHeads(), width = x.shape[1] / heads, positions = table.shape[0];
  Tensor dx = Tensor::zeros(x.shape), dtable = Tensor::zeros(table.shape);
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t p = 0; p < positions; ++p)
        for (int64_t d = h * width; d < (h + 1) * width; ++d) {
          double of = dy.row(t)[h * positions + p];
          dx.row(t)[d] += of * table.row(p)[d];
          dtable.row(p)[d] += of * x.row(t)[d];
        }
  frame.set(op.getDx(), std::move(dx));
  frame.set(op.getDtable(), std::move(dtable));
  return success();
}
