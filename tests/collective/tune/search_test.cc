// The search on made-up surfaces, with noise.
#include "collective/tune/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace tony::collective {
namespace {

using ::testing::ElementsAre;
using Surface = std::function<double(const Settings&)>;

constexpr size_t kMebibyte = size_t{1} << 20;

Settings Present() { return {.fusion_bytes = 128 * kMebibyte, .window_us = 0}; }

/// How many doublings a number is away from another one.
double Distance(size_t number, size_t other) {
  return std::abs(std::log2(static_cast<double>(number + 1) / static_cast<double>(other + 1)));
}

/// Speeds of a surface, each off by up to a share of it, and one of `slow` much slower.
class Noise {
 public:
  Noise(unsigned seed, double share, unsigned slow = 0)
      : random_(seed), share_(share), slow_(slow) {}
  double Of(double speed) {
    const double off = static_cast<double>(random_() % 2001) / 1000 - 1;
    return speed * (1 + share_ * off) * (slow_ > 0 && random_() % slow_ == 0 ? 0.4 : 1);
  }

 private:
  std::mt19937 random_;
  const double share_;
  const unsigned slow_;
};

struct Found {
  Settings settings;
  int samples = 0;
  std::set<size_t> fusions;  ///< that were tried
  std::set<size_t> windows;
};

Found Climb(Search search, const Surface& surface, Noise noise = {0, 0}) {
  Found found;
  for (; !search.done() && found.samples < 10000; ++found.samples) {
    found.fusions.insert(search.settings().fusion_bytes);
    found.windows.insert(search.settings().window_us);
    search.Measured(noise.Of(surface(search.settings())));
  }
  EXPECT_TRUE(search.done());
  found.settings = search.settings();
  return found;
}

double Hill(const Settings& settings) {
  return 1000 / (1 + 0.1 * Distance(settings.fusion_bytes, 16 * kMebibyte) +
                 0.05 * Distance(settings.window_us, 1000));
}

TEST(TuneSearch, FindsTheTopInSpiteOfNoise) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Found found =
        Climb({Present(), ParametersOf({}, std::nullopt), 100}, Hill, Noise(seed, 0.04));
    EXPECT_EQ(found.settings.fusion_bytes, 16 * kMebibyte) << seed;
    EXPECT_EQ(found.settings.window_us, 1000U) << seed;
    EXPECT_LE(found.samples, 15 + 12 + 15);
  }
}

/// The machine is occasionally slow for a whole sample.
TEST(TuneSearch, HardlyEverLosesToWhatDisturbsSomeSamples) {
  int top = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Found found =
        Climb({Present(), ParametersOf({}, std::nullopt), 100}, Hill, Noise(seed, 0.03, 12));
    top += found.settings.fusion_bytes == 16 * kMebibyte && found.settings.window_us == 1000;
  }
  EXPECT_GE(top, 180);
}

/// The best window depends on the fusion threshold, so the first window found is not the final one.
TEST(TuneSearch, GoesOnUntilNothingChanges) {
  const auto ridge = [](const Settings& settings) {
    const double fusion = Distance(settings.fusion_bytes, kMebibyte);
    return 1000 - 100 * fusion - 200 * std::abs(Distance(settings.window_us, 0) - 8 + fusion / 3) -
           50 * Distance(settings.window_us, 250);
  };
  double best = 0;
  Settings top = Present();
  const auto parameters = ParametersOf({}, std::nullopt);
  for (const size_t fusion : parameters[0].values) {
    for (const size_t window : parameters[1].values) {
      const Settings settings = {.fusion_bytes = fusion, .window_us = window};
      if (ridge(settings) <= best) continue;
      best = ridge(settings);
      top = settings;
    }
  }
  EXPECT_EQ(Climb({Present(), parameters, 100}, ridge).settings, top);
}

TEST(TuneSearch, WhatIsFixedStays) {
  Settings present = Present();
  present.window_us = 700;
  const Found found =
      Climb({present, ParametersOf({.window = false}, std::nullopt), 100}, Hill, Noise(1, 0.01));
  EXPECT_EQ(found.settings.fusion_bytes, 16 * kMebibyte);
  EXPECT_THAT(found.windows, ElementsAre(700U));
  const Found other =
      Climb({Present(), ParametersOf({.fusion = false}, std::nullopt), 100}, Hill, Noise(1, 0.01));
  EXPECT_EQ(other.settings.window_us, 1000U);
  EXPECT_THAT(other.fusions, ElementsAre(128 * kMebibyte));
}

