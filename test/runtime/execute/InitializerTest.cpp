#include "runtime/execute/Initializer.h"
#include "runtime/execute/ThreadPool.h"
#include "test/runtime/FakeModule.h"
#include "test/runtime/TestSupport.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace transformer::runtime;
using Values = std::vector<float>;

namespace {

const std::vector<int64_t> square{300, 400}; // elements for statistics

Values valuesOf(InitInfo init, const std::vector<int64_t> &shape = square,
                const std::string &name = "layers.0.weight", uint64_t seed = 7) {
  Values result(size_t(byteSize(shape, 1)));
  initialize({name, {}, DataType::F32, shape, init}, Seed{seed}, result.data());
  return result;
}

double mean(const Values &values) {
  double sum = 0;
  for (float x : values)
    sum += x;
  return sum / double(values.size());
}

double deviation(const Values &values) {
  double sum = 0;
  for (float x : values)
    sum += double(x) * double(x);
  return std::sqrt(sum / double(values.size()));
}

double largest(const Values &values) {
  float result = 0;
  for (float x : values)
    result = std::max(result, std::abs(x));
  return result;
}

/// The statistic of Kolmogorov and Smirnov, times the root of the count: above 1.95 with a
/// probability of 0.001.
double distance(Values values, const std::function<double(double)> &distribution) {
  std::ranges::sort(values);
  double count = double(values.size()), result = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    double p = distribution(values[i]);
    result = std::max({result, p - double(i) / count, double(i + 1) / count - p});
  }
  return result * std::sqrt(count);
}

double normalDistribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// How values at a distance go together: 0 +- 1 / sqrt(count) when they do not.
double correlation(const Values &a, const Values &b, size_t shift = 0) {
  double sum = 0;
  for (size_t i = 0; i + shift < a.size(); ++i)
    sum += double(a[i + shift]) * double(b[i]);
  return sum / double(a.size()) / deviation(a) / deviation(b);
}

TEST(Initializer, Constants) {
  std::vector<int64_t> shape{3, 2};
  EXPECT_EQ(valuesOf({InitInfo::Zeros}, shape), Values(6, 0.0f));
  EXPECT_EQ(valuesOf({InitInfo::Ones}, shape), Values(6, 1.0f));
  EXPECT_EQ(valuesOf({InitInfo::Constant, -0.5}, shape), Values(6, -0.5f));
  EXPECT_EQ(valuesOf({InitInfo::Ones}, {}), Values(1, 1.0f)); // a scalar
}

TEST(Initializer, Uniform) {
  Values values = valuesOf({InitInfo::Uniform, 0.3});
  EXPECT_NEAR(mean(values), 0, 0.002);
  EXPECT_NEAR(deviation(values), 0.3 / std::sqrt(3.0), 0.001);
  EXPECT_LE(largest(values), 0.3f);
  EXPECT_GT(largest(values), 0.2999);
  EXPECT_LT(distance(values, [](double x) { return (x / 0.3 + 1) / 2; }), 1.95);
}

TEST(Initializer, Normal) {
  Values values = valuesOf({InitInfo::Normal, 0.02});
  EXPECT_NEAR(mean(values), 0, 0.0002);
  EXPECT_NEAR(deviation(values), 0.02, 0.0002);
  EXPECT_GT(largest(values), 0.08);
  EXPECT_LT(largest(values), 0.12);
  EXPECT_LT(distance(values, [](double x) { return normalDistribution(x / 0.02); }), 1.95);
}

TEST(Initializer, TruncatedNormal) {
  Values values = valuesOf({InitInfo::TruncatedNormal, 0.02});
  EXPECT_NEAR(mean(values), 0, 0.0002);
  EXPECT_NEAR(deviation(values), 0.02 * 0.87962566, 0.0002);
  EXPECT_LE(largest(values), 0.04f);
  EXPECT_GT(largest(values), 0.0399);
  double below = normalDistribution(-2);
  EXPECT_LT(
      distance(values,
               [&](double x) { return (normalDistribution(x / 0.02) - below) / (1 - 2 * below); }),
      1.95);
}

TEST(Initializer, Fans) {
  // Of [out, in]: fans 400 and 300; of [out, in, kernel]: 600 and 480.
  const std::vector<int64_t> convolution{160, 200, 3};
  EXPECT_NEAR(largest(valuesOf({InitInfo::XavierUniform})), std::sqrt(6.0 / 700), 1e-5);
  EXPECT_NEAR(largest(valuesOf({InitInfo::XavierUniform}, convolution)), std::sqrt(6.0 / 1080),
              1e-5);
  EXPECT_NEAR(deviation(valuesOf({InitInfo::XavierNormal})), std::sqrt(2.0 / 700), 5e-4);
  EXPECT_NEAR(largest(valuesOf({InitInfo::KaimingUniform})), std::sqrt(6.0 / 400), 1e-5);
  EXPECT_NEAR(largest(valuesOf({InitInfo::KaimingUniform, std::sqrt(5.0)})), 1 / 20.0, 1e-5);
  EXPECT_NEAR(largest(valuesOf({InitInfo::KaimingUniform, std::sqrt(5.0)}, convolution)),
              1 / std::sqrt(600.0), 1e-5);
  EXPECT_NEAR(deviation(valuesOf({InitInfo::KaimingNormal})), std::sqrt(2.0 / 400), 5e-4);
  EXPECT_NEAR(deviation(valuesOf({InitInfo::KaimingNormal, 1})), std::sqrt(1.0 / 400), 5e-4);
}

