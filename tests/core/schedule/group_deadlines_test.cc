// Limits of types after groups: when they run, what they say, and what a restart makes of them.
#include "core/schedule/group_deadlines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tony::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TimePoint At(int second) { return TimePoint(seconds(second)); }

DependencyTimeout Timeout(const std::string& type, const std::string& group,
                          const std::vector<std::string>& group_types, int limit_seconds,
                          bool ignored = false) {
  return {type, group, group_types, seconds(limit_seconds), ignored};
}

/// "evaluator", "ps (ignored)"
std::vector<std::string> Names(const std::vector<OverdueType>& overdue) {
  std::vector<std::string> names;
  for (const OverdueType& one : overdue)
    names.push_back(one.type + (one.ignored ? " (ignored)" : ""));
  return names;
}

TEST(GroupDeadlinesTest, ALimitRunsFromTheEndOfTheGroupsLastType) {
  GroupDeadlines deadlines({Timeout("evaluator", "A", {"chief", "worker"}, 30)});
  EXPECT_EQ(deadlines.NextDeadline(), std::nullopt);
  deadlines.OnTypeEnded("worker", At(100));
  deadlines.OnTypeEnded("ps", At(101));
  EXPECT_EQ(deadlines.NextDeadline(), std::nullopt);
  EXPECT_THAT(deadlines.TakeDue(At(1000)), IsEmpty());
  deadlines.OnTypeEnded("chief", At(200));
  EXPECT_EQ(deadlines.NextDeadline(), At(230));
  EXPECT_THAT(deadlines.TakeDue(At(230) - milliseconds(1)), IsEmpty());
  const std::vector<OverdueType> due = deadlines.TakeDue(At(230));
  EXPECT_THAT(due, ElementsAre(OverdueType{
                       "evaluator", false,
                       "evaluator had not ended 30 s after group A (chief, worker) had, which is "
                       "the limit of tony.application.dependency.evaluator.timeout.after.A; raise "
                       "it, or set tony.application.dependency.evaluator.timeout.after.A.ignored "
                       "to true to go on without it"}));
  EXPECT_EQ(deadlines.NextDeadline(), std::nullopt) << "reported once";
  EXPECT_THAT(deadlines.TakeDue(At(500)), IsEmpty());
}

TEST(GroupDeadlinesTest, ATypeThatEndsInTimeIsNotOverdue) {
  GroupDeadlines deadlines({Timeout("evaluator", "A", {"worker"}, 30)});
  deadlines.OnTypeEnded("worker", At(0));
  deadlines.OnTypeEnded("evaluator", At(29));
  EXPECT_EQ(deadlines.NextDeadline(), std::nullopt);
  EXPECT_THAT(deadlines.TakeDue(At(60)), IsEmpty());
}

TEST(GroupDeadlinesTest, ATypeThatEndedBeforeTheGroupIsNotOverdue) {
  GroupDeadlines deadlines({Timeout("evaluator", "A", {"worker"}, 0)});
  deadlines.OnTypeEnded("evaluator", At(1));
  deadlines.OnTypeEnded("worker", At(2));
  EXPECT_EQ(deadlines.NextDeadline(), std::nullopt);
}

TEST(GroupDeadlinesTest, ZeroMeansAtOnce) {
  GroupDeadlines deadlines({Timeout("ps", "A", {"worker"}, 0, true)});
  deadlines.OnTypeEnded("worker", At(7));
  EXPECT_EQ(deadlines.NextDeadline(), At(7));
  EXPECT_THAT(deadlines.TakeDue(At(7)),
              ElementsAre(OverdueType{
                  "ps", true,
                  "ps had not ended 0 s after group A (worker) had, which is the limit of "
                  "tony.application.dependency.ps.timeout.after.A; it is not waited for any "
                  "longer"}));
}

TEST(GroupDeadlinesTest, TheFirstEndOfATypeCounts) {
  GroupDeadlines deadlines({Timeout("evaluator", "A", {"worker"}, 30)});
  deadlines.OnTypeEnded("worker", At(10));
  deadlines.OnTypeEnded("worker", At(20));
  EXPECT_EQ(deadlines.NextDeadline(), At(40));
}

TEST(GroupDeadlinesTest, OfSeveralGroupsTheEarliestLimitDecides) {
  struct Row {
    const char* what;
    std::vector<DependencyTimeout> timeouts;
    std::vector<std::string> due;
  };
  const std::vector<Row> rows = {
      {"ignored first",
       {Timeout("e", "A", {"a"}, 9), Timeout("e", "B", {"b"}, 3, true)},
       {"e (ignored)"}},
      {"failing first", {Timeout("e", "A", {"a"}, 2), Timeout("e", "B", {"b"}, 3, true)}, {"e"}},
      {"both at one time",
       {Timeout("e", "A", {"a"}, 4, true), Timeout("e", "B", {"b"}, 4)},
       {"e (ignored)"}},
      {"several types, the earliest first",
       {Timeout("e", "A", {"a"}, 9), Timeout("f", "B", {"b"}, 3), Timeout("g", "A", {"a"}, 1)},
       {"g", "f", "e"}},
      {"a group that has not ended", {Timeout("e", "A", {"a", "c"}, 1)}, {}},
  };
  for (const Row& row : rows) {
    GroupDeadlines deadlines(row.timeouts);
    deadlines.OnTypeEnded("a", At(0));
    deadlines.OnTypeEnded("b", At(0));
    EXPECT_EQ(Names(deadlines.TakeDue(At(100))), row.due) << row.what;
    EXPECT_EQ(deadlines.NextDeadline(), std::nullopt) << row.what;
  }
}