/// A choice is for a reason.
TEST(TuneSearch, OnAPlainAllStaysAsItIs) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Found found = Climb(
        {Present(), ParametersOf({}, std::nullopt), 100}, [](const Settings&) { return 7.0; },
        Noise(seed, 0.01));
    EXPECT_EQ(found.settings, Present()) << seed;
  }
}

/// A machine that becomes slower, or faster, between any two samples.
TEST(TuneSearch, ASlopeIsNoReason) {
  for (int change = 0; change < 20; ++change) {
    for (const double factor : {0.5, 2.0}) {
      int sample = 0;
      const Found found = Climb({Present(), ParametersOf({.window = false}, std::nullopt), 100},
                                [&](const Settings&) { return sample++ < change ? 1 : factor; });
      EXPECT_EQ(found.settings, Present()) << "after " << change << " samples, by " << factor;
    }
  }
}

/// One that is not among the values that are tried is one of them.
TEST(TuneSearch, KeepsAPresentValueOfItsOwn) {
  Settings present = Present();
  present.fusion_bytes = 15 * kMebibyte;
  const Found found =
      Climb({present, ParametersOf({}, std::nullopt), 100}, [](const Settings& one) {
        return one.fusion_bytes == 15 * kMebibyte && one.window_us == 0 ? 2.0 : 1.0;
      });
  EXPECT_EQ(found.settings, present);
}

TEST(TuneSearch, TheSlowerHalfLeaves) {
  std::map<size_t, int> measured;
  Search search(Present(), ParametersOf({.window = false}, std::nullopt), 100);
  while (!search.done()) {
    ++measured[search.settings().fusion_bytes];
    search.Measured(Hill(search.settings()));
  }
  // Five twice, then three, then two. The present one stays.
  EXPECT_EQ(measured, (std::map<size_t, int>{{kMebibyte, 2},
                                             {4 * kMebibyte, 3},
                                             {16 * kMebibyte, 4},
                                             {64 * kMebibyte, 2},
                                             {128 * kMebibyte, 4}}));
  EXPECT_GT(search.speed(), 0);
}

TEST(TuneSearch, TriesAreBounded) {
  for (const int tries : {1, 3, 5, 8}) {
    const Found found = Climb({Present(), ParametersOf({}, std::nullopt), tries}, Hill);
    EXPECT_LE(found.fusions.size() + found.windows.size(), static_cast<size_t>(tries) + 2);
    EXPECT_GT(found.fusions.size(), 1U);
  }
}

TEST(TuneSearch, WithoutAnythingToTry) {
  EXPECT_TRUE(Search(Present(), {}, 20).done());
  EXPECT_TRUE(Search(Present(), ParametersOf({}, std::nullopt), 0).done());
  const Group::Ways none;
  EXPECT_TRUE(ParametersOf({.fusion = false, .window = false}, none).empty());
}

TEST(TuneSearch, SwitchPointsOfAGroupThatHasThem) {
  const Group::Ways ways = {.tunable = {&SwitchPoints::whole_bytes, &SwitchPoints::window_bytes,
                                        &SwitchPoints::rails_bytes}};
  Settings present = Present();
  present.points = ways.points;
  const Found found = Climb({present, ParametersOf({.fusion = false, .window = false}, ways), 100},
                            [](const Settings& settings) {
                              const SwitchPoints& points = *settings.points;
                              EXPECT_TRUE(points.Check().ok());
                              return 100 / (1 + Distance(points.whole_bytes, 256 << 10) +
                                            Distance(points.window_bytes, 4 << 20) +
                                            Distance(points.rails_bytes, 1 << 20));
                            });
  EXPECT_EQ(found.settings.points->whole_bytes, size_t{256} << 10);
  EXPECT_EQ(found.settings.points->window_bytes, size_t{4} << 20);
  EXPECT_EQ(found.settings.points->rails_bytes, size_t{1} << 20);
  EXPECT_EQ(found.settings.points->streams, ways.points.streams);
  EXPECT_TRUE(ParametersOf({.fusion = false, .window = false, .points = false}, ways).empty());
}

TEST(TuneSearch, Medians) {
  EXPECT_EQ(Median({5}), 5);
  EXPECT_EQ(Median({9, 1}), 5);
  EXPECT_EQ(Median({9, 1, 2}), 2);
  EXPECT_EQ(Median({9, 1, 2, 4}), 3);
}

}  // namespace
}  // namespace tony::collective
