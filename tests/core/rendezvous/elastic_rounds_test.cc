// Rounds of elastic jobs: what begins when, and with whom.
#include "core/rendezvous/elastic_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/fake_clock.h"

namespace tony::core {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class ElasticRoundsTest : public ::testing::Test {
 protected:
  /// "a1": the first member on host a.
  void Members(const std::vector<std::string>& names, bool finished = false) {
    std::vector<ElasticMember> members;
    for (const std::string& name : names) members.push_back({name, name.substr(0, 1)});
    Take(rounds_.OnMembers(members, finished, clock_.Now()));
  }
  void Ask(const std::string& host, int local_rank) {
    Take(rounds_.OnAsked(host, local_rank, clock_.Now()));
  }
  void Address(const std::string& host, int local_rank) {
    Take(rounds_.OnAddress(host, local_rank,
                           std::make_shared<const std::string>(absl::StrCat(host, local_rank))));
  }
  void Wait(Duration time) {
    clock_.Advance(time);
    Take(rounds_.OnTick(clock_.Now()));
  }
  /// The effects since the last call: "round 1: a1 b1*" by rank, * for a new process.
  std::string Done() { return std::exchange(done_, ""); }

  ElasticRounds rounds_{{.size = {2, 4}, .resets = 5}};
  FakeClock clock_;
  std::vector<std::string> missing_;  ///< when it has failed

 private:
  void Take(const ElasticEffects& effects) {
    for (const ElasticEffect& effect : effects) {
      if (!done_.empty()) done_ += "; ";
      if (const auto* begin = std::get_if<elastic::Begin>(&effect)) {
        absl::StrAppend(&done_, "round ", begin->round, ":");
        for (size_t rank = 0; rank < begin->places.size(); ++rank) {
          const ElasticAssignment& place = begin->places[rank];
          EXPECT_EQ(place.slot.rank, static_cast<int>(rank));
          EXPECT_EQ(place.slot.size, static_cast<int>(begin->places.size()));
          EXPECT_EQ(place.slot.host, place.member.substr(0, 1));
          absl::StrAppend(&done_, " ", place.member, place.previous ? "" : "*");
        }
      } else if (const auto* notify = std::get_if<elastic::Notify>(&effect)) {
        EXPECT_GT(notify->timestamp, last_timestamp_);
        last_timestamp_ = notify->timestamp;
        absl::StrAppend(&done_, "notify ", notify->member, " at ", *notify->address);
      } else {
        done_ += std::get<elastic::Fail>(effect).sentence;
        missing_ = std::get<elastic::Fail>(effect).missing;
      }
    }
  }

