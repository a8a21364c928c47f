//===- Initializer.cpp - parameters from a seed ---------------------------===//
#include "runtime/execute/Initializer.h"

#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Philox.h"
#include "runtime/base/Tensor.h"
#include "runtime/execute/ThreadPool.h"
#include "runtime/profile/Profile.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace transformer::runtime {
namespace {

constexpr int64_t kBlock = 4;       // elements of one counter
constexpr int64_t kPiece = 1 << 16; // elements of a task
constexpr double kUnit = 0x1p-32;

/// The random words of one parameter.
class Stream {
public:
  Stream(Seed seed, const std::string &name)
      : key{uint32_t(seed.value), uint32_t(seed.value >> 32)}, hash(hashOf(name)) {}

  /// Of elements 4 * block .. 4 * block + 3; a block may be drawn again. Of a tensor of more than
  /// 2^34 elements blocks would repeat.
  std::array<uint32_t, kBlock> words(int64_t block, uint32_t draw = 0) const {
    return philox({uint32_t(block), draw, uint32_t(hash), uint32_t(hash >> 32)}, key);
  }

private:
  std::array<uint32_t, 2> key;
  uint64_t hash;
};

using Numbers = std::array<double, kBlock>;

/// In [-1, 1).
Numbers uniformNumbers(const Stream &stream, int64_t block) {
  Numbers result;
  std::ranges::transform(stream.words(block), result.begin(),
                         [](uint32_t word) { return 2 * kUnit * double(word) - 1; });
  return result;
}

/// Standard normal ones (Box and Muller 1958).
Numbers normalNumbers(const Stream &stream, int64_t block, uint32_t draw = 0) {
  std::array<uint32_t, kBlock> words = stream.words(block, draw);
  Numbers result;
  for (size_t i = 0; i < kBlock; i += 2) {
    double radius = std::sqrt(-2 * std::log(kUnit * (double(words[i]) + 1))); // not of 0
    double angle = 2 * std::numbers::pi * kUnit * double(words[i + 1]);
    result[i] = radius * std::cos(angle);
    result[i + 1] = radius * std::sin(angle);
  }
  return result;
}

/// The same, each drawn until it is within two deviations.
Numbers truncatedNumbers(const Stream &stream, int64_t block) {
  Numbers result = normalNumbers(stream, block);
  auto isOutside = [](double x) { return std::abs(x) > 2; };
  for (uint32_t draw = 1; std::ranges::any_of(result, isOutside); ++draw) {
    Numbers next = normalNumbers(stream, block, draw);
    for (size_t i = 0; i < kBlock; ++i)
      if (isOutside(result[i]))
        result[i] = next[i];
  }
  return result;
}

/// As torch.nn.init counts them: of a shape [out, in, kernel...].
struct Fans {
  double in, out;
};

Fans fansOf(const std::vector<int64_t> &shape) {
  double kernel = 1;
  for (size_t i = 2; i < shape.size(); ++i)
    kernel *= double(shape[i]);
  return {double(shape[1]) * kernel, double(shape[0]) * kernel};
}

/// The bound of uniform numbers, the deviation of normal ones.
double scaleOf(const InitInfo &init, const std::vector<int64_t> &shape) {
  auto xavier = [&](double factor) {
    Fans fans = fansOf(shape);
    return std::sqrt(factor / (fans.in + fans.out));
  };
  auto kaiming = [&](double factor) {
    return std::sqrt(factor / ((1 + init.value * init.value) * fansOf(shape).in));
  };
  switch (init.kind) {
  case InitInfo::XavierUniform:
    return xavier(6);
  case InitInfo::XavierNormal:
    return xavier(2);
  case InitInfo::KaimingUniform:
    return kaiming(6);
  case InitInfo::KaimingNormal:
    return kaiming(2);
  default:
    return init.value;
  }
}

/// Calls body(begin, end) for parts of `count` elements, on all threads.
template <typename Body> void forPieces(int64_t count, Body body) {
  parallelFor((count + kPiece - 1) / kPiece,
              [&](int64_t piece) { body(piece * kPiece, std::min(count, (piece + 1) * kPiece)); });
}

/// Four numbers of each block, times `scale`.
template <typename Draw> void fillRandom(float *result, int64_t count, double scale, Draw draw) {
  forPieces(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kBlock) {
      Numbers numbers = draw(i / kBlock);
      for (int64_t j = 0; j < std::min(kBlock, end - i); ++j)
        result[i + j] = float(scale * numbers[size_t(j)]);
    }
  });
}

void fillSinusoids(float *result, int64_t rows, int64_t width, double span) {
  int64_t sines = (width + 1) / 2;
  parallelFor(rows, [&](int64_t row) {
    for (int64_t column = 0; column < width; ++column) {
      bool isSine = column < sines;
      double exponent = double(isSine ? column : column - sines) / span;
      double angle = double(row) / std::pow(10000.0, exponent);
      result[row * width + column] = float(isSine ? std::sin(angle) : std::cos(angle));
    }
  });
}

} // namespace

void initialize(const ParameterInfo &parameter, Seed seed, float *result) {
  if (!parameter.init)
    fail("parameter \"{}\" has no initializer: give --weights", parameter.name);
  if (parameter.dtype != DataType::F32)
    fail("parameter \"{}\" is no f32, which are all that is initialised", parameter.name);
  ProfileScope scope("initialize", parameter.name.c_str());
  const InitInfo &init = *parameter.init;
  Stream stream(seed, parameter.name);
  int64_t count = byteSize(parameter.shape, 1);
  double scale = scaleOf(init, parameter.shape);
  auto fillWith = [&](float value) {
    forPieces(count,
              [&](int64_t begin, int64_t end) { std::fill(result + begin, result + end, value); });
  };
  switch (init.kind) {
  case InitInfo::Zeros:
    fillWith(0);
    break;
  case InitInfo::Ones:
    fillWith(1);
    break;
  case InitInfo::Constant:
    fillWith(float(init.value));
    break;
  case InitInfo::Sinusoids:
    fillSinusoids(result, parameter.shape[0], parameter.shape[1], init.value);
    break;
  case InitInfo::Uniform:
  case InitInfo::XavierUniform:
  case InitInfo::KaimingUniform:
    fillRandom(result, count, scale, [&](int64_t block) { return uniformNumbers(stream, block); });
    break;
  case InitInfo::Normal:
  case InitInfo::XavierNormal:
  case InitInfo::KaimingNormal:
    fillRandom(result, count, scale, [&](int64_t block) { return normalNumbers(stream, block); });
    break;
  case InitInfo::TruncatedNormal:
    fillRandom(result, count, scale,
               [&](int64_t block) { return truncatedNumbers(stream, block); });
    break;
  }
  if (init.zeroRow) {
    int64_t width = count / parameter.shape.front();
    std::fill_n(result + *init.zeroRow * width, width, 0.0f);
  }
}

} // namespace transformer::runtime
