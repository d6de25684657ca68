// The variables of every task, whose own win, and who is the chief and shows pictures.
#include "core/runtime/runtime.h"

#include <gtest/gtest.h>

#include "core/runtime/visualization.h"
#include "tests/core/runtime/runtime_context.h"

namespace tony::core {
namespace {

TEST(RuntimeTest, EveryTaskGetsTonysGeneralVariables) {
  const Environment environment =
      RenderEnvironment(ContextFor(Framework::kStandalone, "trainer", 1, {}));
  const Environment expected = {
      {"JOB_NAME", "trainer"},
      {"TASK_INDEX", "1"},
      {"TASK_NUM", "4"},
      {"JOB_ID", "job-7"},
      {"appid", "job-7"},
      {"SESSION_ID", "2"},
      {"ATTEMPT_NUMBER", "0"},
      {"NUM_AM_RETRIES", "2"},
      {"DISTRIBUTED_MODE", "GANG"},
      {"TONY_CONTAINER_ID", "job-7-c0003"},
      {"TONY_EPOCH", "2"},
      {"TONY_ATTEMPT", "3"},
      {"CUDA_VISIBLE_DEVICES", ""},
      {"TONY_CHECKPOINT_DIR", "/checkpoints"},
  };
  EXPECT_EQ(environment, expected) << "and a standalone program nothing else";
}

TEST(RuntimeTest, OnlyTheChiefIsToldSo) {
  TaskContext context = ContextFor(Framework::kStandalone, "chief", 0, {});
  context.chief = true;
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "IS_CHIEF"), "true");
  context.chief = false;
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "IS_CHIEF"), "(unset)");
}

TEST(RuntimeTest, ATaskSeesItsOwnGpusAndNoOthers) {
  TaskContext context = ContextFor(Framework::kStandalone, "worker", 0, {});
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "CUDA_VISIBLE_DEVICES"), "");
  context.gpus = "2,5";
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "CUDA_VISIBLE_DEVICES"), "2,5");
}

TEST(RuntimeTest, TheVisualizationPortIsAnnouncedWhereThereIsOne) {
  TaskContext context = ContextFor(Framework::kStandalone, "worker", 0, {});
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "TB_PORT"), "(unset)");
  context.visualization_port = 6006;
  const Environment environment = RenderEnvironment(context);
  EXPECT_EQ(ValueOf(environment, "TB_PORT"), "6006");
  EXPECT_EQ(ValueOf(environment, "TB_SERVER_REUSE_PORT"), "true");
}

TEST(RuntimeTest, TheUsersVariablesWinButForTheContainersName) {
  TaskContext context =
      ContextFor(Framework::kPyTorch, "worker", 0, {{EndpointAt("worker", 0, "a", 1)}});
  context.user_environment = {{"RANK", "41"},
                              {"CUDA_VISIBLE_DEVICES", "0"},
                              {"TONY_EPOCH", "mine"},
                              {"TONY_CONTAINER_ID", "another's"},
                              {"DATA", "/data with spaces/$HOME"}};
  const Environment environment = RenderEnvironment(context);
  EXPECT_EQ(ValueOf(environment, "RANK"), "41");
  EXPECT_EQ(ValueOf(environment, "CUDA_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(ValueOf(environment, "TONY_EPOCH"), "mine");
  EXPECT_EQ(ValueOf(environment, "DATA"), "/data with spaces/$HOME");
  EXPECT_EQ(ValueOf(environment, "TONY_CONTAINER_ID"), "job-7-c0003");
}

TEST(RuntimeTest, TheChiefIsTheFirstOfItsTypeOrElseTheFirstWorker) {
  EXPECT_TRUE(IsChief({"chief", 0}, true));
  EXPECT_FALSE(IsChief({"chief", 1}, true));
  EXPECT_FALSE(IsChief({"worker", 0}, true));
  EXPECT_TRUE(IsChief({"worker", 0}, false));
  EXPECT_FALSE(IsChief({"worker", 1}, false));
  EXPECT_FALSE(IsChief({"trainer", 0}, false));
}

TEST(RuntimeTest, FrameworkNamesCanBeReadBack) {
  for (Framework framework : {Framework::kTensorFlow, Framework::kPyTorch, Framework::kStandalone,
                              Framework::kHorovod, Framework::kJax, Framework::kMxNet}) {
    EXPECT_EQ(ParseFramework(FrameworkName(framework)), framework);
  }
  EXPECT_EQ(ParseFramework("MXNet"), std::nullopt);
  EXPECT_EQ(ParseFramework("unknown"), std::nullopt);
}

JobDescription JobOf(const std::vector<std::pair<std::string, int>>& types) {
  JobDescription job;
  for (const auto& [name, instances] : types) {
    TaskType type;
    type.name = name;
    type.instances = instances;
    job.types.push_back(std::move(type));
  }
  return job;
}

TEST(VisualizationTaskTest, IsTensorBoardThenTheChiefThenTheFirst) {
  EXPECT_EQ(VisualizationTask(JobOf({{"chief", 1}, {"worker", 2}, {"tensorboard", 1}})),
            (TaskId{"tensorboard", 0}));
  EXPECT_EQ(VisualizationTask(JobOf({{"worker", 2}, {"chief", 1}})), (TaskId{"chief", 0}));
  EXPECT_EQ(VisualizationTask(JobOf({{"ps", 1}, {"worker", 2}})), (TaskId{"worker", 0}));
  EXPECT_EQ(VisualizationTask(JobOf({{"chief", 0}, {"worker", 2}})), (TaskId{"worker", 0}));
  EXPECT_EQ(VisualizationTask(JobOf({{"head", 0}, {"node", 3}})), (TaskId{"node", 0}));
  EXPECT_EQ(VisualizationTask(JobOf({})), std::nullopt);
}

}  // namespace
}  // namespace tony::core
