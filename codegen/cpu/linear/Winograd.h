//===- Winograd.h - inner products on multiply-adds and additions ---------===//
#ifndef CODEGEN_CPU_LINEAR_WINOGRAD_H
#define CODEGEN_CPU_LINEAR_WINOGRAD_H

#include "llvm/Support/MathExtras.h"
#include <cstdint>

/// Winograd's inner product (S. Winograd, "A New Algorithm for Inner Product",
/// IEEE Transactions on Computers C-17, 1968) takes one multiplication and two
/// additions for two products:
///
///     x0 w0 + x1 w1 = (x0 + w1)(x1 + w0) - x0 x1 - w0 w1
///
/// where the two corrections depend on x or on w alone. On a CPU whose additions
/// go through pipes of their own, two of three products in this form keep both
/// kinds of pipes busy: three products in the time of two. A step is six of k:
///
///     s += (w1 + x0)(w0 + x1)    s += w2 x2
///     s -= (w4 - x3)(w3 - x4)    s += w5 x5
///
/// The sign of every second pair keeps x that are all positive from adding up.
/// x and w should be of one size: the error is that of a plain sum then, and can be
/// any number of times that else (R. P. Brent, 1970; N. J. Higham, "Accuracy and
/// Stability of Numerical Algorithms", 23.2.3). So powers of two scale
/// - feature k of x, and row k of w inversely, so that both have about the root
///   mean square sqrt(rms(x_k) rms(w_k)), the root of what the feature contributes:
///   a pair's (x0 + w1)(x1 + w0) is then no larger than twice what its products
///   are. rms(x_k) is what the weights before tell (EstimateSquares.cpp); a wrong
///   guess changes no product, only how well sizes agree;
/// - rows of x and columns of w to a root mean square in [1, 2).
/// Step 0 holds no products but what all steps need:
///
///     x: 0, 0, 1, 0, 0, cx    cx = -sum x0 x1 + sum x3 x4, over all steps
///     w: 1/scale, 0, cw, 0, 0, 1    cw likewise, a column each
///
/// It adds cw + cx to the sum like any other step; what is behind the last k is 0.
/// The result of a row depends on that row and the weights alone.
///
/// A product over tokens, c = a^T b, goes through them in blocks of kBlock, each a sum with
/// corrections of its own. Powers of two scale each token of a, and inversely of b, so that both
/// have about the same largest number, and then columns of a and of b to a root mean square in
/// [1, 2) over all tokens. A part of the columns is, as rows,
///
///     row 0      what scaled numbers are multiplied by, 0 for a column of zeros
///     a block    its corrections, its tokens
///
/// with rows of zeros behind the last token to the end of a step.
namespace mlir::transformer::winograd {

/// Of k in a step.
inline constexpr int64_t kStep = 6;
/// Most steps that one accumulator sums (SumInBlocks): a pair's product varies
/// twice as much as what it stands for, so fewer than of single products.
inline constexpr int64_t kSumSteps = 17;
/// Places in step 0.
inline constexpr int64_t kInverseScale = 0, kWeightCorrection = 2, kRowCorrection = 5;

/// Tokens of a block: more steps than of a linear layer's sum, since each block reads and writes
/// the result.
inline constexpr int64_t kBlock = kStep * 22;
/// The row of the corrections of block 0, and how far behind that of a block the next one's is.
inline constexpr int64_t kFirstBlock = 1, kRowsOfBlock = 1 + kBlock;

/// Steps for `k` products, step 0 included.
inline int64_t steps(int64_t k) { return 1 + llvm::divideCeil(k, kStep); }

} // namespace mlir::transformer::winograd

#endif // CODEGEN_CPU_LINEAR_WINOGRAD_H
