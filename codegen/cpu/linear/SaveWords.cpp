//===- SaveWords.cpp - what only products read is kept as they read it ----===//
//
// A layer's backward gets the rows that its linear layers read, and multiplies them rounded: half
// the memory, and nothing to round again.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/linear/Words.h"
#include "codegen/memory/CallGraph.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_SAVEWORDS
#include "codegen/cpu/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// Whether all that is read of rows are their number and what `reads` says.
bool areReadBy(Value rows, function_ref<bool(OpOperand &use)> reads) {
  return llvm::all_of(rows.getUses(),
                      [&](OpOperand &use) { return countsRows(use.getOwner()) || reads(use); });
}

/// An argument of a function, and of another the result that all its calls pass.
class Saved {
public:
  Saved(BlockArgument argument, func::FuncOp reader, ArrayRef<func::CallOp> calls)
      : argument(argument), reader(reader), calls(calls) {}

  /// Whether products over tokens alone read the argument, and it alone reads a result of one
  /// function.
  bool isOfProducts(const SymbolUserMap &users, SymbolTable &symbols) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getRank() != 2 || !type.isDynamicDim(0) || type.isDynamicDim(1) ||
        !type.getElementType().isF32() || argument.use_empty() || calls.empty() ||
        !areReadBy(argument, isRoundedFactor))
      return false;
    for (func::CallOp call : calls) {
      auto result = dyn_cast<OpResult>(call.getOperand(argument.getArgNumber()));
      auto maker = result ? dyn_cast<func::CallOp>(result.getOwner()) : func::CallOp();
      auto function = maker ? symbols.lookup<func::FuncOp>(maker.getCallee()) : func::FuncOp();
      if (!function || (from && (function != from || result.getResultNumber() != number)))
        return false;
      from = function;
      number = result.getResultNumber();
    }
    auto passes = [&](OpOperand &use) {
      auto call = dyn_cast<func::CallOp>(use.getOwner());
      return call && llvm::is_contained(calls, call) &&
             use.getOperandNumber() == argument.getArgNumber();
    };
    makers = callsOf(from, users);
    return !makers.empty() && llvm::all_of(makers, [&](func::CallOp call) {
      return areReadBy(call.getResult(number), passes);
    });
  }

  void save() {
    Operation *end = from.getBody().front().getTerminator();
    Value rows = end->getOperand(number);
    OpBuilder at(end);
    at.setInsertionPointAfterValue(rows);
    ImplicitLocOpBuilder b(rows.getLoc(), at);
    Value words = roundRows(b, rows, wordsOf(widthOf(rows)));
    end->setOperand(number, words);
    argument.setType(words.getType());
    for (func::CallOp call : makers)
      call.getResult(number).setType(words.getType());
    updateType(from);
    updateType(reader);
  }

private:
  BlockArgument argument;
  func::FuncOp reader;
  ArrayRef<func::CallOp> calls;
  SmallVector<func::CallOp> makers; // of what they pass
  func::FuncOp from;
  unsigned number = 0;
};

struct SaveWordsPass : mlir::transformer::impl::SaveWordsBase<SaveWordsPass> {
  using Base::Base;
  void runOnOperation() override {
    SymbolTableCollection tables;
    SymbolUserMap users(tables, getOperation());
    SymbolTable &symbols = tables.getSymbolTable(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<func::CallOp> calls = callsOf(function, users);
      for (BlockArgument argument : function.getArguments())
        if (Saved saved(argument, function, calls); saved.isOfProducts(users, symbols))
          saved.save();
    }
  }
};

} // namespace
