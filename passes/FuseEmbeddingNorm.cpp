//===- FuseEmbeddingNorm.cpp - embeddings, sum and norm in one ------------===//
#include "dialect/TransformerDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Passes.h"
#include "passes/Rounds.h"

namespace mlir::transformer {
#define GEN_PASS_DEF_FUSEEMBEDDINGNORMPASS
#include "passes/Passes.h.inc"
} // namespace mlir::transformer

using namespace mlir;
using namespace mlir::transformer;

namespace {

/// The embeddings whose sum, taken from left to right, is `value` bit for bit;
/// sums on the way go to `sums`, the outermost first. Empty if there are none.
SmallVector<EmbeddingOp> findEmbeddings(Value value, SmallVectorImpl<Operation *> &sums) {
  SmallVector<EmbeddingOp> embeddings;
  auto leaf = [](Value operand) -> EmbeddingOp {
    auto embedding = operand.getDefiningOp<EmbeddingOp>();
    return embedding && embedding.getScale().convertToDouble() == 1.0 ? embedding : EmbeddingOp();
  };
  while (value.hasOneUse()) {
    if (EmbeddingOp embedding = leaf(value)) {
      embeddings.push_back(embedding);
      break;
    }
    auto sum = value.getDefiningOp<arith::AddFOp>();
    if (!sum)
      return {};
    sums.push_back(sum);
    Value left = sum.getLhs(), right = sum.getRhs();
    if (!leaf(right)) // a + (b + c) = (b + c) + a
      std::swap(left, right);
    EmbeddingOp last = leaf(right);
    if (!last)
      return {};
    embeddings.push_back(last);
    if (EmbeddingOp first = leaf(left)) { // may have other uses: it stays for them
      embeddings.push_back(first);
      break;
    }
    value = left;
    if (!value.hasOneUse())
      return {};
  }
  return llvm::to_vector(llvm::reverse(embeddings));
}

/// Fuses `norm` with the sum of embeddings that it normalises, if it does.
bool fuse(LayerNormOp norm) {
  SmallVector<Operation *> sums;
  SmallVector<EmbeddingOp> embeddings = findEmbeddings(norm.getX(), sums);
  if (embeddings.empty())
    return false;
  SmallVector<Value> ids, tables;
  for (EmbeddingOp embedding : embeddings) {
    ids.push_back(embedding.getIds());
    tables.push_back(embedding.getTable());
  }
  OpBuilder builder(norm);
  auto fused = EmbeddingLayerNormOp::create(builder, norm.getLoc(), norm.getType(), ids, tables,
                                            norm.getGamma(), norm.getBeta(), norm.getNorm());
  fused->setDiscardableAttrs(norm->getDiscardableAttrDictionary());
  norm.getResult().replaceAllUsesWith(fused.getResult());
  norm.erase();
  for (Operation *sum : sums)
    sum->erase();
  for (EmbeddingOp embedding : llvm::SetVector<EmbeddingOp>(embeddings.begin(), embeddings.end()))
    if (embedding->use_empty())
      embedding.erase();
  return true;
}

struct FuseEmbeddingNorm : transformer::impl::FuseEmbeddingNormPassBase<FuseEmbeddingNorm> {
  void runOnOperation() override { rewriteInRounds<LayerNormOp>(getOperation(), fuse); }
};

} // namespace
