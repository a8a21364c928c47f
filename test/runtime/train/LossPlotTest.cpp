#include "runtime/train/LossPlot.h"
#include "test/runtime/TestSupport.h"

#include <cmath>

using namespace transformer::runtime;

namespace {

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

/// "x,y x,y" of the line.
std::string line(const std::string &svg) {
  const std::string before = " points=\"";
  size_t begin = svg.find(before);
  if (begin == svg.npos)
    return "";
  begin += before.size();
  return svg.substr(begin, svg.find('"', begin) - begin);
}

/// Whether every tag that opens closes, in order.
bool isBalanced(const std::string &svg) {
  std::vector<std::string> open;
  for (size_t at = svg.find('<'); at != svg.npos; at = svg.find('<', at + 1)) {
    size_t end = svg.find('>', at);
    bool closes = svg[at + 1] == '/', both = end != svg.npos && svg[end - 1] == '/';
    size_t name = at + 1 + closes;
    std::string tag = svg.substr(name, svg.find_first_of(" />", name) - name);
    if (!closes && !both)
      open.push_back(tag);
    if (closes && (open.empty() || open.back() != tag))
      return false;
    if (closes)
      open.pop_back();
  }
  return open.empty();
}

TEST(LossPlot, HasTheLossesWhereTheyBelong) {
  Losses losses{{{1, 4}, {2, 3}, {3, NAN}, {4, 2}}, {{2, 3}, {4, INFINITY}}};
  std::string svg = lossPlot(losses);
  // Steps 0 to 4 are 70 to 780, losses 2 to 4 are 390 to 40.
  EXPECT_EQ(line(svg), "247.5,40.0 425.0,215.0 780.0,390.0");
  EXPECT_EQ(countOf(svg, "<circle"), 1u);
  expectContains(svg, {"<circle cx=\"425.0\" cy=\"215.0\"", ">step</text>", ">loss</text>",
                       ">training</text>", ">evaluation</text>",
                       "<text x=\"425.0\" y=\"408.0\" text-anchor=\"middle\">2</text>",
                       "<text x=\"70.0\" y=\"408.0\" text-anchor=\"middle\">0</text>",
                       "<text x=\"62.0\" y=\"219.0\" text-anchor=\"end\">3.0</text>"});
  EXPECT_TRUE(isBalanced(svg)) << svg;
}

TEST(LossPlot, FewLossesAreAPictureToo) {
  std::string none = lossPlot({});
  EXPECT_TRUE(isBalanced(none));
  EXPECT_EQ(countOf(none, "<polyline") + countOf(none, "<circle"), 0u);
  EXPECT_EQ(none.find("nan"), none.npos);
  EXPECT_EQ(line(lossPlot({{{1, 2.5}}, {}})), "780.0,215.0");
  std::string small = lossPlot({{{1, 0.00012}, {2, 0.0001}}, {}});
  expectContains(small, {">0.000120</text>", ">0.000100</text>"});
}

TEST(LossPlot, ManyLossesAreMeans) {
  Losses losses;
  for (int64_t step = 1; step <= 5000; ++step)
    losses.training.push_back({step, step % 3 == 0 ? 6.0 : 0.0});
  losses.training.back().loss = 100; // of the last two
  std::string points = line(lossPlot(losses));
  EXPECT_EQ(countOf(points, ","), 1667u);
  // The mean of each three is 2, of the last two 50; steps 3 and 5000 of 5000.
  EXPECT_EQ(points.substr(0, points.find(' ')), "70.4,390.0");
  EXPECT_EQ(points.substr(points.rfind(' ') + 1), "780.0,40.0");
}

} // namespace
