//===- ChunkLoss.cpp - the scores of some rows at a time ------------------===//
#include "dialect/GradientOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_CHUNKLOSSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Ops that what `value` is made of need, in their order, if all stand in one block.
void collectOps(Value value, llvm::SetVector<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  if (!op || ops.contains(op))
    return;
  for (Value operand : op->getOperands())
    collectOps(operand, ops);
  ops.insert(op);
}

/// A linear layer of which nothing but a loss, and the loss's backward, reads the scores.
struct Head {
  LinearOp linear;
  CrossEntropyOp loss;
  CrossEntropyGradientOp gradient;  // null: there is no backward
  SmallVector<Operation *> readers; // of the gradient of the scores

  Value rows() { return linear.getX(); }

  /// All of it that a loss belongs to; null if some of it is otherwise.
  static std::optional<Head> of(CrossEntropyOp loss);

private:
  bool takeGradient();
  bool isReader(Operation *op);
};

bool isDynamic(Value rows) { return cast<RankedTensorType>(rows.getType()).isDynamicDim(0); }

std::optional<Head> Head::of(CrossEntropyOp loss) {
  Head head{loss.getLogits().getDefiningOp<LinearOp>(), loss, {}, {}};
  // Scores of a few classes are narrower than what they are made of.
  if (!head.linear || widthOf(loss.getLogits()) <= widthOf(head.rows()) ||
      !isDynamic(head.rows()) || !isDynamic(loss.getLabels()))
    return {};
  for (Operation *user : loss.getLogits().getUsers()) {
    if (user == loss)
      continue;
    auto gradient = dyn_cast<CrossEntropyGradientOp>(user);
    if (!gradient || head.gradient)
      return {};
    head.gradient = gradient;
  }
  if (head.gradient && !head.takeGradient())
    return {};
  return head;
}

