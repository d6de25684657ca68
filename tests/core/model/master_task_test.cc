// The one task of a job that has none.
#include "core/model/master_task.h"

#include <gtest/gtest.h>

namespace tony::core {
namespace {

TEST(MasterTaskTest, AJobWithTasksStaysAsItIs) {
  JobDescription job;
  job.retry_count = 3;
  job.am_command = "python3 notebook.py";
  job.types.resize(1);
  job.types[0].name = "worker";
  job.types[0].instances = 1;
  EXPECT_EQ(WithMasterTask(job), job);
}

TEST(MasterTaskTest, AJobWithoutTasksRunsTheMastersCommandOnce) {
  JobDescription job;
  job.retry_count = 3;
  job.am_command = "python3 notebook.py";
  job.am_resources = {2048, 1, 1};
  job.am_files = {{"/data/a.csv", "a.csv", false}};
  job.types.resize(1);
  job.types[0].name = "worker";  // of which there is none
  const JobDescription changed = WithMasterTask(job);
  ASSERT_EQ(changed.types.size(), 1u);
  const TaskType& type = changed.types[0];
  EXPECT_EQ(type.name, "am");
  EXPECT_EQ(type.instances, 1);
  EXPECT_EQ(type.command, job.am_command);
  EXPECT_EQ(type.resources, job.am_resources);
  EXPECT_EQ(type.files, job.am_files);
  EXPECT_EQ(type.tracking, Tracking::kTracked);
  EXPECT_EQ(changed.retry_count, 0);
}

}  // namespace
}  // namespace tony::core
