// Orders of task types, by hand and against an oracle that knows nothing but the definition.
#include "core/schedule/stage_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tony::core {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TaskType Type(const std::string& name, const std::vector<std::string>& depends_on = {},
              int instances = 1, Tracking tracking = Tracking::kTracked) {
  TaskType type;
  type.name = name;
  type.instances = instances;
  type.tracking = tracking;
  type.depends_on = depends_on;
  return type;
}

/// prep ─▶ train ─▶ eval; ps (untracked) ─▶ train; board (a sidecar) ─▶ eval
std::vector<TaskType> Pipeline() {
  return {Type("eval", {"train", "board"}), Type("train", {"prep", "ps"}, 3), Type("prep", {}, 2),
          Type("ps", {}, 2, Tracking::kUntracked), Type("board", {}, 1, Tracking::kSidecar)};
}

TEST(StageGraphTest, WithoutDependenciesEverythingStartsAtOnce) {
  const StageGraph graph({Type("worker", {}, 4), Type("ps", {}, 1, Tracking::kUntracked)});
  EXPECT_FALSE(graph.ordered());
  EXPECT_THAT(graph.Startable({}), ElementsAre("worker", "ps"));
  EXPECT_THAT(graph.Startable({{"worker", {.started = 1}}}), ElementsAre("ps"));
  EXPECT_THAT(graph.Complete({}), IsEmpty());
}

TEST(StageGraphTest, APipelineGoesStepByStep) {
  const StageGraph graph(Pipeline());
  EXPECT_TRUE(graph.ordered());
  JobProgress progress;
  EXPECT_THAT(graph.Startable(progress), ElementsAre("prep", "ps", "board"));
  EXPECT_THAT(graph.WaitsFor("train", progress), ElementsAre("prep", "ps"));

  progress["prep"] = {.started = 2, .succeeded = 1};
  progress["ps"] = {.started = 1};
  progress["board"] = {.started = 1};
  EXPECT_THAT(graph.Startable(progress), IsEmpty());
  EXPECT_THAT(graph.WaitsFor("train", progress), ElementsAre("prep", "ps"));

  progress["prep"] = {.started = 2, .succeeded = 2};
  EXPECT_THAT(graph.WaitsFor("train", progress), ElementsAre("ps"));
  EXPECT_THAT(graph.Complete(progress), ElementsAre("prep"));

  progress["ps"] = {.started = 2};
  EXPECT_THAT(graph.Startable(progress), ElementsAre("train"));
  EXPECT_THAT(graph.WaitsFor("train", progress), IsEmpty());

  progress["train"] = {.started = 3, .succeeded = 2};
  EXPECT_THAT(graph.Startable(progress), IsEmpty());
  progress["train"] = {.started = 3, .succeeded = 3};
  EXPECT_THAT(graph.Startable(progress), ElementsAre("eval"));
  EXPECT_THAT(graph.Complete(progress), ElementsAre("train", "prep"));
}

TEST(StageGraphTest, OnWhatIsNotWaitedForOneDependsOnceItRuns) {
  for (Tracking tracking : {Tracking::kUntracked, Tracking::kSidecar}) {
    const StageGraph graph({Type("server", {}, 2, tracking), Type("client", {"server"})});
    EXPECT_THAT(graph.Startable({{"server", {.started = 1}}}), IsEmpty());
    EXPECT_THAT(graph.Startable({{"server", {.started = 2}}}), ElementsAre("client"));
    EXPECT_THAT(graph.Startable({{"server", {.started = 2, .failed = 2}}}), ElementsAre("client"))
        << "a sidecar's failure is ignored, an untracked task's ends the job by itself";
    EXPECT_THAT(graph.Blocked({{"server", {.started = 1, .failed = 1}}}), IsEmpty());
    EXPECT_THAT(graph.Complete({{"server", {.started = 2, .succeeded = 2}}}), IsEmpty());
  }
}

