// Durations from tenths of a second to days.
#include "core/record/duration_text.h"

#include <gtest/gtest.h>

namespace tony::core {
namespace {

TEST(FormatDuration, GrowsCoarser) {
  EXPECT_EQ(FormatDuration(-1), "-");
  EXPECT_EQ(FormatDuration(0), "<0.1s");
  EXPECT_EQ(FormatDuration(99), "<0.1s");
  EXPECT_EQ(FormatDuration(100), "0.1s");
  EXPECT_EQ(FormatDuration(9'999), "9.9s");
  EXPECT_EQ(FormatDuration(59'999), "59s");
  EXPECT_EQ(FormatDuration(185'000), "3m 05s");
  EXPECT_EQ(FormatDuration(7'620'000), "2h 07m");
  EXPECT_EQ(FormatDuration(273'600'000), "3d 04h");
}

}  // namespace
}  // namespace tony::core
