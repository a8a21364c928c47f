//===- Rope.h - rotary positions of a configuration -----------------------===//
#ifndef MODELS_ROPE_H
#define MODELS_ROPE_H

#include "models/Body.h"
#include "models/Config.h"
#include <vector>

namespace mlir::transformer {

/// How heads are rotated by their positions (Su et al. 2021), and how that is
/// stretched to longer sequences than those of the training.
struct Rope {
  int64_t width = 0; // columns of a head that are rotated
  double theta = 0;
  std::vector<double> frequencies; // radians a position, a pair each; empty: theta's
  double scale = 1;                // of cosines and sines
  int64_t maxLength = 0;           // the frequencies hold for no longer sequence; 0: for any

  /// What a family calls its fields outside `rope_parameters`, and what stands
  /// where they do not.
  struct Family {
    llvm::StringRef thetaKey = "rope_theta";
    llvm::StringRef partialKey = ""; // none: all columns of a head are rotated
    double partial = 1;              // the share of a head's columns that is rotated
    int64_t trainedLength = 0;       // of the training's sequences; 0: `positions`
    bool scalesByLongRope = false;   // also where the type is called "su" or "yarn"
  };

  /// Reads `rope_parameters` (as transformers 5 writes it), or the family's fields
  /// and `rope_scaling` (4.x), for heads of `headDim`. `positions` is
  /// max_position_embeddings.
  static Rope read(Config &config, int64_t headDim, int64_t positions, const Family &family);

  /// Cosines and sines of `positions`.
  Value table(Body &body, Value positions) const;
};

} // namespace mlir::transformer

#endif // MODELS_ROPE_H
