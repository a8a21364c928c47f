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

  /// Reads `rope_parameters` (as transformers 5 writes it), or `rope_theta`,
  /// `rope_scaling` and `partial_rotary_factor` (4.x), for heads of `headDim`.
  /// `positions` is max_position_embeddings, `defaults` what stands where the
  /// fields do not.
  struct Defaults {
    double theta = 10000;
    double partial = 1; // the share of a head's columns that is rotated
  };
  static Rope read(Config &config, int64_t headDim, int64_t positions, Defaults defaults);
  static Rope read(Config &config, int64_t headDim, int64_t positions) {
    return read(config, headDim, positions, Defaults());
  }

  /// Cosines and sines of `positions`.
  Value table(Body &body, Value positions) const;
};

} // namespace mlir::transformer

#endif // MODELS_ROPE_H
