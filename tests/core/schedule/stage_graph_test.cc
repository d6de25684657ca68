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

std::vector<std::string> WaitsFor(const StageGraph& graph, const std::string& type,
                                  const JobProgress& progress) {
  return graph.WaitsFor(graph.stages()[graph.StageOf(type)], progress);
}

TEST(StageGraphTest, WithoutDependenciesEverythingStartsTogether) {
  const StageGraph graph({Type("worker", {}, 4), Type("ps", {}, 1, Tracking::kUntracked)});
  EXPECT_THAT(graph.stages(), ElementsAre(Stage{{"worker", "ps"}, {}, {"worker", "ps"}}));
  EXPECT_THAT(WaitsFor(graph, "ps", {}), IsEmpty());
  EXPECT_THAT(StageGraph({}).stages(), IsEmpty());
}

TEST(StageGraphTest, APipelineGoesStepByStep) {
  const StageGraph graph(Pipeline());
  EXPECT_THAT(graph.stages(),
              ElementsAre(Stage{{"prep", "ps", "board"}, {}, {"prep", "ps", "board"}},
                          Stage{{"train"}, {"prep", "ps"}, {"train", "ps", "board"}},
                          Stage{{"eval"}, {"train", "board"}, {"eval", "ps", "board"}}));
  EXPECT_EQ(graph.StageOf("board"), 0u);
  EXPECT_EQ(graph.StageOf("eval"), 2u);
  JobProgress progress;
  EXPECT_THAT(WaitsFor(graph, "prep", progress), IsEmpty());
  EXPECT_THAT(WaitsFor(graph, "train", progress), ElementsAre("prep", "ps"));

  progress["prep"] = {.started = 2, .succeeded = 1};
  progress["ps"] = {.started = 1};
  EXPECT_THAT(WaitsFor(graph, "train", progress), ElementsAre("prep", "ps"));
  progress["prep"] = {.started = 2, .succeeded = 2};
  EXPECT_THAT(WaitsFor(graph, "train", progress), ElementsAre("ps"));
  progress["ps"] = {.started = 2};
  EXPECT_THAT(WaitsFor(graph, "train", progress), IsEmpty());
  EXPECT_THAT(WaitsFor(graph, "eval", progress), ElementsAre("train", "board"));
}

TEST(StageGraphTest, TypesWithTheSameDependenciesAreOneStage) {
  // Whether a dependency of a dependency is named as well makes no difference.
  const StageGraph graph({Type("c", {"b", "a"}), Type("d", {"b"}), Type("b", {"a"}), Type("a"),
                          Type("e", {"a"}), Type("f", {"c"})});
  std::vector<std::vector<std::string>> types;
  for (const Stage& stage : graph.stages()) types.push_back(stage.types);
  EXPECT_THAT(types, ElementsAre(ElementsAre("a"), ElementsAre("b", "e"), ElementsAre("c", "d"),
                                 ElementsAre("f")));
}

TEST(StageGraphTest, OnWhatIsNotWaitedForOneDependsOnceItRuns) {
  for (Tracking tracking : {Tracking::kUntracked, Tracking::kSidecar}) {
    const StageGraph graph({Type("server", {}, 2, tracking), Type("client", {"server"})});
    EXPECT_THAT(WaitsFor(graph, "client", {{"server", {.started = 1}}}), ElementsAre("server"));
    EXPECT_THAT(WaitsFor(graph, "client", {{"server", {.started = 2}}}), IsEmpty());
  }
  const StageGraph graph({Type("late", {}, 2), Type("next", {"late"})});
  EXPECT_THAT(WaitsFor(graph, "next", {{"late", {.started = 2}}}), ElementsAre("late"));
  EXPECT_THAT(WaitsFor(graph, "next", {{"late", {.started = 2, .waited_for = false}}}), IsEmpty());
  EXPECT_THAT(WaitsFor(graph, "next", {{"late", {.started = 1, .waited_for = false}}}),
              ElementsAre("late"));
}