TEST(StageGraphTest, AFailureStopsWhatDependsOnIt) {
  const StageGraph graph(Pipeline());
  const JobProgress progress = {{"prep", {.started = 2, .succeeded = 1, .failed = 1}},
                                {"ps", {.started = 2}},
                                {"board", {.started = 1}}};
  EXPECT_THAT(graph.Startable(progress), IsEmpty());
  EXPECT_THAT(graph.Blocked(progress),
              ElementsAre(BlockedType{"eval", "prep"}, BlockedType{"train", "prep"}));
  EXPECT_THAT(graph.Dependents("prep"), ElementsAre("eval", "train"));
  EXPECT_THAT(graph.Dependents("board"), ElementsAre("eval"));
  EXPECT_THAT(graph.Dependents("eval"), IsEmpty());
  EXPECT_THAT(graph.Dependents("nobody"), IsEmpty());
}

TEST(StageGraphTest, WhatRunsIsNotBlocked) {
  const StageGraph graph({Type("a"), Type("b", {"a"}), Type("c", {"b"})});
  EXPECT_THAT(graph.Blocked({{"a", {.started = 1, .failed = 1}}, {"b", {.started = 1}}}),
              ElementsAre(BlockedType{"c", "a"}));
}

TEST(StageGraphTest, UnknownNamesKeepNobodyWaiting) {
  const StageGraph graph({Type("a", {"gone"})});
  EXPECT_FALSE(graph.ordered());
  EXPECT_THAT(graph.Startable({}), ElementsAre("a"));
  EXPECT_THAT(graph.WaitsFor("gone", {}), IsEmpty());
}

TEST(StageGraphTest, FindsCycles) {
  struct Row {
    std::vector<TaskType> types;
    std::vector<std::string> cycle;
  };
  const std::vector<Row> rows = {
      {{}, {}},
      {Pipeline(), {}},
      {{Type("a", {"a"})}, {"a", "a"}},
      {{Type("a", {"b"}), Type("b", {"a"})}, {"a", "b", "a"}},
      {{Type("x", {"a"}), Type("a", {"b"}), Type("b", {"c"}), Type("c", {"a"})},
       {"a", "b", "c", "a"}},
      {{Type("top", {"left", "right"}), Type("left", {"base"}), Type("right", {"base"}),
        Type("base")},
       {}},
      {{Type("a"), Type("b", {"a"}), Type("c", {"b", "d"}), Type("d", {"a", "c"})},
       {"c", "d", "c"}},
  };
  for (const Row& row : rows) EXPECT_EQ(StageGraph::FindCycle(row.types), row.cycle);
}

/// Types t0 … with random dependencies; on later ones too where cycles are wanted.
std::vector<TaskType> RandomTypes(std::mt19937& random, bool cycles) {
  std::vector<TaskType> types;
  const size_t count = 1 + random() % 8;
  for (size_t i = 0; i < count; ++i) {
    TaskType type = Type("t" + std::to_string(i), {}, 1 + static_cast<int>(random() % 3),
                         random() % 4 == 0 ? Tracking::kUntracked : Tracking::kTracked);
    for (size_t other = 0; other < (cycles ? count : i); ++other) {
      if (random() % (cycles ? 6 : 3) == 0) type.depends_on.push_back("t" + std::to_string(other));
    }
    types.push_back(std::move(type));
  }
  std::shuffle(types.begin(), types.end(), random);
  return types;
}

/// Naive: takes away types that depend on nothing that is left, until nothing changes.
bool HasCycle(const std::vector<TaskType>& types) {
  std::set<std::string> left;
  for (const TaskType& type : types) left.insert(type.name);
  for (size_t before = 0; before != left.size();) {
    before = left.size();
    for (const TaskType& type : types) {
      const bool needed = std::any_of(type.depends_on.begin(), type.depends_on.end(),
                                      [&](const auto& name) { return left.contains(name); });
      if (!needed) left.erase(type.name);
    }
  }
  return !left.empty();
}

const TaskType& Named(const std::vector<TaskType>& types, const std::string& name) {
  return *std::find_if(types.begin(), types.end(),
                       [&name](const TaskType& type) { return type.name == name; });
}

TEST(StageGraphTest, RandomGraphsHaveACycleExactlyWhenTheOracleSaysSo) {
  int with_cycle = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const std::vector<TaskType> types = RandomTypes(random, true);
    const std::vector<std::string> cycle = StageGraph::FindCycle(types);
    ASSERT_EQ(!cycle.empty(), HasCycle(types)) << "seed " << seed;
    if (cycle.empty()) continue;
    ++with_cycle;
    ASSERT_GE(cycle.size(), 2u);
    ASSERT_EQ(cycle.front(), cycle.back());
    for (size_t i = 0; i + 1 < cycle.size(); ++i) {
      ASSERT_THAT(Named(types, cycle[i]).depends_on, ::testing::Contains(cycle[i + 1]));
    }
  }
  EXPECT_GT(with_cycle, 500);
  EXPECT_LT(with_cycle, 2500);
}

