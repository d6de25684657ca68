// Tests the environment of the user's program: the container's variables, the runtime's, the
// user's.
#include "executor/task/task_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tony::executor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

class TaskEnvironmentTest : public ::testing::Test {
 protected:
  TaskEnvironmentTest() {
    assignment_.mutable_task()->set_type("worker");
    assignment_.mutable_task()->set_index(1);
    assignment_.set_job_id("job-1");
    assignment_.set_framework("tensorflow");
    assignment_.set_tracked_tasks(2);
    assignment_.set_checkpoint_folder("/jobs/job-1/checkpoints");
    cluster_.endpoints = {{{"worker", 0}, "127.0.0.1", 4711, "h", "", false},
                          {{"worker", 1}, "127.0.0.1", 4712, "h", "", false}};
  }

  // Each name once, or the test fails.
  std::map<std::string, std::string> Render(const std::vector<std::string>& base = {}) const {
    std::map<std::string, std::string> variables;
    for (const std::string& entry :
         TaskEnvironment(base, assignment_, identity_, cluster_, hadoop_, "/work folder")) {
      const size_t equals = entry.find('=');
      EXPECT_TRUE(variables.emplace(entry.substr(0, equals), entry.substr(equals + 1)).second)
          << entry;
    }
    return variables;
  }
  void AddVenv() {
    assignment_.add_archives()->set_kind(v1::Archive::PROGRAM);
    v1::Archive* venv = assignment_.add_archives();
    venv->set_kind(v1::Archive::VIRTUAL_ENVIRONMENT);
    venv->set_name("venv");
  }

  v1::Assignment assignment_;
  RunIdentity identity_{"job-1-c0002", 3, 4, 0};
  core::ClusterSpec cluster_;
  core::Environment hadoop_;
};

TEST_F(TaskEnvironmentTest, WhereRanksWriteTheirCounters) {
  EXPECT_THAT(Render(), Not(Contains(Key("TONY_COLLECTIVE_COUNTERS"))));
  identity_.counters_folder = "/work folder/.tony-collective";
  EXPECT_THAT(Render(),
              Contains(Pair("TONY_COLLECTIVE_COUNTERS", "/work folder/.tony-collective")));
}

TEST_F(TaskEnvironmentTest, TellsTheTaskWhoItIs) {
  const auto variables = Render();
  EXPECT_THAT(variables, Contains(Pair("JOB_NAME", "worker")));
  EXPECT_THAT(variables, Contains(Pair("TASK_INDEX", "1")));
  EXPECT_THAT(variables, Contains(Pair("TASK_NUM", "2")));
  EXPECT_THAT(variables, Contains(Pair("JOB_ID", "job-1")));
  EXPECT_THAT(variables, Contains(Pair("TONY_CONTAINER_ID", "job-1-c0002")));
  EXPECT_THAT(variables, Contains(Pair("TONY_EPOCH", "3")));
  EXPECT_THAT(variables, Contains(Pair("TONY_ATTEMPT", "4")));
  EXPECT_THAT(variables, Contains(Pair("TONY_CHECKPOINT_DIR", "/jobs/job-1/checkpoints")));
  EXPECT_THAT(variables, Contains(Pair("CLUSTER_SPEC", HasSubstr("127.0.0.1:4712"))));
  EXPECT_THAT(variables, Contains(Pair("TF_CONFIG", HasSubstr("\"index\":1"))));
  EXPECT_THAT(variables, Not(Contains(Key("IS_CHIEF"))));
  EXPECT_THAT(variables, Not(Contains(Key("TB_PORT"))));
  EXPECT_THAT(variables, Not(Contains(Key("VIRTUAL_ENV"))));
}

TEST_F(TaskEnvironmentTest, FollowsTheFrameworkTheChiefAndThePort) {
  assignment_.set_framework("pytorch");
  assignment_.set_chief(true);
  identity_.visualization_port = 6006;
  const auto variables = Render();
  EXPECT_THAT(variables, Contains(Pair("RANK", "1")));
  EXPECT_THAT(variables, Contains(Pair("MASTER_PORT", "4711")));
  EXPECT_THAT(variables, Contains(Pair("IS_CHIEF", "true")));
  EXPECT_THAT(variables, Contains(Pair("TB_PORT", "6006")));
  EXPECT_THAT(variables, Not(Contains(Key("TF_CONFIG"))));
}

TEST_F(TaskEnvironmentTest, KeepsTheContainersOwnAndWritesOverIt) {
  const auto variables = Render({"HOME=/home/ann", "EMPTY=", "EQUALS=a=b", "not a variable",
                                 "JOB_NAME=somebody's", "CUDA_VISIBLE_DEVICES=0,1,2,3"});
  EXPECT_THAT(variables, Contains(Pair("HOME", "/home/ann")));
  EXPECT_THAT(variables, Contains(Pair("EMPTY", "")));
  EXPECT_THAT(variables, Contains(Pair("EQUALS", "a=b")));
  EXPECT_THAT(variables, Contains(Pair("JOB_NAME", "worker")));
  EXPECT_THAT(variables, Contains(Pair("CUDA_VISIBLE_DEVICES", "")));
  EXPECT_THAT(variables, Not(Contains(Key("not a variable"))));
}

