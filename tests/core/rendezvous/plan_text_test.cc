// A driver's plan as text: TonY's form, and what is none.
#include "core/rendezvous/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::core {
namespace {

using ::testing::HasSubstr;

TEST(PlanTextTest, SlotsCanBeReadBack) {
  const std::vector<Slot> slots = PlanSlots({{"a", 2}, {"b", 1}}, 3).value();
  const auto read = ParsePlan(FormatPlan({0, true, slots}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->slots, slots);
}

// As TonY's horovod_driver.py writes it.
TEST(PlanTextTest, ReadsTonysForm) {
  const auto slots =
      ParsePlan(R"([{"hostname": "a", "rank": 0, "localRank": 0, "crossRank": 0, "size": 1, )"
                R"("localSize": 1, "crossSize": 1}])");
  ASSERT_TRUE(slots.ok()) << slots.status();
  EXPECT_EQ(slots->slots, PlanSlots({{"a", 1}}, 1).value());
}

TEST(PlanTextTest, SaysWhatIsMissing) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "it is no JSON list"},
      {"{}", "it is no JSON list"},
      {"[1]", "entry 0 has no hostname"},
      {R"([{"hostname": 7}])", "entry 0 has no hostname"},
      {R"([{"hostname": "a"}])", "entry 0 has no number rank"},
      {R"([{"hostname": "a", "rank": "0"}])", "entry 0 has no number rank"},
      {R"([{"hostname": "a", "rank": 0.5}])", "entry 0 has no number rank"},
  };
  for (const auto& [text, why] : cases) {
    const auto slots = ParsePlan(text);
    ASSERT_TRUE(absl::IsInvalidArgument(slots.status())) << text;
    EXPECT_THAT(std::string(slots.status().message()), HasSubstr(why)) << text;
  }
}

TEST(PlanTextTest, WaitsCanBeReadBack) {
  for (const RendezvousWait& wait :
       {RendezvousWait{}, RendezvousWait{"\"worker:1\"\n", {"worker:1", "chief:0"}}}) {
    const auto read = ParseWait(FormatWait(wait));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, wait);
  }
  for (const char* const text : {"", "[]", "worker:1", R"({"sentence": "x"})",
                                 R"({"sentence": 1, "missing": []})", R"({"missing": []})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseWait(text).status())) << text;
  }
}

TEST(PlanTextTest, TheFileIsNamedAfterThePort) {
  EXPECT_EQ(PlanFileName(4711), "4711____HOROVOD_RENDEZVOUS_SERVER____");
  EXPECT_EQ(PortOfPlanFile(PlanFileName(4711)), 4711);
  EXPECT_EQ(PortOfPlanFile("4711"), std::nullopt);
  EXPECT_EQ(PortOfPlanFile("65536____HOROVOD_RENDEZVOUS_SERVER____"), std::nullopt);
  EXPECT_EQ(PortOfPlanFile("-1____HOROVOD_RENDEZVOUS_SERVER____"), std::nullopt);
  EXPECT_EQ(PortOfPlanFile("x____HOROVOD_RENDEZVOUS_SERVER____"), std::nullopt);
  EXPECT_EQ(PortOfPlanFile("____HOROVOD_RENDEZVOUS_SERVER____"), std::nullopt);
}

}  // namespace
}  // namespace tony::core