bool Head::takeGradient() {
  if (gradient.getLabels() != loss.getLabels() || gradient->getBlock() != loss->getBlock() ||
      gradient.getIgnoreIndexAttr() != loss.getIgnoreIndexAttr() ||
      gradient.getPaddingIndexAttr() != loss.getPaddingIndexAttr() ||
      gradient.getLabelSmoothingAttr() != loss.getLabelSmoothingAttr())
    return false;
  for (Operation *user : llvm::make_early_inc_range(gradient->getUsers())) {
    if (isOpTriviallyDead(user)) { // the gradient of something frozen
      user->erase();
      continue;
    }
    if (!isReader(user))
      return false;
    readers.push_back(user);
  }
  llvm::sort(readers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  // How much the loss counts is known before it is.
  llvm::SetVector<Operation *> ops;
  collectOps(gradient.getDloss(), ops);
  return !ops.contains(loss);
}

bool Head::isReader(Operation *op) {
  Value dlogits = gradient.getDlogits();
  if (auto ofRows = dyn_cast<LinearOp>(op))
    return ofRows.getX() == dlogits && ofRows.getWeight() == linear.getWeight() &&
           !ofRows.getBias();
  if (auto ofWeight = dyn_cast<LinearWeightGradientOp>(op))
    return ofWeight.getX() == rows() && ofWeight.getDy() == dlogits && !ofWeight.getOnto();
  return isa<SumRowsOp>(op);
}

/// Makes the functions of a head's chunks, and what calls them.
class Chunks {
public:
  Chunks(const Head &head, int64_t rowsOfChunk, SymbolTable &symbols)
      : head(head), rowsOfChunk(rowsOfChunk), symbols(symbols) {
    inputs = {this->head.rows(), this->head.loss.getLabels(), this->head.linear.getWeight()};
    if (Value bias = this->head.linear.getBias())
      inputs.push_back(bias);
    if (head.gradient && !dlossConstant())
      inputs.push_back(this->head.gradient.getDloss());
    results.push_back(this->head.loss.getLoss());
    for (Operation *reader : head.readers)
      results.push_back(reader->getResult(0));
  }

  void run() {
    CrossEntropyOp loss = head.loss;
    if (head.gradient)
      moveBefore(head.gradient.getDloss(), loss);
    func::FuncOp first = ofRows(/*isFirst=*/true), next = ofRows(/*isFirst=*/false);
    ImplicitLocOpBuilder b(loss.getLoc(), loss);
    auto all = func::CallOp::create(b, ofAllRows(first, next), inputs);
    for (auto [before, after] : llvm::zip_equal(results, all.getResults()))
      before.replaceAllUsesWith(after);
    for (Operation *reader : head.readers)
      reader->erase();
    if (head.gradient)
      head.gradient.erase();
    loss.erase();
    head.linear.erase();
  }

private:
  Value labels() { return head.loss.getLabels(); }

  /// What the functions have themselves; null where it is computed.
  Operation *dlossConstant() { return head.gradient.getDloss().getDefiningOp<arith::ConstantOp>(); }

  static void moveBefore(Value value, Operation *place) {
    llvm::SetVector<Operation *> ops;
    collectOps(value, ops);
    for (Operation *op : ops)
      if (op->getBlock() == place->getBlock() && place->isBeforeInBlock(op))
        op->moveBefore(place);
  }

  /// The function of all rows, chunk by chunk.
  func::FuncOp ofAllRows(func::FuncOp first, func::FuncOp next) {
    func::FuncOp made = begin("", typesOf(inputs));
    ImplicitLocOpBuilder b = atEnd(made);
    IRMapping map;
    map.map(ValueRange(inputs), made.getArguments());
    Value counted = countLabels(b, map.lookup(labels()));
    auto one = DenseElementsAttr::get(cast<RankedTensorType>(counted.getType()), 1.0f);
    SmallVector<Value> given(made.getArguments());
    given.push_back(arith::MaximumFOp::create(b, counted, arith::ConstantOp::create(b, one)));
    auto begun = func::CallOp::create(b, first, given);
    Value step = arith::ConstantIndexOp::create(b, rowsOfChunk);
    Value total = tensor::DimOp::create(b, map.lookup(head.rows()), 0);
    auto loop =
        scf::ForOp::create(b, b.getLoc(), step, total, step, begun.getResults(),
                           [&](OpBuilder &body, Location loc, Value start, ValueRange before) {
                             SmallVector<Value> operands(given);
                             operands.push_back(start);
                             llvm::append_range(operands, before);
                             auto call = func::CallOp::create(body, loc, next, operands);
                             scf::YieldOp::create(body, loc, call.getResults());
                           });
    func::ReturnOp::create(b, loop.getResults());
    return insert(made);
  }

  /// The function of the first rows, or of others, which adds to what those before have made:
  /// behind the head's inputs it takes the number of all labels that count; then where its rows
  /// begin, and the results so far, as state.
  func::FuncOp ofRows(bool isFirst) {
    SmallVector<Type> types = typesOf(inputs), sums = typesOf(results);
    types.push_back(head.loss.getLoss().getType());
    if (!isFirst) {
      types.push_back(IndexType::get(symbols.getOp()->getContext()));
      llvm::append_range(types, sums);
    }
    func::FuncOp made = begin(isFirst ? ".first_rows" : ".next_rows", types);
    ImplicitLocOpBuilder b = atEnd(made);
    build(b, made.getArguments(), isFirst);
    for (unsigned i = 0; !isFirst && i < sums.size(); ++i) {
      auto state = b.getStringAttr("sum" + std::to_string(i));
      made.setArgAttr(types.size() - sums.size() + i, attr::state, state);
      made.setResultAttr(i, attr::state, state);
    }
    return insert(made);
  }

  static SmallVector<Type> typesOf(ValueRange values) { return llvm::to_vector(values.getTypes()); }

  func::FuncOp begin(StringRef suffix, TypeRange types) {
    std::string name =
        (head.gradient ? "loss_and_gradients_of_rows" : "loss_of_rows") + suffix.str();
    auto type = FunctionType::get(symbols.getOp()->getContext(), types, typesOf(results));
    auto made = func::FuncOp::create(head.loss.getLoc(), name, type);
    made.setPrivate();
    made.addEntryBlock();
    return made;
  }

  static ImplicitLocOpBuilder atEnd(func::FuncOp made) {
    return ImplicitLocOpBuilder::atBlockEnd(made.getLoc(), &made.front());
  }

  /// Heads that are the same share their functions.
  func::FuncOp insert(func::FuncOp made) {
    for (auto other : cast<ModuleOp>(symbols.getOp()).getOps<func::FuncOp>())
      if (other.getName().starts_with(made.getName()) && other.isPrivate() && !other.isExternal() &&
          other.getFunctionType() == made.getFunctionType() &&
          OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &made.getBody(),
                                                     OperationEquivalence::IgnoreLocations)) {
        made.erase();
        return other;
      }
    symbols.insert(made);
    return made;
  }

  Value countLabels(ImplicitLocOpBuilder &b, Value labels) {
    return CountLabelsOp::create(b, head.loss.getLoss().getType(), labels,
                                 head.loss.getIgnoreIndexAttr(), head.loss.getPaddingIndexAttr());
  }

  /// The ops of the head on a chunk.
  void build(ImplicitLocOpBuilder &b, ValueRange arguments, bool isFirst) {
    IRMapping map;
    map.map(ValueRange(inputs), arguments.take_front(inputs.size()));
    ValueRange before = arguments.drop_front(inputs.size());
    Value count = before.front();
    before = before.drop_front();
    Value start = isFirst ? Value() : before.front(), x = arguments.front();
    before = before.drop_front(!isFirst);
    Value total = tensor::DimOp::create(b, x, 0);
    Value left = isFirst ? total : arith::SubIOp::create(b, total, start);
    Value most = arith::ConstantIndexOp::create(b, rowsOfChunk);
    Value rows = arith::MinUIOp::create(b, left, most);
    for (Value whole : {head.rows(), labels()})
      map.map(whole, rowsOf(b, map.lookup(whole), start, rows));
    Operation *mean = (b.clone(*head.linear, map), b.clone(*head.loss, map));
    // The mean of a part counts by its labels' share of all.
    Value own = countLabels(b, map.lookup(labels()));
    Value share = arith::DivFOp::create(b, own, count);
    SmallVector<Value> made = {arith::MulFOp::create(b, mean->getResult(0), share)};
    if (!isFirst)
      made[0] = arith::AddFOp::create(b, before[0], made[0]);
    if (head.gradient) {
      Value dloss = head.gradient.getDloss();
      if (Operation *constant = dlossConstant())
        b.clone(*constant, map);
      map.map(dloss, arith::MulFOp::create(b, map.lookup(dloss), share).getResult());
      b.clone(*head.gradient, map);
    }
    for (auto [i, reader] : llvm::enumerate(head.readers)) {
      Operation *op = b.clone(*reader, map);
      Value sum = isFirst ? Value() : before[i + 1];
      if (isa<LinearOp>(op))
        made.push_back(
            withRows(b, isFirst ? emptyLike(b, x, total) : sum, op->getResult(0), start));
      else if (auto ofWeight = dyn_cast<LinearWeightGradientOp>(op); ofWeight && sum)
        ofWeight.getOntoMutable().assign(sum), made.push_back(ofWeight);
      else
        made.push_back(sum ? arith::AddFOp::create(b, sum, op->getResult(0)).getResult()
                           : op->getResult(0));
    }
    func::ReturnOp::create(b, made);
  }

  struct Slice {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    Slice(Builder &b, RankedTensorType type, Value start, Value rows)
        : offsets(type.getRank(), b.getIndexAttr(0)), strides(type.getRank(), b.getIndexAttr(1)) {
      for (int64_t size : type.getShape())
        sizes.push_back(b.getIndexAttr(size));
      sizes[0] = rows;
      if (start)
        offsets[0] = start;
    }
  };

  /// Rows that begin elsewhere than the tensor are copied: what multiplies them then knows of no
  /// place that depends on the chunk.
  static Value rowsOf(ImplicitLocOpBuilder &b, Value whole, Value start, Value rows) {
    auto type = cast<RankedTensorType>(whole.getType());
    Slice slice(b, type, start, rows);
    Value part =
        tensor::ExtractSliceOp::create(b, type, whole, slice.offsets, slice.sizes, slice.strides);
    if (!start)
      return part;
    return linalg::CopyOp::create(b, part, emptyLike(b, whole, rows)).getResult(0);
  }

  static Value emptyLike(ImplicitLocOpBuilder &b, Value tensor, Value rows) {
    return tensor::EmptyOp::create(b, tensor.getType(), rows);
  }

  static Value withRows(ImplicitLocOpBuilder &b, Value whole, Value part, Value start) {
    Value rows = tensor::DimOp::create(b, part, 0);
    Slice slice(b, cast<RankedTensorType>(whole.getType()), start, rows);
    return tensor::InsertSliceOp::create(b, part, whole, slice.offsets, slice.sizes, slice.strides);
  }

  Head head;
  int64_t rowsOfChunk;
  SymbolTable &symbols;
  SmallVector<Value> inputs, results;
};

struct ChunkLoss : transformer::impl::ChunkLossPassBase<ChunkLoss> {
  using Base::Base;
  void runOnOperation() override {
    if (rows < 1) {
      getOperation().emitError() << "rows " << rows.getValue() << ": expected at least 1";
      return signalPassFailure();
    }
    SmallVector<CrossEntropyOp> losses;
    getOperation().walk([&](CrossEntropyOp op) { losses.push_back(op); });
    SymbolTable symbols(getOperation());
    for (CrossEntropyOp loss : losses)
      if (std::optional<Head> head = Head::of(loss))
        Chunks(*head, rows, symbols).run();
  }
};

} // namespace