TEST(Initializer, RowOfZeros) {
  Values all = valuesOf({InitInfo::Normal, 1}, {4, 5});
  Values values = valuesOf({InitInfo::Normal, 1, 2}, {4, 5});
  std::fill_n(all.begin() + 10, 5, 0.0f);
  EXPECT_EQ(values, all); // the others are what they would be
}

TEST(Initializer, Sinusoids) {
  Values values = valuesOf({InitInfo::Sinusoids, 2}, {3, 4}); // 10000^(i / 2) = 1, 100
  for (int position : {0, 1, 2}) {
    const float *row = &values[size_t(position) * 4];
    EXPECT_FLOAT_EQ(row[0], float(std::sin(position)));
    EXPECT_FLOAT_EQ(row[1], float(std::sin(position / 100.0)));
    EXPECT_FLOAT_EQ(row[2], float(std::cos(position)));
    EXPECT_FLOAT_EQ(row[3], float(std::cos(position / 100.0)));
  }
}

// The same on every machine: what runs were started from can be made again. Values are from an
// implementation in Python.
TEST(Initializer, FirstValues) {
  Values uniform = valuesOf({InitInfo::Uniform, 1}, {6}),
         normal = valuesOf({InitInfo::Normal, 1}, {6});
  Values expectedUniform{-0.722742245f, -0.372755605f, 0.943061427f,
                         0.577390212f,  -0.87320634f,  0.88276204f},
      expectedNormal{-0.773683043f, 1.83120842f, 0.0578602654f,
                     -0.233274476f, 2.19124398f, -0.845655155f};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_FLOAT_EQ(uniform[i], expectedUniform[i]);
    EXPECT_FLOAT_EQ(normal[i], expectedNormal[i]);
  }
}

TEST(Initializer, ElementsDependOnSeedNameAndIndexAlone) {
  for (InitInfo init : {InitInfo{InitInfo::Uniform, 1}, InitInfo{InitInfo::Normal, 1},
                        InitInfo{InitInfo::TruncatedNormal, 1}}) {
    setThreads(1);
    Values values = valuesOf(init);
    setThreads(3);
    EXPECT_EQ(valuesOf(init), values);
    setThreads(1);
    Values few = valuesOf(init, {257});
    EXPECT_TRUE(std::equal(few.begin(), few.end(), values.begin()));
    for (const Values &other :
         {valuesOf(init, square, "layers.1.weight"), valuesOf(init, square, "layers.0.weight", 8),
          valuesOf(init, square, "layers.0.weight", uint64_t(1) << 32 | 7)})
      EXPECT_NEAR(correlation(values, other), 0, 0.01);
    for (size_t shift : {1, 2, 3, 4})
      EXPECT_NEAR(correlation(values, values, shift), 0, 0.01);
  }
}

/// The fake, whose table is initialised as `init` says and whose bias is 200.
std::string descriptionWith(const nlohmann::json &init) {
  nlohmann::json description = nlohmann::json::parse(fakeDescription);
  description["parameters"][0]["init"] = init;
  description["parameters"][1]["init"] = {{"kind", "constant"}, {"value", 200}};
  return description.dump();
}

TEST(Initializer, AProgramFromASeed) {
  std::string description = descriptionWith({{"kind", "constant"}, {"value", 5}, {"zero_row", 2}});
  tr_module abi = fakeModule(description);
  Module module(abi, "fake");
  Program program(module, Seed{1});
  EXPECT_TRUE(program.weights().files().empty());
  TensorMap inputs;
  inputs["input_ids"] = ints({1, 3}, {0, 1, 2});
  EXPECT_EQ(transformer::runtime::valuesOf<float>(
                program.run("forward", std::move(inputs))["last_hidden_state"]),
            (Values{205, 205, 215, 215, 220, 220}));
  Tensor table(DataType::F32, {3, 2});
  program.copyParameter(0, table);
  EXPECT_EQ(transformer::runtime::valuesOf<float>(table), (Values{5, 5, 5, 5, 0, 0}));
}

TEST(Initializer, WhatTheWeightsLack) {
  std::string description = descriptionWith({{"kind", "constant"}, {"value", 5}});
  tr_module abi = fakeModule(description);
  Module module(abi, "fake");
  TemporaryFolder folder;
  TensorMap weights;
  weights["bias"] = floats({2}, {1, 2});
  writeSafetensors(folder.path("model.safetensors"), weights);
  Program program(module, Checkpoint::open(folder.path()), {}, Seed{1});
  EXPECT_EQ(program.initialized(), (std::vector<std::string>{"table"}));
  Tensor bias(DataType::F32, {2}), table(DataType::F32, {3, 2});
  program.copyParameter(0, table);
  program.copyParameter(1, bias);
  EXPECT_EQ(transformer::runtime::valuesOf<float>(table), (Values{5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(transformer::runtime::valuesOf<float>(bias), (Values{1, 2}));
  expectContains(errorOf([&] { Program other(module, Checkpoint::open(folder.path())); }),
                 {"missing tensor \"table\""});
}

TEST(Initializer, NamesAParameterWithout) {
  std::string description = descriptionWith(nullptr);
  tr_module abi = fakeModule(description);
  Module module(abi, "fake");
  expectContains(errorOf([&] { Program program(module, Seed{1}); }),
                 {"parameter \"table\" has no initializer"});
}

} // namespace
