// Who gets which partition of a feed.
#include "core/feed/feed_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Verdict = feed_order::Answer::Verdict;

/// "c1: 7 granted", "c1: recorded 7", "c1: train terminated", "c1: train ended".
std::vector<std::string> Texts(const FeedTable::Effects& effects) {
  std::vector<std::string> texts;
  for (const FeedTable::Effect& effect : effects) {
    std::string text;
    if (const auto* answer = std::get_if<feed_order::Answer>(&effect.order)) {
      static const std::map<Verdict, std::string> names = {{Verdict::kGranted, "granted"},
                                                           {Verdict::kSkip, "skip"},
                                                           {Verdict::kBusy, "busy"},
                                                           {Verdict::kStopped, "stopped"},
                                                           {Verdict::kRefused, "refused"}};
      text = absl::StrCat(answer->connection, " ", names.at(answer->verdict));
    } else if (const auto* recorded = std::get_if<feed_order::Recorded>(&effect.order)) {
      text = absl::StrCat("recorded ", recorded->connection);
    } else if (const auto* awaited = std::get_if<feed_order::Awaited>(&effect.order)) {
      text = absl::StrCat("awaited ", awaited->connection);
    } else if (const auto* ending = std::get_if<feed_order::Ending>(&effect.order)) {
      text = absl::StrCat(ending->feed, " ending");
    } else if (const auto* terminated = std::get_if<feed_order::Terminated>(&effect.order)) {
      text = absl::StrCat(terminated->feed, " terminated");
    } else {
      text = absl::StrCat(std::get<feed_order::Ended>(effect.order).feed, " ended");
    }
    texts.push_back(absl::StrCat(effect.container, ": ", text));
  }
  return texts;
}

class FeedTableTest : public ::testing::Test {
 protected:
  FeedTableTest() {
    table_.Apply("c1", feed_report::Endpoint{"/c1", 1});
    table_.Apply("c2", feed_report::Endpoint{"/c2", 2});
  }

  static FeedLease Lease(uint64_t connection, int64_t partition, std::string feed = "train") {
    return {connection, {std::move(feed), 0, partition}};
  }
  std::vector<std::string> Ask(const std::string& container, uint64_t connection, int64_t partition,
                               const std::string& feed = "train") {
    return Texts(table_.Apply(container, feed_report::Ask{Lease(connection, partition, feed)}));
  }
  std::vector<std::string> Consume(const std::string& container, uint64_t connection,
                                   int64_t partition) {
    return Texts(table_.Apply(container, feed_report::Consumed{Lease(connection, partition), 100}));
  }
  std::vector<std::string> GiveBack(const std::string& container, uint64_t connection,
                                    int64_t partition) {
    return Texts(table_.Apply(container, feed_report::GivenBack{Lease(connection, partition)}));
  }

  explicit FeedTableTest(FeedTable table) : table_(std::move(table)) {}

  FeedTable table_{{}, TimePoint()};
};

TEST_F(FeedTableTest, GrantsOnceAndSkipsLater) {
  EXPECT_THAT(Ask("c1", 1, 0), ElementsAre("c1: 1 granted"));
  EXPECT_THAT(Ask("c2", 9, 1), ElementsAre("c2: 9 granted"));
  EXPECT_THAT(Consume("c1", 1, 0), ElementsAre("c1: recorded 1"));
  EXPECT_THAT(Ask("c2", 10, 0), ElementsAre("c2: 10 skip"));
  const FeedTable::View view = table_.Views().at(0);
  EXPECT_EQ(view.acknowledged, 1u);
  EXPECT_EQ(view.rows, 100);
  EXPECT_EQ(view.leased, 1u);
}

TEST_F(FeedTableTest, ASecondAttemptWaitsForTheFirst) {
  Ask("c1", 1, 0);
  EXPECT_THAT(Ask("c2", 2, 0), ElementsAre("c2: 2 busy", "c1: awaited 1"));
  EXPECT_THAT(Ask("c1", 3, 0), ElementsAre("c1: 3 busy", "c1: awaited 1"));
  EXPECT_EQ(table_.Views().at(0).waiting, 2u);
  EXPECT_THAT(Consume("c1", 1, 0), ElementsAre("c1: recorded 1", "c2: 2 skip", "c1: 3 skip"));
}

TEST_F(FeedTableTest, AFailedAttemptPassesItsLeaseOn) {
  Ask("c1", 1, 0);
  Ask("c2", 2, 0);
  Ask("c2", 3, 0);
  EXPECT_THAT(GiveBack("c1", 1, 0), ElementsAre("c2: 2 granted", "c2: awaited 2"));
  EXPECT_THAT(GiveBack("c2", 3, 0), IsEmpty());  // it only waited
  EXPECT_THAT(GiveBack("c2", 2, 0), IsEmpty());
  EXPECT_THAT(Ask("c1", 4, 0), ElementsAre("c1: 4 granted"));
}