TEST(StageGraphTest, KnowsWhatDependsOnAType) {
  const StageGraph graph(Pipeline());
  EXPECT_THAT(graph.Dependents("prep"), ElementsAre("eval", "train"));
  EXPECT_THAT(graph.Dependents("board"), ElementsAre("eval"));
  EXPECT_THAT(graph.Dependents("eval"), IsEmpty());
  EXPECT_THAT(graph.Dependents("nobody"), IsEmpty());
}

TEST(StageGraphTest, UnknownNamesKeepNobodyWaiting) {
  const StageGraph graph({Type("a", {"gone"})});
  EXPECT_THAT(graph.stages(), ElementsAre(Stage{{"a"}, {}, {"a"}}));
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

/// The definitions of StageGraph, written down as naively as possible.
class Oracle {
 public:
  explicit Oracle(const std::vector<TaskType>& types) : types_(types) {}

  bool DependsOn(const std::string& type, const std::string& ancestor) const {
    const std::vector<std::string>& direct = Named(types_, type).depends_on;
    return std::any_of(direct.begin(), direct.end(), [&](const std::string& name) {
      return name == ancestor || DependsOn(name, ancestor);
    });
  }
  std::set<std::string> Ancestors(const std::string& type) const {
    std::set<std::string> names;
    for (const TaskType& other : types_) {
      if (DependsOn(type, other.name)) names.insert(other.name);
    }
    return names;
  }
  bool MayStart(const std::string& type, JobProgress progress) const {
    const std::vector<std::string>& direct = Named(types_, type).depends_on;
    return std::all_of(direct.begin(), direct.end(), [&](const std::string& name) {
      const TaskType& needed = Named(types_, name);
      return needed.tracking == Tracking::kTracked ? progress[name].succeeded == needed.instances
                                                   : progress[name].started == needed.instances;
    });
  }

 private:
  const std::vector<TaskType>& types_;
};

TEST(StageGraphTest, RandomGraphsHaveTheStagesThatTheOracleSays) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const std::vector<TaskType> types = RandomTypes(random, false);
    const StageGraph graph(types);
    const Oracle oracle(types);
    for (const TaskType& type : types) {
      const size_t stage = graph.StageOf(type.name);
      for (const TaskType& other : types) {
        const bool same = oracle.Ancestors(type.name) == oracle.Ancestors(other.name);
        ASSERT_EQ(stage == graph.StageOf(other.name), same) << "seed " << seed;
        const bool before = oracle.DependsOn(type.name, other.name);
        ASSERT_TRUE(!before || graph.StageOf(other.name) < stage) << "seed " << seed;
      }
    }
  }
}

// Whole jobs: one stage after the other starts, and each type of a stage may when the stage may.
TEST(StageGraphTest, RandomJobsGoAsTheOracleSaysAndEverythingRuns) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const std::vector<TaskType> types = RandomTypes(random, false);
    const StageGraph graph(types);
    const Oracle oracle(types);
    JobProgress progress;
    std::vector<const Stage*> left;
    for (const Stage& stage : graph.stages()) left.push_back(&stage);
    while (!left.empty()) {
      std::vector<size_t> startable;
      for (size_t i = 0; i < left.size(); ++i) {
        const bool may = graph.WaitsFor(*left[i], progress).empty();
        for (const std::string& type : left[i]->types) {
          ASSERT_EQ(oracle.MayStart(type, progress), may) << "seed " << seed;
        }
        if (may) startable.push_back(i);
      }
      ASSERT_FALSE(startable.empty()) << "seed " << seed;
      const size_t next = startable[random() % startable.size()];
      for (const std::string& type : left[next]->types) {
        progress[type].started = progress[type].succeeded = Named(types, type).instances;
      }
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
    }
  }
}

}  // namespace
}  // namespace tony::core