/// A job whose tasks are started and ended at random, and the definitions of StageGraph over it,
/// written down as naively as possible.
class Oracle {
 public:
  Oracle(const std::vector<TaskType>& types, JobProgress& progress)
      : types_(types), progress_(progress) {}

  bool DependsOn(const std::string& type, const std::string& ancestor) const {
    const std::vector<std::string>& direct = Named(types_, type).depends_on;
    return std::any_of(direct.begin(), direct.end(), [&](const std::string& name) {
      return name == ancestor || DependsOn(name, ancestor);
    });
  }
  bool Done(const std::string& name) const {
    const TaskType& type = Named(types_, name);
    return type.tracking == Tracking::kTracked ? progress_[name].succeeded == type.instances
                                               : progress_[name].started == type.instances;
  }
  bool MayStart(const TaskType& type) const {
    return std::all_of(type.depends_on.begin(), type.depends_on.end(),
                       [this](const std::string& name) { return Done(name); });
  }
  std::vector<std::string> Startable() const {
    std::vector<std::string> names;
    for (const TaskType& type : types_) {
      if (progress_[type.name].started == 0 && MayStart(type)) names.push_back(type.name);
    }
    return names;
  }
  std::set<std::string> Blocked() const {
    std::set<std::string> names;
    for (const TaskType& type : types_) {
      for (const TaskType& other : types_) {
        if (progress_[type.name].started == 0 && other.tracking == Tracking::kTracked &&
            progress_[other.name].failed > 0 && DependsOn(type.name, other.name)) {
          names.insert(type.name);
        }
      }
    }
    return names;
  }

 private:
  const std::vector<TaskType>& types_;
  JobProgress& progress_;
};

/// Lets one type start or one task end. False when nothing is left to happen.
bool Step(const std::vector<TaskType>& types, const StageGraph& graph, JobProgress& progress,
          std::mt19937& random) {
  std::vector<TypeProgress*> running;
  for (const TaskType& type : types) {
    TypeProgress& one = progress[type.name];
    if (one.started > one.succeeded + one.failed) running.push_back(&one);
  }
  const std::vector<std::string> startable = graph.Startable(progress);
  if (running.empty() && startable.empty()) return false;
  if (!startable.empty() && (running.empty() || random() % 2 == 0)) {
    const std::string& name = startable[random() % startable.size()];
    progress[name].started = Named(types, name).instances;
  } else {
    TypeProgress& one = *running[random() % running.size()];
    ++(random() % 12 == 0 ? one.failed : one.succeeded);
  }
  return true;
}

TEST(StageGraphTest, RandomJobsGoAsTheOracleSaysAndEverythingRunsOrIsBlocked) {
  int blocked_jobs = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const std::vector<TaskType> types = RandomTypes(random, false);
    const StageGraph graph(types);
    JobProgress progress;
    const Oracle oracle(types, progress);
    do {
      ASSERT_EQ(graph.Startable(progress), oracle.Startable()) << "seed " << seed;
      std::set<std::string> blocked;
      for (const BlockedType& type : graph.Blocked(progress)) {
        blocked.insert(type.type);
        ASSERT_TRUE(oracle.DependsOn(type.type, type.failed));
        ASSERT_GT(progress[type.failed].failed, 0);
      }
      ASSERT_EQ(blocked, oracle.Blocked()) << "seed " << seed;
    } while (Step(types, graph, progress, random));
    for (const TaskType& type : types) {
      EXPECT_EQ(progress[type.name].started == 0, oracle.Blocked().contains(type.name));
      EXPECT_EQ(graph.WaitsFor(type.name, progress).empty(), oracle.MayStart(type));
    }
    blocked_jobs += oracle.Blocked().empty() ? 0 : 1;
  }
  EXPECT_GT(blocked_jobs, 100);
  EXPECT_LT(blocked_jobs, 900);
}

}  // namespace
}  // namespace tony::core
