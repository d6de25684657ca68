// Tests the assignment of each kind of task.
#include "appmaster/assignments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/master_task.h"

namespace tony::appmaster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const auto kKey = Pair("TONY_COLLECTIVE_KEY", "key");  // in every task's environment
const TaskFolders kFolders{"/jobs/job-1/logs", "/jobs/job-1/checkpoints", "/jobs/job-1/cache"};

class AssignmentsTest : public ::testing::Test {
 protected:
  core::TaskType& AddType(const std::string& name, int instances,
                          core::Tracking tracking = core::Tracking::kTracked) {
    core::TaskType type;
    type.name = name;
    type.instances = instances;
    type.tracking = tracking;
    type.command = "run " + name;
    job_.types.push_back(type);
    return job_.types.back();
  }
  v1::Archive& Stage(const std::string& path, const std::vector<std::string>& types = {}) {
    v1::StagedFiles::Entry* entry = staged_.add_entries();
    entry->mutable_archive()->set_path(path);
    for (const std::string& type : types) entry->add_types(type);
    return *entry->mutable_archive();
  }
  v1::Assignment For(const std::string& type, int index = 0, std::vector<int> gpus = {}) {
    const Assignments assignments("job-1", 3, job_, local_, kFolders, staged_, "key");
    core::Task task;
    task.id = {type, index};
    task.type = job_.FindType(type);
    task.container = core::Container{"c1", type, "127.0.0.1", "h", std::move(gpus), {}};
    return assignments.For(task);
  }
  std::vector<std::string> PathsFor(const std::string& type) {
    std::vector<std::string> paths;
    const v1::Assignment assignment = For(type);
    for (const v1::Archive& archive : assignment.archives()) paths.push_back(archive.path());
    return paths;
  }

  core::JobDescription job_;
  jobfile::LocalSettings local_;
  v1::StagedFiles staged_;
};

TEST_F(AssignmentsTest, NamesTheTaskAndItsPlaces) {
  AddType("worker", 2);
  job_.framework = core::Framework::kPyTorch;
  const v1::Assignment assignment = For("worker", 1);
  EXPECT_EQ(assignment.task().type(), "worker");
  EXPECT_EQ(assignment.task().index(), 1);
  EXPECT_EQ(assignment.job_id(), "job-1");
  EXPECT_EQ(assignment.incarnation(), 3);
  EXPECT_EQ(assignment.framework(), "pytorch");
  EXPECT_EQ(assignment.command(), "run worker");
  EXPECT_EQ(assignment.log_folder(), "/jobs/job-1/logs/worker-1");
  EXPECT_EQ(assignment.checkpoint_folder(), "/jobs/job-1/checkpoints");
  EXPECT_EQ(assignment.cache_folder(), "/jobs/job-1/cache");
}