  std::string done_;
  int64_t last_timestamp_ = 0;
};

TEST_F(ElasticRoundsTest, TheFirstRoundIsOfThoseWhoAreThere) {
  Members({"a1", "b1", "a2"});
  EXPECT_EQ(Done(), "round 0: a1* a2* b1*");
}

TEST_F(ElasticRoundsTest, TheFirstRoundWaitsForTheLeast) {
  Members({"a1"});
  EXPECT_EQ(Done(), "");
  EXPECT_EQ(
      rounds_.DescribeWait().sentence,
      "1 process is there, and the job needs at least 2 (tony.worker.min-instances); no other "
      "container has come");
  Members({"a1", "b1"});
  EXPECT_EQ(Done(), "round 0: a1* b1*");
  EXPECT_EQ(rounds_.DescribeWait().sentence, "");
}

TEST_F(ElasticRoundsTest, MoreThanTheMostHaveNoPlace) {
  Members({"a1", "b1", "c1", "d1", "e1"});
  EXPECT_EQ(Done(), "round 0: a1* b1* c1* d1*");
}

TEST_F(ElasticRoundsTest, ALostProcessShrinksTheJob) {
  Members({"a1", "b1", "c1"});
  Done();
  Members({"a1", "c1"});
  EXPECT_EQ(Done(), "");
  EXPECT_EQ(rounds_.DescribeWait().sentence,
            "a1 (rank 0 on a), c1 (rank 2 on c) have not asked for a place in the next round");
  EXPECT_EQ(rounds_.DescribeWait().missing, (std::vector<std::string>{"a1", "c1"}));
  Ask("c", 0);
  Ask("a", 0);
  EXPECT_EQ(Done(), "round 1: a1 c1");
}

// They notice before the container's end is known.
TEST_F(ElasticRoundsTest, WhoAsksWaitsForTheEndOfTheLost) {
  Members({"a1", "b1", "c1"});
  Done();
  Ask("a", 0);
  Ask("b", 0);
  EXPECT_EQ(Done(), "");
  EXPECT_EQ(rounds_.DescribeWait().sentence,
            "c1 (rank 2 on c) has not asked for a place in the next round");
  Members({"a1", "b1"});
  EXPECT_EQ(Done(), "round 1: a1 b1");
}

TEST_F(ElasticRoundsTest, FreeRoomGrowsTheJob) {
  Members({"a1", "b1"});
  Address("a", 0);
  Done();
  Members({"a1", "b1", "c1"});
  EXPECT_EQ(Done(), "notify a1 at a0");
  Members({"a1", "b1", "c1"});
  EXPECT_EQ(Done(), "") << "told twice";
  Ask("b", 0);
  Ask("a", 0);
  EXPECT_EQ(Done(), "round 1: a1 b1 c1*");
}

TEST_F(ElasticRoundsTest, TwoChangesAreOneRound) {
  Members({"a1", "b1"});
  Address("a", 0);
  Done();
  Members({"a1", "b1", "c1"});
  Members({"a1", "b1", "c1", "d1"});
  EXPECT_EQ(Done(), "notify a1 at a0; notify a1 at a0");
  Ask("a", 0);
  Ask("b", 0);
  EXPECT_EQ(Done(), "round 1: a1 b1 c1* d1*");
}

// Between the question of the first and that of the last.
TEST_F(ElasticRoundsTest, AChangeWhileTheyAskCounts) {
  Members({"a1", "b1", "c1"});
  Done();
  Ask("a", 0);
  Members({"a1", "b1", "c1", "d1"});
  Ask("b", 0);
  Members({"a1", "b1", "d1"});
  EXPECT_EQ(Done(), "round 1: a1 b1 d1*");
}

TEST_F(ElasticRoundsTest, WhoHasNoAddressYetIsToldWhenItHas) {
  Members({"a1", "b1"});
  Members({"a1", "b1", "c1"});
  EXPECT_EQ(Done(), "round 0: a1* b1*");
  Address("b", 0);
  EXPECT_EQ(Done(), "") << "only the first looks";
  Address("a", 0);
  EXPECT_EQ(Done(), "notify a1 at a0");
}

TEST_F(ElasticRoundsTest, NobodyIsToldWhereThereIsNoRoom) {
  Members({"a1", "b1", "c1", "d1"});
  Address("a", 0);
  Done();
  Members({"a1", "b1", "c1", "d1", "e1"});
  EXPECT_EQ(Done(), "");
}

// Local ranks begin at 0 in each round, and so do the keys under which they ask.
TEST_F(ElasticRoundsTest, PlacesOfTheRunningRoundCount) {
  Members({"a1", "a2", "b1"});
  Done();
  Members({"a2", "b1"});
  Ask("a", 1);
  Ask("b", 0);
  EXPECT_EQ(Done(), "round 1: a2 b1");
  EXPECT_EQ(rounds_.places()[0].slot.local_rank, 0);
  Ask("a", 0);
  Ask("b", 0);
  EXPECT_EQ(Done(), "round 2: a2 b1");
}

TEST_F(ElasticRoundsTest, TheStateSurvivesTheFirst) {
  Members({"a1", "b1", "c1"});
  Done();
  Members({"b1", "c1", "d1"});
  Ask("b", 0);
  Ask("c", 0);
  EXPECT_EQ(Done(), "round 1: b1 c1 d1*");
}

TEST_F(ElasticRoundsTest, NobodyComesToInit) {
  Members({"a1", "b1"});
  Done();
  Members({"a1", "c1"});
  EXPECT_EQ(Done(), "");
  Members({"c1"});
  EXPECT_EQ(Done(), "No process came to hvd.init()");
}

TEST_F(ElasticRoundsTest, NobodySurvives) {
  Members({"a1", "b1"});
  rounds_.OnCame();
  Done();
  Members({"c1", "d1"});
  EXPECT_THAT(Done(), HasSubstr("No process of the last round is left"));
  Members({"c1", "d1"});
  EXPECT_EQ(Done(), "") << "it has failed once already";
}

TEST_F(ElasticRoundsTest, BelowTheLeastItWaitsForMore) {
  Members({"a1", "b1"});
  Done();
  Members({"a1"});
  Ask("a", 0);
  EXPECT_EQ(Done(), "");
  Members({"a1", "c1"});
  EXPECT_EQ(Done(), "round 1: a1 c1*");
}

TEST_F(ElasticRoundsTest, BelowTheLeastForTooLong) {
  Members({"a1", "b1"});
  Done();
  EXPECT_FALSE(rounds_.NextDeadline().has_value());
  Members({"a1"});
  Ask("a", 0);
  ASSERT_TRUE(rounds_.NextDeadline().has_value());
  Wait(seconds(599));
  EXPECT_EQ(Done(), "");
  Wait(seconds(1));
  EXPECT_EQ(Done(),
            "The job did not go on within 600 s (tony.horovod.elastic-timeout-sec): 1 process is "
            "there, and the job needs at least 2 (tony.worker.min-instances); no other container "
            "has come");
  EXPECT_FALSE(rounds_.NextDeadline().has_value());
}

TEST_F(ElasticRoundsTest, OneThatNeverAsks) {
  Members({"a1", "b1", "c1"});
  Done();
  Members({"a1", "b1"});
  Ask("a", 0);
  Wait(seconds(600));
  EXPECT_THAT(Done(), HasSubstr(": b1 (rank 1 on b) has not asked"));
  EXPECT_EQ(missing_, (std::vector<std::string>{"b1"}));
}

TEST_F(ElasticRoundsTest, ResetsHaveALimit) {
  Members({"a1", "b1"});
  Done();
  for (int round = 1; round <= 5; ++round) {
    Ask("a", 0);
    Ask("b", 0);
    EXPECT_EQ(Done(), absl::StrCat("round ", round, ": a1 b1"));
  }
  Ask("a", 0);
  Ask("b", 0);
  EXPECT_EQ(Done(),
            "The job has begun anew 5 times, which is the limit (tony.horovod.reset-limit)");
}

// One has ended well, and the last ones find its connections closed.
TEST_F(ElasticRoundsTest, AtTheEndNobodyJoins) {
  Members({"a1", "b1", "c1"});
  Address("a", 0);
  Done();
  Members({"a1", "c1", "d1"}, /*finished=*/true);
  EXPECT_EQ(Done(), "") << "somebody is told";
  Ask("a", 0);
  Ask("c", 0);
  EXPECT_EQ(Done(), "round 1: a1 c1");
  Members({"c1"}, true);
  Ask("c", 0);
  EXPECT_EQ(Done(), "round 2: c1") << "below the least, but at the end";
  Members({}, true);
  EXPECT_EQ(Done(), "");
}

TEST_F(ElasticRoundsTest, StrangersAreNotHeard) {
  Members({"a1", "b1"});
  Done();
  Ask("c", 0);
  Ask("a", 7);
  Address("c", 0);
  EXPECT_EQ(Done(), "");
  EXPECT_EQ(rounds_.DescribeWait().sentence, "");
}

// A process that was started for this round dies before it has met the others.
TEST_F(ElasticRoundsTest, ANewcomerThatDiesIsReplaced) {
  Members({"a1", "b1"});
  Ask("a", 0);
  Members({"a1", "b1", "c1"});
  Ask("b", 0);
  EXPECT_EQ(Done(), "round 0: a1* b1*; round 1: a1 b1 c1*");
  Members({"a1", "b1", "c2"});
  Ask("a", 0);
  Ask("b", 0);
  EXPECT_EQ(Done(), "round 2: a1 b1 c2*");
}

}  // namespace
}  // namespace tony::core
