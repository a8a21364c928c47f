//===- TaskShape.cpp - what a task of a linear layer computes -------------===//
#include "codegen/cpu/linear/TaskShape.h"
#include "codegen/cpu/linear/LinearTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Tasks of fewer rows than that have tiles of several panels, if their format says so.
constexpr int64_t kFewRows = 4;

/// Of tasks that split panels into parts: 64 rows go through all panels, which read each row once,
/// and 256 rows hide what splitting takes and leave tasks for many threads. BERT-base with 1024
/// rows took 508 ms with one panel a task and 370 with four, with 64 rows at a time 0.91 of that.
constexpr int64_t kRowsOfSplit = 256, kRowsOfBlock = 64, kPanelsOfSplit = 4;
/// With no more rows a layer has as many tasks as threads can share, where it has the panels.
constexpr int64_t kTasksOfFewRows = 8;

int64_t panelBytes(linalg::GenericOp contraction) {
  auto type = cast<RankedTensorType>(panelsOf(contraction).getType());
  return ShapedType::getNumElements(type.getShape().drop_front()) * type.getElementTypeBitWidth() /
         8;
}

int64_t inputsOf(linalg::GenericOp contraction) {
  return formatOf(contraction).products() * stepsOf(contraction);
}

/// Of the layer, not of the task.
int64_t numPanels(linalg::GenericOp contraction) {
  Value panels = panelsOf(contraction);
  while (auto slice = panels.getDefiningOp<tensor::ExtractSliceOp>())
    panels = slice.getSource();
  return cast<RankedTensorType>(panels.getType()).getDimSize(0);
}

class Shapes {
public:
  Shapes(OpBuilder &builder, linalg::GenericOp contraction, Value rows, cpu::TargetAttr target)
      : b(contraction.getLoc(), builder), contraction(contraction), rows(rows), target(target),
        format(formatOf(contraction)) {}

  TaskShape shape(Operation *pack) {
    if (isa_and_nonnull<cpu::SplitPanelsOp>(pack))
      return {shareOf(kRowsOfSplit), panelsToSplit(),       pack,
              mostToSplit(),         shareOf(kRowsOfBlock), target.getPacksAhead()};
    OpFoldResult inCaches = shareOf(rowsInCaches());
    if (!pack)
      return {inCaches, panels(), nullptr, 0, {}};
    auto packed = cast<cpu::PackWeightOp>(pack);
    int64_t most = panelsToPack(packed);
    return {b.getIndexAttr(0), b.getIndexAttr(most), pack, most, inCaches, packsAhead(packed)};
  }

private:
  Value constant(int64_t v) { return arith::ConstantIndexOp::create(b, v); }

  /// At most those whose inputs take half of the second-level cache.
  int64_t rowsInCaches() const {
    int64_t tile = format.tileRows(target), bytes = format.rowBytes(blockOfK(contraction, target));
    return std::max(target.getL2Bytes() / 2 / bytes / tile, int64_t(2)) * tile;
  }
  /// Equal shares of the rows that there are, of `most` at most.
  OpFoldResult shareOf(int64_t most) {
    auto ceilDiv = [&](Value x, Value y) -> Value { return arith::CeilDivUIOp::create(b, x, y); };
    Value tile = constant(format.tileRows(target)), blocks = ceilDiv(rows, constant(most));
    blocks = arith::MaxUIOp::create(b, blocks, constant(1)); // no rows, no blocks
    Value tiles = ceilDiv(ceilDiv(rows, blocks), tile);
    tiles = arith::MaxUIOp::create(b, tiles, constant(1));
    return arith::MulIOp::create(b, tiles, tile).getResult();
  }