TEST_F(FeedTableTest, ALostWorkersLeasesPassOn) {
  Ask("c1", 1, 0);
  Ask("c1", 2, 1);
  Ask("c2", 3, 0);
  EXPECT_THAT(Texts(table_.OnLost("c1")), ElementsAre("c2: 3 granted"));
  EXPECT_THAT(Ask("c2", 4, 1), ElementsAre("c2: 4 granted"));
  EXPECT_EQ(table_.endpoints().size(), 1u);
}

TEST_F(FeedTableTest, AnAskMayComeTwice) {
  Ask("c1", 1, 0);
  EXPECT_THAT(Ask("c1", 1, 0), ElementsAre("c1: 1 granted"));
  Ask("c2", 2, 0);
  Ask("c2", 2, 0);
  EXPECT_EQ(table_.Views().at(0).waiting, 1u);
  Consume("c1", 1, 0);
  EXPECT_THAT(Consume("c1", 1, 0), ElementsAre("c1: recorded 1"));
  EXPECT_EQ(table_.Views().at(0).rows, 100);
}

TEST_F(FeedTableTest, TerminateStopsAll) {
  Ask("c1", 1, 0);
  EXPECT_THAT(Texts(table_.Apply("c2", feed_report::Terminate{"train"})),
              ElementsAre("c1: train terminated", "c2: train terminated"));
  EXPECT_THAT(Ask("c1", 2, 5), ElementsAre("c1: 2 stopped"));
  EXPECT_THAT(Texts(table_.Apply("c2", feed_report::Terminate{"train"})), IsEmpty());
  // What was consumed before is recorded, and an endpoint that comes later is told.
  EXPECT_THAT(Consume("c1", 1, 0), ElementsAre("c1: recorded 1"));
  EXPECT_THAT(Texts(table_.Apply("c3", feed_report::Endpoint{})),
              ElementsAre("c3: train terminated"));
  // Another feed goes on.
  EXPECT_THAT(Ask("c1", 3, 5, "validation"), ElementsAre("c1: 3 granted"));
}

TEST_F(FeedTableTest, AFeedEndsWhenNothingIsLeased) {
  Ask("c1", 1, 0);
  Ask("c2", 2, 0);
  EXPECT_THAT(Texts(table_.End("train").value()),
              ElementsAre("c1: train ending", "c2: train ending"));
  EXPECT_THAT(Ask("c1", 3, 7), ElementsAre("c1: 3 stopped"));
  // The retry of a partition that had begun still gets its turn.
  EXPECT_THAT(GiveBack("c1", 1, 0), ElementsAre("c2: 2 granted"));
  EXPECT_THAT(Consume("c2", 2, 0),
              ElementsAre("c2: recorded 2", "c1: train ended", "c2: train ended"));
  EXPECT_THAT(Texts(table_.End("train").value()), IsEmpty());
  EXPECT_EQ(table_.Views().at(0).state, FeedTable::View::State::kEnded);
}

TEST_F(FeedTableTest, AFeedThatNobodyUsedEndsAtOnce) {
  EXPECT_THAT(Texts(table_.End("validation").value()),
              ElementsAre("c1: validation ended", "c2: validation ended"));
  EXPECT_TRUE(absl::IsInvalidArgument(table_.End("no name").status()));
}

TEST_F(FeedTableTest, AFeedEndsWithTheWorkerThatHadItsLastLease) {
  Ask("c1", 1, 0);
  (void)table_.End("train");
  EXPECT_THAT(Texts(table_.OnLost("c1")), ElementsAre("c2: train ended"));
}

TEST_F(FeedTableTest, FeedsAreBounded) {
  for (size_t number = 0; number < kMostFeeds; ++number) {
    EXPECT_THAT(Ask("c1", number + 1, 0, absl::StrCat("feed", number)),
                ElementsAre(absl::StrCat("c1: ", number + 1, " granted")));
  }
  EXPECT_THAT(Ask("c1", 99, 0, "more"), ElementsAre("c1: 99 refused"));
  EXPECT_TRUE(absl::IsResourceExhausted(table_.End("more").status()));
  EXPECT_EQ(table_.Views().size(), kMostFeeds);
}

TEST_F(FeedTableTest, ANewStreamReplacesWhatWasKnown) {
  Ask("c1", 1, 0);
  Ask("c1", 2, 1);
  Ask("c2", 3, 1);
  // The report of partition 1's return was lost with the stream.
  EXPECT_THAT(Texts(table_.Apply("c1", feed_report::Endpoint{"/c1", 1, {Lease(1, 0)}})),
              ElementsAre("c2: 3 granted"));
  EXPECT_THAT(Ask("c2", 4, 0), ElementsAre("c2: 4 busy", "c1: awaited 1"));
  // That may have been lost, too.
  EXPECT_THAT(Texts(table_.Apply("c1", feed_report::Endpoint{"/c1", 1, {Lease(1, 0)}})),
              ElementsAre("c1: awaited 1"));
}

