// The dry run of jobs whose files are real.
#include "client/submit/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "client/submit/task_preview.h"
#include "tests/client/show/golden.h"

namespace tony::client {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

jobfile::LoadedJob Load(std::vector<jobfile::Override> overrides) {
  jobfile::Sources sources;
  sources.overrides = std::move(overrides);
  sources.working_folder = "/";
  sources.home_folder = "/home/ann";
  jobfile::LoadedJob job = jobfile::LoadJob(sources);
  EXPECT_TRUE(job.result.ok()) << jobfile::RenderProblems(job.result.problems);
  return job;
}

std::vector<jobfile::Override> TensorFlowJob() {
  return {{"tony.application.name", "digits"},
          {"tony.worker.instances", "3"},
          {"tony.worker.memory", "2g"},
          {"tony.ps.instances", "1"},
          {"tony.chief.instances", "1"},
          {"tony.chief.env", "DEPTH=99999"},
          {"tony.chief.gpus", "2"},
          {"tony.execution.envs", "A=b c"},
          {"tony.containers.command", "python3 train.py", "--executes"}};
}

TEST(DryRun, ShowsConfigurationContainersAndTasks) {
  ExpectGolden("dry_run", RenderDryRun(Load(TensorFlowJob())));
}

TEST(DryRun, ShowsTheOrderAndWhatEachStageSees) {
  const jobfile::LoadedJob job = Load({{"tony.prep.instances", "2"},
                                       {"tony.worker.instances", "1"},
                                       {"tony.ps.instances", "1"},
                                       {"tony.evaluator.instances", "1"},
                                       {"tony.containers.command", "x"},
                                       {"tony.application.prepare-stage", "prep,ps"},
                                       {"tony.evaluator.depends-on", "worker"},
                                       {"tony.application.group.A", "worker"},
                                       {"tony.application.dependency.ps.timeout.after.A", "5"}});
  EXPECT_THAT(RenderDryRun(job), HasSubstr("Order:\n"
                                           "  1. prep, ps\n"
                                           "  2. worker after prep\n"
                                           "  3. evaluator after prep, worker\n"
                                           "  ps has 5 s to end after group A (worker), then the "
                                           "job fails\n"));
  const Json json = Json::parse(RenderDryRunJson(job));
  EXPECT_EQ(json["stages"].size(), 3u);
  EXPECT_EQ(json["dependency_timeouts"][0]["seconds"], 5);
  std::map<std::string, std::string> seen;
  for (const Json& task : json["tasks"]) {
    seen[task["task"]] = task["environment"]["CLUSTER_SPEC"];
  }
  const std::string address = "[\"HOST:PORT\"]";
  EXPECT_EQ(seen["prep:1"], "{\"prep\":[\"HOST:PORT\",\"HOST:PORT\"],\"ps\":" + address + "}");
  EXPECT_EQ(seen["worker:0"], "{\"worker\":" + address + ",\"ps\":" + address + "}");
  EXPECT_EQ(seen["evaluator:0"], "{\"ps\":" + address + ",\"evaluator\":" + address + "}");
}

TEST(DryRun, JsonHasTheSame) {
  const Json json = Json::parse(RenderDryRunJson(Load(TensorFlowJob())));
  EXPECT_EQ(json["name"], "digits");
  EXPECT_EQ(json["configuration"]["tony.containers.command"]["value"], "python3 train.py");
  EXPECT_EQ(json["configuration"]["tony.containers.command"]["origin"], "--executes");
  EXPECT_EQ(json["total"]["count"], 5);
  EXPECT_EQ(json["total"]["gpus"], 2);
  EXPECT_EQ(json["tasks"].size(), 5u);
  EXPECT_EQ(json["tasks_left_out"], 0);
  for (const Json& task : json["tasks"]) {
    const Json& environment = task["environment"];
    EXPECT_EQ(environment["A"], "b c");
    EXPECT_EQ(environment["JOB_ID"], "JOB_ID");
    EXPECT_THAT(environment["CLUSTER_SPEC"].get<std::string>(), HasSubstr("\"HOST:PORT\""));
    EXPECT_EQ(environment.contains("TB_PORT"), task["task"] == "chief:0");
    EXPECT_EQ(environment["CUDA_VISIBLE_DEVICES"], task["task"] == "chief:0" ? "GPU0,GPU1" : "");
    EXPECT_EQ(environment.value("DEPTH", ""), task["task"] == "chief:0" ? "99999" : "");
  }
}

TEST(DryRun, RendersEachFramework) {
  const Json torch = Json::parse(RenderDryRunJson(Load({{"tony.application.framework", "pytorch"},
                                                        {"tony.worker.instances", "2"},
                                                        {"tony.containers.command", "x"}})));
  const Json& second = torch["tasks"][1]["environment"];
  EXPECT_EQ(second["RANK"], "1");
  EXPECT_EQ(second["MASTER_ADDR"], "HOST");
  EXPECT_EQ(second["MASTER_PORT"], "PORT");
  EXPECT_EQ(second["LOCAL_RANK"], "1");
}

TEST(DryRun, ShowsTheCommandOfAJobWithoutTasks) {
  const jobfile::LoadedJob job = Load({{"tony.am.command", "jupyter"}});
  const Json json = Json::parse(RenderDryRunJson(job));
  ASSERT_EQ(json["tasks"].size(), 1u);
  EXPECT_EQ(json["tasks"][0]["task"], "main:0");
  EXPECT_EQ(json["tasks"][0]["command"], "jupyter");
  EXPECT_THAT(RenderDryRun(job), HasSubstr("Task main:0: jupyter\n"));
}

TEST(DryRun, LeavesTasksBeyondAHundredOut) {
  const jobfile::LoadedJob job =
      Load({{"tony.worker.instances", "250"}, {"tony.containers.command", "x"}});
  EXPECT_THAT(RenderDryRun(job), ::testing::EndsWith("and 150 more tasks\n"));
  const Json json = Json::parse(RenderDryRunJson(job));
  EXPECT_EQ(json["tasks"].size(), 100u);
  EXPECT_EQ(json["tasks_left_out"], 150);
  EXPECT_EQ(PreviewTasks(job.result.job, 3).size(), 3u);
}

TEST(DryRun, KeepsTerminalsUnharmed) {
  EXPECT_THAT(RenderDryRun(Load({{"tony.worker.instances", "1"},
                                 {"tony.application.name", "a\x1b[2Jb"},
                                 {"tony.containers.command", "\x1b]0;x\a run"}})),
              ::testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace tony::client