TEST_F(AssignmentsTest, TheLeaseEndsBeforeAnybodyElseGetsTheTask) {
  AddType("worker", 1);
  EXPECT_EQ(For("worker").lease_ms(), 10'000);  // by when a restarted ApplicationMaster gives up
  job_.timeouts.heartbeat_interval = std::chrono::milliseconds(100);
  EXPECT_EQ(For("worker").lease_ms(), 2'500);  // 25 heartbeats
}

TEST_F(AssignmentsTest, TheJobsOwnCheckpointFolderIsTaken) {
  AddType("worker", 1);
  job_.checkpoint_dir = "/data/checkpoints";
  EXPECT_EQ(For("worker").checkpoint_folder(), "/data/checkpoints");
}

TEST_F(AssignmentsTest, CountsTrackedTasksOnly) {
  AddType("worker", 3);
  AddType("chief", 1);
  AddType("ps", 2, core::Tracking::kUntracked);
  AddType("tensorboard", 1, core::Tracking::kSidecar);
  for (const char* type : {"worker", "chief", "ps", "tensorboard"}) {
    EXPECT_EQ(For(type).tracked_tasks(), 4) << type;
  }
}

TEST_F(AssignmentsTest, TheChiefIsTheFirstWorkerOnlyWhereThereIsNoChief) {
  AddType("ps", 1);
  AddType("worker", 2);
  EXPECT_TRUE(For("worker", 0).chief());
  EXPECT_FALSE(For("worker", 1).chief());
  EXPECT_FALSE(For("ps", 0).chief());
  AddType("chief", 1);
  EXPECT_FALSE(For("worker", 0).chief());
  EXPECT_TRUE(For("chief", 0).chief());
}

TEST_F(AssignmentsTest, OneTaskGetsTheVisualizationPort) {
  AddType("ps", 1);
  AddType("worker", 2);
  EXPECT_FALSE(For("ps").wants_visualization_port());
  EXPECT_TRUE(For("worker", 0).wants_visualization_port());
  EXPECT_FALSE(For("worker", 1).wants_visualization_port());
  AddType("tensorboard", 1, core::Tracking::kSidecar);
  EXPECT_FALSE(For("worker", 0).wants_visualization_port());
  EXPECT_TRUE(For("tensorboard").wants_visualization_port());
}

TEST_F(AssignmentsTest, ATypesVariablesWinOverTheJobs) {
  job_.execution_env = {{"A", "job"}, {"B", "job"}};
  job_.container_env = {{"C", "container"}};  // the executor's, not the program's
  AddType("worker", 1).env = {{"B", "type"}, {"D", "a=b c"}};
  AddType("ps", 1);
  EXPECT_THAT(For("worker").environment(),
              UnorderedElementsAre(kKey, Pair("A", "job"), Pair("B", "type"), Pair("D", "a=b c")));
  EXPECT_THAT(For("ps").environment(),
              UnorderedElementsAre(kKey, Pair("A", "job"), Pair("B", "job")));
}

TEST_F(AssignmentsTest, AJobsOwnKeyWins) {
  AddType("worker", 1);
  AddType("ps", 1).env = {{"TONY_COLLECTIVE_KEY", ""}};
  EXPECT_THAT(For("worker").environment(), ElementsAre(kKey));
  EXPECT_THAT(For("ps").environment(), ElementsAre(Pair("TONY_COLLECTIVE_KEY", "")));
  job_.execution_env = {{"TONY_COLLECTIVE_KEY", "of all"}};
  EXPECT_THAT(For("worker").environment(), ElementsAre(Pair("TONY_COLLECTIVE_KEY", "of all")));
  job_.execution_env.clear();
  job_.container_env = {{"TONY_COLLECTIVE_KEY", "in the container"}};
  EXPECT_THAT(For("worker").environment(), IsEmpty());
}

TEST_F(AssignmentsTest, EachTypeGetsWhatWasStagedForItInOrder) {
  AddType("worker", 1);
  AddType("ps", 1);
  AddType("idle", 1);
  v1::Archive& program = Stage("/program");
  program.set_kind(v1::Archive::PROGRAM);
  program.set_digest("d");
  Stage("/both", {"worker", "ps"});
  Stage("/of workers", {"worker"});
  Stage("/last");
  EXPECT_THAT(PathsFor("worker"), ElementsAre("/program", "/both", "/of workers", "/last"));
  EXPECT_THAT(PathsFor("ps"), ElementsAre("/program", "/both", "/last"));
  EXPECT_THAT(PathsFor("idle"), ElementsAre("/program", "/last"));
  EXPECT_EQ(For("idle").archives(0).kind(), v1::Archive::PROGRAM);
  EXPECT_EQ(For("idle").archives(0).digest(), "d");
}

TEST_F(AssignmentsTest, GivesEachStreamItsShareOfTheRoomForLogs) {
  AddType("worker", 3);
  AddType("ps", 1);
  job_.retry_count = 1;
  job_.infrastructure_retry_count = 0;
  job_.logs.job_mb = 4 * 2 * 2 * 40;
  job_.logs.redact = {"id-\\d+", "acme"};
  EXPECT_EQ(For("worker").log_segment_bytes(), 10 << 20);
  EXPECT_EQ(For("ps").log_total_bytes(), 40 << 20);
  EXPECT_THAT(For("ps").log_redact(), ElementsAre("id-\\d+", "acme"));
}

TEST_F(AssignmentsTest, GivesTimesInMilliseconds) {
  using std::chrono::milliseconds;
  AddType("worker", 1).port_release = true;
  AddType("ps", 1);
  job_.timeouts.heartbeat_interval = milliseconds(1234);
  job_.timeouts.metrics_interval = milliseconds(2345);
  job_.timeouts.execution = std::chrono::hours(24 * 365);  // more than fits into 32 bits
  job_.timeouts.kill_grace = milliseconds(3456);
  job_.error_message_max_depth = 7;
  const v1::Assignment assignment = For("worker");
  EXPECT_EQ(assignment.heartbeat_interval_ms(), 1234);
  EXPECT_EQ(assignment.metrics_interval_ms(), 2345);
  EXPECT_EQ(assignment.measurement_pause_ms(), 2345);
  EXPECT_EQ(assignment.execution_timeout_ms(), int64_t{24} * 365 * 3'600'000);
  EXPECT_EQ(assignment.kill_grace_ms(), 3456);
  EXPECT_EQ(assignment.tail_lines(), 7);
  EXPECT_TRUE(assignment.release_ports());
  EXPECT_FALSE(For("ps").release_ports());
}

TEST_F(AssignmentsTest, TellsTheContainersGpusAndTheToolThatMeasuresThem) {
  AddType("worker", 1);
  local_.gpu_program = "/opt/nvidia-smi";
  const v1::Assignment with = For("worker", 0, {2, 5});
  EXPECT_THAT(with.gpus(), ElementsAre(2, 5));
  EXPECT_EQ(with.gpu_tool(), "/opt/nvidia-smi");
  EXPECT_THAT(For("worker").gpus(), IsEmpty());
}

TEST_F(AssignmentsTest, AJobWithoutTasksRunsTheMastersCommand) {
  job_.am_command = "python3 notebook.py";
  job_ = core::WithMasterTask(job_);
  Stage("/notebook", {core::kMasterTaskType});
  const v1::Assignment assignment = For(core::kMasterTaskType);
  EXPECT_EQ(assignment.command(), "python3 notebook.py");
  EXPECT_EQ(assignment.log_folder(), "/jobs/job-1/logs/am-0");
  EXPECT_EQ(assignment.tracked_tasks(), 1);
  EXPECT_TRUE(assignment.wants_visualization_port());
  EXPECT_EQ(assignment.archives_size(), 1);
}

}  // namespace
}  // namespace tony::appmaster