TEST_F(FeedTableTest, AnEndpointThatComesLateLearnsThatAFeedIsEnding) {
  Ask("c1", 1, 0);
  (void)table_.End("train");
  EXPECT_THAT(Texts(table_.Apply("c3", feed_report::Endpoint{})), ElementsAre("c3: train ending"));
}

// It was consumed by a container that could not be reached when another one got the lease.
TEST_F(FeedTableTest, ALeaseIsNotTakenByAnothersAcknowledgement) {
  Ask("c2", 2, 0);
  (void)table_.End("train");
  EXPECT_THAT(Consume("c1", 1, 0), ElementsAre("c1: recorded 1"));
  EXPECT_EQ(table_.Views().at(0).leased, 1u);
  EXPECT_THAT(Consume("c2", 2, 0),
              ElementsAre("c2: recorded 2", "c1: train ended", "c2: train ended"));
  EXPECT_EQ(table_.Views().at(0).rows, 100);
}

TEST_F(FeedTableTest, NamesTheContainersThatItCountsOn) {
  table_.OnLost("c1");
  EXPECT_THAT(table_.Containers(), UnorderedElementsAre("c2"));
}

class RestartedFeedTableTest : public FeedTableTest {
 protected:
  RestartedFeedTableTest() : FeedTableTest(FeedTable({"c1", "c2"}, kDeadline)) {}
  static constexpr TimePoint kDeadline = TimePoint(seconds(10));
};

TEST_F(RestartedFeedTableTest, GrantsNothingBeforeAllHaveReported) {
  EXPECT_EQ(table_.NextDeadline(), kDeadline);
  EXPECT_THAT(Texts(table_.Apply("c1", feed_report::Endpoint{"/c1", 1, {}, {{"train", 0, 0, 4}}})),
              IsEmpty());
  EXPECT_THAT(Ask("c1", 1, 5), IsEmpty());
  EXPECT_THAT(Ask("c1", 2, 6), IsEmpty());
  EXPECT_THAT(Ask("c1", 3, 4), IsEmpty());
  EXPECT_THAT(Texts(table_.Apply("c2", feed_report::Endpoint{"/c2", 2, {Lease(1, 5)}, {}})),
              ElementsAre("c1: 1 busy", "c2: awaited 1", "c1: 2 granted", "c1: 3 skip"));
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
  EXPECT_EQ(table_.Views().at(0).acknowledged, 5u);
}

TEST_F(RestartedFeedTableTest, AWorkerThatWasLostMeanwhileIsNotAwaited) {
  table_.Apply("c1", feed_report::Endpoint{"/c1", 1});
  Ask("c1", 1, 5);
  EXPECT_THAT(Texts(table_.OnLost("c2")), ElementsAre("c1: 1 granted"));
}

TEST_F(RestartedFeedTableTest, OneThatNeverReportsIsAwaitedForALimitedTime) {
  table_.Apply("c1", feed_report::Endpoint{"/c1", 1});
  Ask("c1", 1, 5);
  (void)table_.End("validation");
  EXPECT_THAT(Texts(table_.OnTime(kDeadline - seconds(1))), IsEmpty());
  EXPECT_THAT(Texts(table_.OnTime(kDeadline)),
              UnorderedElementsAre("c1: 1 granted", "c1: validation ended"));
}

TEST_F(RestartedFeedTableTest, RemembersWhatEndpointsWereTold) {
  EXPECT_THAT(
      Texts(table_.Apply("c1", feed_report::Endpoint{"/c1", 1, {}, {}, {"train"}, {"old"}})),
      UnorderedElementsAre("c1: train terminated", "c1: old ending"));
  EXPECT_THAT(Texts(table_.Apply("c2", feed_report::Endpoint{"/c2", 2})),
              UnorderedElementsAre("c2: train terminated", "c2: old ending", "c1: old ended",
                                   "c2: old ended"));
}

// A feed whose last lease was not over when the ApplicationMaster was lost.
TEST_F(RestartedFeedTableTest, EndsWhatItsPredecessorWasToldToEnd) {
  table_.Apply("c1", feed_report::Endpoint{"/c1", 1, {Lease(1, 0)}, {}, {}, {"train"}});
  table_.Apply("c2", feed_report::Endpoint{"/c2", 2});
  EXPECT_THAT(Ask("c2", 2, 1), ElementsAre("c2: 2 stopped"));
  EXPECT_THAT(Consume("c1", 1, 0),
              ElementsAre("c1: recorded 1", "c1: train ended", "c2: train ended"));
}

TEST_F(RestartedFeedTableTest, NamesTheContainersThatItAwaits) {
  table_.Apply("c1", feed_report::Endpoint{"/c1", 1});
  EXPECT_THAT(table_.Containers(), UnorderedElementsAre("c1", "c2"));
}

}  // namespace
}  // namespace tony::core
