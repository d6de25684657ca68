// Binding of containers to tasks, and the counts.
#include "core/record/task_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::core {
namespace {

using ::testing::ElementsAre;

std::vector<TaskType> Types() {
  std::vector<TaskType> types(3);
  types[0].name = "ps";
  types[0].instances = 1;
  types[0].tracking = Tracking::kUntracked;
  types[1].name = "worker";
  types[1].instances = 3;
  types[2].name = "tensorboard";
  types[2].instances = 1;
  types[2].tracking = Tracking::kSidecar;
  return types;
}

Container Named(const std::string& id) {
  Container container;
  container.id = id;
  return container;
}

class TaskTableTest : public testing::Test {
 protected:
  const std::vector<TaskType> types_ = Types();
  TaskTable table_{types_};
};

TEST_F(TaskTableTest, StandsInTheOrderOfTypesThenByIndex) {
  std::vector<std::string> names;
  for (const Task& task : table_.all()) names.push_back(task.id.ToString());
  EXPECT_THAT(names, ElementsAre("ps:0", "worker:0", "worker:1", "worker:2", "tensorboard:0"));
  EXPECT_EQ(table_.size(), 5);
  EXPECT_EQ(table_.tracked(), 3);
}

TEST_F(TaskTableTest, CountsEachStateAndTheTrackedApart) {
  EXPECT_EQ(table_.count(TaskState::kNew), 5);
  EXPECT_EQ(table_.tracked(TaskState::kNew), 3);
  table_.SetState(table_.all()[0], TaskState::kRunning);
  table_.SetState(table_.all()[1], TaskState::kRunning);
  table_.SetState(table_.all()[1], TaskState::kSucceeded);
  EXPECT_EQ(table_.count(TaskState::kNew), 3);
  EXPECT_EQ(table_.count(TaskState::kRunning), 1);
  EXPECT_EQ(table_.tracked(TaskState::kRunning), 0);
  EXPECT_EQ(table_.tracked(TaskState::kSucceeded), 1);
  EXPECT_EQ(table_.tracked(TaskState::kNew), 2);
}

TEST_F(TaskTableTest, GivesTheLowestIndexForWhichAContainerIsAskedFirst) {
  EXPECT_EQ(table_.FirstAsked("worker"), nullptr);
  for (Task& task : table_.all()) EXPECT_TRUE(table_.Change(task, BindingTrigger::kRequest));
  for (const char* expected : {"worker:0", "worker:1", "worker:2"}) {
    Task* task = table_.FirstAsked("worker");
    ASSERT_NE(task, nullptr);
    EXPECT_EQ(task->id.ToString(), expected);
    EXPECT_TRUE(table_.Change(*task, BindingTrigger::kGrant, Named(std::string("in-") + expected)));
  }
  EXPECT_EQ(table_.FirstAsked("worker"), nullptr);
  EXPECT_EQ(table_.FirstAsked("chief"), nullptr);
  EXPECT_EQ(table_.bound(), 3);
  // Out of order, as containers are lost.
  EXPECT_TRUE(table_.Change(*table_.FindByContainer("in-worker:2"), BindingTrigger::kGone));
  EXPECT_TRUE(table_.Change(*table_.FindByContainer("in-worker:1"), BindingTrigger::kGone));
  EXPECT_EQ(table_.FirstAsked("worker"), nullptr);
  EXPECT_TRUE(table_.Change(table_.all()[3], BindingTrigger::kRequest));
  EXPECT_TRUE(table_.Change(table_.all()[2], BindingTrigger::kRequest));
  EXPECT_EQ(table_.FirstAsked("worker")->id.index, 1);
  EXPECT_EQ(table_.bound(), 1);
}

TEST_F(TaskTableTest, CountsTheTasksOfAGangAsLongAsItHasAny) {
  for (int i : {1, 2, 3}) table_.SetGang(table_.all()[static_cast<size_t>(i)], 7);
  table_.SetGang(table_.all()[0], 8);
  table_.gangs().at(8).missing_recorded = true;
  EXPECT_TRUE(table_.Change(table_.all()[1], BindingTrigger::kGrant, Named("c1")));
  table_.SetState(table_.all()[1], TaskState::kReady);
  table_.SetState(table_.all()[0], TaskState::kReady);
  const Gang& gang = table_.gangs().at(7);
  EXPECT_EQ(gang.size, 3);
  EXPECT_EQ(gang.bound, 1);
  EXPECT_EQ(gang.ready, 1);
  EXPECT_EQ(table_.gangs().at(8).ready, 1);
  EXPECT_TRUE(table_.gangs().at(8).missing_recorded);
  table_.SetGang(table_.all()[1], 8);
  EXPECT_EQ(gang.size, 2);
  EXPECT_EQ(gang.ready, 0);
  EXPECT_EQ(table_.gangs().at(8).bound, 1);
  table_.SetGang(table_.all()[0], 0);
  table_.SetGang(table_.all()[1], 0);
  EXPECT_EQ(table_.gangs().count(8), 0u);
}

TEST_F(TaskTableTest, CountsTheTasksOfAType) {
  table_.SetListed(table_.all()[1], true);
  table_.SetState(table_.all()[1], TaskState::kSucceeded);
  table_.SetState(table_.all()[2], TaskState::kFailed);
  const TypeCounts& workers = table_.of("worker");
  EXPECT_EQ(workers.size, 3);
  EXPECT_EQ(workers.listed, 1);
  EXPECT_EQ(workers.over, 2);
  EXPECT_EQ(workers.succeeded, 1);
  EXPECT_FALSE(workers.complete());
  table_.SetState(table_.all()[2], TaskState::kSucceeded);
  table_.SetState(table_.all()[3], TaskState::kSucceeded);
  EXPECT_TRUE(workers.complete());
}

TEST_F(TaskTableTest, NobodyWaitsForWhatIsTrackedNoLonger) {
  table_.SetState(table_.all()[1], TaskState::kRunning);
  table_.StopTracking("worker");
  EXPECT_EQ(table_.tracked(), 0);
  EXPECT_EQ(table_.tracked(TaskState::kRunning), 0);
  EXPECT_EQ(table_.count(TaskState::kRunning), 1);
  EXPECT_EQ(table_.all()[1].tracking(), Tracking::kUntracked);
  EXPECT_EQ(table_.of("worker").size, 3);
  table_.SetState(table_.all()[1], TaskState::kSucceeded);
  EXPECT_EQ(table_.tracked(TaskState::kSucceeded), 0);
  EXPECT_EQ(table_.count(TaskState::kSucceeded), 1);
}

TEST_F(TaskTableTest, FindsByContainerOnlyWhatIsBound) {
  Task& task = table_.all()[2];
  EXPECT_TRUE(table_.Change(task, BindingTrigger::kGrant, Named("c7")));
  EXPECT_EQ(table_.FindByContainer("c7"), &task);
  EXPECT_EQ(static_cast<const TaskTable&>(table_).FindByContainer("c7"), &task);
  EXPECT_EQ(table_.FindByContainer("c8"), nullptr);
  EXPECT_TRUE(table_.Change(task, BindingTrigger::kGone));
  EXPECT_EQ(table_.FindByContainer("c7"), nullptr);
  EXPECT_EQ(static_cast<const TaskTable&>(table_).FindByContainer("c7"), nullptr);
}

TEST_F(TaskTableTest, ANewContainerStartsWithACleanSlate) {
  Task& task = table_.all()[0];
  EXPECT_TRUE(table_.Change(task, BindingTrigger::kGrant, Named("c1")));
  EXPECT_TRUE(table_.Change(task, BindingTrigger::kAttach));
  EXPECT_TRUE(table_.Change(task, BindingTrigger::kKill));
  task.kept = true;
  EXPECT_TRUE(table_.Change(task, BindingTrigger::kGone));
  EXPECT_FALSE(task.container || task.attached() || task.kept || task.killed());
  EXPECT_TRUE(table_.Change(task, BindingTrigger::kGrant, Named("c2")));
  EXPECT_FALSE(task.attached() || task.kept || task.killed());
}

TEST_F(TaskTableTest, AChangeThatTheTableOfBindingsLacksChangesNothing) {
  Task& task = table_.all()[0];
  EXPECT_FALSE(table_.Change(task, BindingTrigger::kAttach));
  EXPECT_EQ(task.binding, Binding::kFree);
  EXPECT_EQ(table_.count(Binding::kFree), 5);
  EXPECT_TRUE(table_.Change(task, BindingTrigger::kGrant, Named("c1")));
  EXPECT_FALSE(table_.Change(task, BindingTrigger::kGrant, Named("c2")));
  EXPECT_EQ(table_.FindByContainer("c1"), &task);
  EXPECT_EQ(table_.FindByContainer("c2"), nullptr);
  EXPECT_EQ(table_.count(Binding::kFree), 4);
  EXPECT_EQ(table_.count(Binding::kLaunched), 1);
}

TEST_F(TaskTableTest, NamesAFewAndCountsTheRest) {
  const auto everybody = [](const Task&) { return true; };
  EXPECT_THAT(table_.Names(everybody, 2), ElementsAre("ps:0", "worker:0", "and 3 more"));
  EXPECT_THAT(table_.Names(everybody, 5),
              ElementsAre("ps:0", "worker:0", "worker:1", "worker:2", "tensorboard:0"));
  EXPECT_TRUE(table_.Names([](const Task&) { return false; }).empty());
}

}  // namespace
}  // namespace tony::core