TEST_F(TaskEnvironmentTest, ShowsTheTasksGpusOnly) {
  assignment_.add_gpus(2);
  assignment_.add_gpus(5);
  EXPECT_THAT(Render(), Contains(Pair("CUDA_VISIBLE_DEVICES", "2,5")));
}

TEST_F(TaskEnvironmentTest, TheUsersVariablesWinButForTheContainersId) {
  auto& environment = *assignment_.mutable_environment();
  environment["HOME"] = "/elsewhere";
  environment["TASK_NUM"] = "17";
  environment["ODD"] = " $HOME 'q' \"d\"\n=";
  environment["TONY_CONTAINER_ID"] = "forged";
  const auto variables = Render({"HOME=/home/ann"});
  EXPECT_THAT(variables, Contains(Pair("HOME", "/elsewhere")));
  EXPECT_THAT(variables, Contains(Pair("TASK_NUM", "17")));
  EXPECT_THAT(variables, Contains(Pair("ODD", " $HOME 'q' \"d\"\n=")));
  EXPECT_THAT(variables, Contains(Pair("TONY_CONTAINER_ID", "job-1-c0002")));
}

TEST_F(TaskEnvironmentTest, TheVirtualEnvironmentComesFirst) {
  AddVenv();
  const auto variables = Render({"PATH=/opt/bin:/bin", "VIRTUAL_ENV=/of/the/submitter"});
  EXPECT_THAT(variables, Contains(Pair("VIRTUAL_ENV", "/work folder/venv")));
  EXPECT_THAT(variables, Contains(Pair("PATH", "/work folder/venv/bin:/opt/bin:/bin")));
  EXPECT_THAT(Render(), Contains(Pair("PATH", HasSubstr("/work folder/venv/bin:/usr/local/bin"))));
}

TEST_F(TaskEnvironmentTest, TheVirtualEnvironmentComesBeforeTheUsersPathToo) {
  AddVenv();
  (*assignment_.mutable_environment())["PATH"] = "/my/tools";
  EXPECT_THAT(Render({"PATH=/bin"}), Contains(Pair("PATH", "/work folder/venv/bin:/my/tools")));
}

TEST_F(TaskEnvironmentTest, AFrameworkOfANewerVersionGetsTheGeneralVariables) {
  assignment_.set_framework("abacus");
  EXPECT_THAT(Render(), Contains(Pair("JOB_NAME", "worker")));
}

TEST_F(TaskEnvironmentTest, HasWhatWasFoundOfHadoop) {
  (*assignment_.mutable_environment())["LD_LIBRARY_PATH"] = "/own";
  hadoop_ = {{"CLASSPATH", "/a.jar"}, {"LD_LIBRARY_PATH", "/own:/java"}};
  const auto variables = Render({"HADOOP_CONF_DIR=/conf"});
  EXPECT_THAT(variables, Contains(Pair("CLASSPATH", "/a.jar")));
  EXPECT_THAT(variables, Contains(Pair("LD_LIBRARY_PATH", "/own:/java")));
  EXPECT_THAT(variables, Contains(Pair("HADOOP_CONF_DIR", "/conf")));
}

TEST_F(TaskEnvironmentTest, TheCollectivePackageComesLast) {
  EXPECT_THAT(Render(), Not(Contains(Key("PYTHONPATH"))));
  identity_.collective_package = "/tony/python";
  EXPECT_THAT(Render(), Contains(Pair("PYTHONPATH", "/tony/python")));
  EXPECT_THAT(Render({"PYTHONPATH=/of the machine"}),
              Contains(Pair("PYTHONPATH", "/of the machine:/tony/python")));
  (*assignment_.mutable_environment())["PYTHONPATH"] = "/mine";
  EXPECT_THAT(Render({"PYTHONPATH=/of the machine"}),
              Contains(Pair("PYTHONPATH", "/mine:/tony/python")));
}

TEST_F(TaskEnvironmentTest, TheHookForStacksComesFirst) {
  identity_.stacks_package = "/tony/stacks";
  EXPECT_THAT(Render(), Not(Contains(Key("TONY_STACKS_DIR"))));
  identity_.stacks_folder = "/job/logs/attempt-1/stacks";
  EXPECT_THAT(Render(), Contains(Pair("PYTHONPATH", "/tony/stacks")));
  EXPECT_THAT(Render(), Contains(Pair("TONY_STACKS_DIR", "/job/logs/attempt-1/stacks")));
  EXPECT_THAT(Render(), Contains(Pair("TONY_STACKS_SIGNAL", "40")));
  identity_.collective_package = "/tony/python";
  (*assignment_.mutable_environment())["PYTHONPATH"] = "/mine";
  EXPECT_THAT(Render(), Contains(Pair("PYTHONPATH", "/tony/stacks:/mine:/tony/python")));
}

TEST_F(TaskEnvironmentTest, OfTheJobIsKnownBeforeTheCluster) {
  (*assignment_.mutable_environment())["PATH"] = "/own";
  EXPECT_THAT(EnvironmentOfJob({"PATH=/usr/bin", "HOME=/root", "rubbish"}, assignment_),
              ::testing::UnorderedElementsAre(Pair("PATH", "/own"), Pair("HOME", "/root")));
}

}  // namespace
}  // namespace tony::executor