  /// Few, so that threads end together, but enough for a task to be long beside what handing it out
  /// costs, and for few rows what one of them goes through at once.
  OpFoldResult panels() {
    int64_t all = numPanels(contraction), many = panelsOfTask();
    int64_t few =
        std::min<int64_t>(llvm::alignTo(many, fewRowsTileOf(contraction, target).panels), all);
    if (few == many)
      return b.getIndexAttr(many);
    return arith::SelectOp::create(b, areFew(b, rows), constant(few), constant(many)).getResult();
  }
  int64_t panelsOfTask() const {
    int64_t least = llvm::divideCeil(target.getTaskBytes(), panelBytes(contraction));
    return std::min(least, numPanels(contraction));
  }
  /// The rows of a weight `in_out` are read in pieces, which matrix registers want longer: what is
  /// multiplied takes less time than reading it. So does packing that waits for memory.
  int64_t panelsToPack(cpu::PackWeightOp pack) const {
    bool inPairs = (format.usesMatrixRegisters() || losesLines(pack)) && isInOut(pack) &&
                   numPanels(contraction) > 1;
    return std::max<int64_t>(panelsOfTask(), inPairs ? 2 : 1);
  }
  bool packsAhead(cpu::PackWeightOp pack) const {
    return target.getPacksAhead() || losesLines(pack);
  }
  /// Whether what is fetched beside the products before leaves the second-level cache again before
  /// it is packed.
  bool losesLines(cpu::PackWeightOp pack) const {
    auto fallIntoFewSets = [&](Value weight) {
      return fallsIntoFewSets(cast<RankedTensorType>(weight.getType()));
    };
    return isTall() || (isInOut(pack) && llvm::any_of(pack.getWeights(), fallIntoFewSets));
  }
  static bool isInOut(cpu::PackWeightOp pack) { return pack.getLayout() == WeightLayout::InOut; }
  /// Rows of a tall tile push it out if they take more than a sixth of the cache: a layer of
  /// Winograd's inner product of 3072 k on a Zen 4 takes 0.93 to 0.95 of the time packed ahead, one
  /// of 2304 k 1.0.
  bool isTall() const {
    int64_t rows = format.tileRows(target);
    return 6 * rows * format.rowBytes(inputsOf(contraction)) > target.getL2Bytes();
  }
  /// Pieces of rows whose distance is a multiple of a large power of two push each other out, here
  /// if four times as many would come to a set as it has places: 1024x4096 takes 0.87 of the time
  /// packed ahead on a Zen 4 (bfloat16 0.97), by AVX2 code 0.77; where it is four times or less,
  /// 0.95 to 1.04.
  bool fallsIntoFewSets(RankedTensorType weight) const {
    constexpr int64_t places = 8; // the fewest of the CPUs at hand
    int64_t distance = weight.getDimSize(1) * sizeof(float), line = target.getLineBytes();
    int64_t lines = target.getL2Bytes() / line;
    int64_t stay = lines / std::gcd(distance / line, lines / places);
    return distance % line == 0 && weight.getDimSize(0) > 4 * stay;
  }
  int64_t mostToSplit() const { return std::min(kPanelsOfSplit, numPanels(contraction)); }
  OpFoldResult panelsToSplit() {
    int64_t most = mostToSplit(),
            few = std::clamp<int64_t>(numPanels(contraction) / kTasksOfFewRows, 1, most);
    if (few == most)
      return b.getIndexAttr(most);
    Value isOfFew =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ule, rows, constant(kRowsOfSplit));
    return arith::SelectOp::create(b, isOfFew, constant(few), constant(most)).getResult();
  }

  ImplicitLocOpBuilder b;
  linalg::GenericOp contraction;
  Value rows;
  cpu::TargetAttr target;
  const LinearFormat &format;
};

/// What makes the panels, if that is for this layer alone and a panel stays in the second-level
/// cache while rows pass.
Operation *packForTasks(linalg::GenericOp contraction, linalg::GenericOp epilogue,
                        cpu::TargetAttr target) {
  Operation *pack = panelsOf(contraction).getDefiningOp();
  if (!canPackInTasks(pack) || panelBytes(contraction) > mostPanelBytes(target))
    return nullptr;
  bool isAlone = llvm::all_of(
      pack->getUsers(), [&](Operation *user) { return user == contraction || user == epilogue; });
  return isAlone ? pack : nullptr;
}

} // namespace

TaskShape transformer::taskShapeOf(OpBuilder &builder, linalg::GenericOp contraction,
                                   linalg::GenericOp epilogue, Value rows, cpu::TargetAttr target) {
  return Shapes(builder, contraction, rows, target)
      .shape(packForTasks(contraction, epilogue, target));
}

/// All, if the panel and the one fetched meanwhile leave half of the second-level cache to the
/// rows; else equal shares so short that current and next block take a fifth (longer and shorter
/// ones were measured slower).
int64_t transformer::blockOfK(linalg::GenericOp contraction, cpu::TargetAttr target) {
  const LinearFormat &format = formatOf(contraction);
  int64_t k = inputsOf(contraction), bytes = panelBytes(contraction);
  if (bytes <= mostPanelBytes(target) || format.usesMatrixRegisters())
    return k;
  int64_t share = llvm::divideCeil(k, llvm::divideCeil(bytes, target.getL2Bytes() / 10));
  return llvm::alignTo(share, format.sumSteps() * format.products());
}

Value transformer::areFew(ImplicitLocOpBuilder &b, Value rows) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, rows,
                               arith::ConstantIndexOp::create(b, kFewRows));
}

FewRowsTile transformer::fewRowsTileOf(linalg::GenericOp contraction, cpu::TargetAttr target) {
  FewRowsTile tile = formatOf(contraction).fewRowsTile(target);
  return tile.panels <= numPanels(contraction) ? tile : FewRowsTile{1, 1};
}
