//===- LossPlot.cpp - a picture of a training run's losses ----------------===//
#include "runtime/train/LossPlot.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cmath>

namespace transformer::runtime {
namespace {

constexpr size_t kMostPoints = 2000;
constexpr int kMostTicks = 8;
// Of the whole picture and of the axes in it, in pixels.
constexpr double kWidth = 800, kHeight = 450, kLeft = 70, kRight = 780, kTop = 40, kBottom = 390;

/// The values of an axis, from `low` to `high`, between two places of the picture.
struct Axis {
  double low, high, begin, end;

  double place(double value) const { return begin + (value - low) / (high - low) * (end - begin); }

  /// 1, 2 or 5 times a power of ten, so that there are not too many ticks.
  double tickStep(double least) const {
    double power = std::pow(10, std::floor(std::log10((high - low) / kMostTicks)));
    for (double factor : {1, 2, 5, 10})
      if (double step = std::max(factor * power, least); (high - low) / step <= kMostTicks)
        return step;
    return 10 * power;
  }

  /// The multiples of `step` in it, those at its ends however they are rounded.
  std::vector<double> ticks(double step) const {
    std::vector<double> values;
    for (double i = std::ceil(low / step - 1e-9); i <= high / step + 1e-9; ++i)
      values.push_back(i * step + 0.0); // no -0
    return values;
  }
};

/// An axis with all values, and some room where there is but one.
Axis axisOf(double low, double high, double begin, double end) {
  if (!(low < high)) {
    double room = std::max(std::abs(low) * 0.1, 1e-6);
    low -= room;
    high += room;
  }
  return {low, high, begin, end};
}

std::vector<LossPoint> drawn(const std::vector<LossPoint> &points) {
  std::vector<LossPoint> finite, means;
  std::copy_if(points.begin(), points.end(), std::back_inserter(finite),
               [](const LossPoint &point) { return std::isfinite(point.loss); });
  size_t each = (finite.size() + kMostPoints - 1) / kMostPoints;
  for (size_t i = 0; i < finite.size(); i += each) {
    size_t count = std::min(each, finite.size() - i);
    double sum = 0;
    for (size_t k = i; k < i + count; ++k)
      sum += finite[k].loss;
    means.push_back({finite[i + count - 1].step, sum / double(count)});
  }
  return means;
}

std::string text(double x, double y, const char *anchor, const std::string &words,
                 const std::string &more = "") {
  return formatted("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor,
                   more, words);
}

/// Lines across the picture with their values.
std::string ticks(const Axis &x, const Axis &y) {
  std::string result;
  for (double value : x.ticks(x.tickStep(1))) { // steps are whole
    result += formatted("<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#e4e4e4\"/>\n", x.place(value), kTop,
                        kBottom);
    result += text(x.place(value), kBottom + 18, "middle", formatted("{:.0f}", value));
  }
  double step = y.tickStep(0);
  int digits = std::max(0, -int(std::floor(std::log10(step) + 1e-9)));
  for (double value : y.ticks(step)) {
    result += formatted("<path d=\"M{0} {1:.1f}H{2}\" stroke=\"#e4e4e4\"/>\n", kLeft,
                        y.place(value), kRight);
    result += text(kLeft - 8, y.place(value) + 4, "end", formatted("{:.{}f}", value, digits));
  }
  return result;
}

} // namespace

std::string lossPlot(const Losses &losses) {
  std::vector<LossPoint> training = drawn(losses.training), evaluation = drawn(losses.evaluation);
  double lastStep = 1, least = INFINITY, most = -INFINITY;
  for (const auto *points : {&training, &evaluation})
    for (const LossPoint &point : *points) {
      lastStep = std::max(lastStep, double(point.step));
      least = std::min(least, point.loss);
      most = std::max(most, point.loss);
    }
  if (least > most)
    least = most = 0;
  Axis x = axisOf(0, lastStep, kLeft, kRight), y = axisOf(least, most, kBottom, kTop);

  std::string svg = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
      "<title>Loss of each step</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      kWidth, kHeight);
  svg += ticks(x, y);
  svg += formatted("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#333\"/>\n", kLeft, kTop,
                   kBottom, kRight);
  svg += text((kLeft + kRight) / 2, kHeight - 18, "middle", "step");
  svg += text(18, (kTop + kBottom) / 2, "middle", "loss",
              formatted(" transform=\"rotate(-90 18 {})\"", (kTop + kBottom) / 2));
  if (!training.empty()) {
    svg += "<polyline fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"1.5\" points=\"";
    for (const LossPoint &point : training)
      svg += formatted("{:.1f},{:.1f} ", x.place(double(point.step)), y.place(point.loss));
    svg.back() = '"';
    svg += "/>\n" + text(kRight, kTop - 14, "end", "training", " fill=\"#1f77b4\"");
  }
  for (const LossPoint &point : evaluation)
    svg += formatted("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#d62728\"/>\n",
                     x.place(double(point.step)), y.place(point.loss));
  if (!evaluation.empty())
    svg += text(kRight - 70, kTop - 14, "end", "evaluation", " fill=\"#d62728\"");
  return svg + "</svg>\n";
}

} // namespace transformer::runtime