TEST(GroupDeadlinesTest, AGroupThatRunsAgainHasNotEnded) {
  GroupDeadlines deadlines({Timeout("evaluator", "A", {"chief", "worker"}, 30)});
  deadlines.OnTypeEnded("worker", At(0));
  deadlines.OnTypeEnded("chief", At(0));
  deadlines.OnTypeRestarted("worker", At(10));
  EXPECT_EQ(deadlines.NextDeadline(), std::nullopt);
  deadlines.OnTypeEnded("worker", At(50));
  EXPECT_EQ(deadlines.NextDeadline(), At(80));
}

TEST(GroupDeadlinesTest, ATypeThatRunsAgainHasItsWholeTimeAgain) {
  GroupDeadlines deadlines({Timeout("evaluator", "A", {"worker"}, 30, true)});
  deadlines.OnTypeEnded("worker", At(0));
  EXPECT_THAT(Names(deadlines.TakeDue(At(30))), ElementsAre("evaluator (ignored)"));
  deadlines.OnTypeRestarted("evaluator", At(100));
  EXPECT_EQ(deadlines.NextDeadline(), At(130));
  deadlines.OnTypeEnded("evaluator", At(110));
  EXPECT_EQ(deadlines.NextDeadline(), std::nullopt);
  deadlines.OnTypeRestarted("evaluator", At(120));
  EXPECT_THAT(Names(deadlines.TakeDue(At(150))), ElementsAre("evaluator (ignored)"));
}

/// A reference that derives the deadlines from the whole history of ends and restarts.
class Oracle {
 public:
  explicit Oracle(std::vector<DependencyTimeout> timeouts) : timeouts_(std::move(timeouts)) {}

  void End(const std::string& type, int now) { ended_.try_emplace(type, now); }
  void Restart(const std::string& type, int now) {
    ended_.erase(type);
    reported_.erase(type);
    restarted_[type] = now;
  }
  /// The deadlines that run, of all types that are not over.
  std::multimap<int, std::string> Deadlines() const {
    std::multimap<int, std::string> deadlines;
    for (const DependencyTimeout& timeout : timeouts_) {
      if (ended_.contains(timeout.type) || reported_.contains(timeout.type)) continue;
      int from = restarted_.contains(timeout.type) ? restarted_.at(timeout.type) : 0;
      bool group_over = true;
      for (const std::string& type : timeout.group_types) {
        group_over = group_over && ended_.contains(type);
        if (ended_.contains(type)) from = std::max(from, ended_.at(type));
      }
      const auto limit = std::chrono::duration_cast<seconds>(timeout.limit);
      if (group_over) deadlines.emplace(from + static_cast<int>(limit.count()), timeout.type);
    }
    return deadlines;
  }
  void Reported(const std::string& type) { reported_.insert(type); }

 private:
  std::vector<DependencyTimeout> timeouts_;
  std::map<std::string, int> ended_;
  std::map<std::string, int> restarted_;
  std::set<std::string> reported_;
};

TEST(GroupDeadlinesTest, RandomHistoriesMeanWhatTheOracleSays) {
  const std::vector<std::string> types = {"a", "b", "c", "d"};
  size_t reported = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    std::vector<DependencyTimeout> timeouts;
    for (int i = 0; i < 4; ++i) {
      const size_t type = random() % 4;
      const size_t other = (type + 1 + random() % 3) % 4;
      std::vector<std::string> group = {types[other]};
      if (const size_t third = random() % 4; third != type && third != other) {
        group.push_back(types[third]);
      }
      timeouts.push_back(Timeout(types[type], "G" + std::to_string(i), group,
                                 static_cast<int>(random() % 20), random() % 2 == 0));
    }
    GroupDeadlines deadlines(timeouts);
    Oracle oracle(timeouts);
    for (int now = 1; now < 200; ++now) {
      const std::string& type = types[random() % types.size()];
      const unsigned action = random() % 10;
      if (action < 3) {
        deadlines.OnTypeEnded(type, At(now));
        oracle.End(type, now);
      } else if (action == 3) {
        deadlines.OnTypeRestarted(type, At(now));
        oracle.Restart(type, now);
      }
      const std::multimap<int, std::string> expected = oracle.Deadlines();
      ASSERT_EQ(deadlines.NextDeadline(),
                expected.empty() ? std::nullopt : std::optional(At(expected.begin()->first)))
          << "seed " << seed << ", second " << now;
      std::set<std::string> due;
      for (const auto& [deadline, name] : expected) {
        if (deadline <= now) due.insert(name);
      }
      std::set<std::string> taken;
      for (const OverdueType& one : deadlines.TakeDue(At(now))) {
        taken.insert(one.type);
        oracle.Reported(one.type);
      }
      ASSERT_EQ(taken, due) << "seed " << seed << ", second " << now;
      reported += taken.size();
    }
  }
  EXPECT_GT(reported, 1000u);
}

}  // namespace
}  // namespace tony::core
