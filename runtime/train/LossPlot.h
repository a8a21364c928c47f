//===- LossPlot.h - a picture of a training run's losses --------*- C++ -*-===//
#ifndef TRANSFORMER_RUNTIME_LOSSPLOT_H
#define TRANSFORMER_RUNTIME_LOSSPLOT_H

#include "runtime/train/LossLog.h"

namespace transformer::runtime {

/// The text of an SVG file: the losses of training as a line, those of evaluation as points, over
/// the steps. Losses that are not finite are left out. Of more than 2000 losses each point of the
/// line is the mean of as many as it takes.
std::string lossPlot(const Losses &losses);

} // namespace transformer::runtime

#endif // TRANSFORMER_RUNTIME_LOSSPLOT_H
