// The one task of a job that has none, and the one before all others.
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

TEST(MasterTaskTest, PreprocessingComesBeforeAllOthers) {
  JobDescription job;
  job.retry_count = 3;
  job.preprocess = true;
  job.am_command = "python3 prepare.py";
  job.am_resources = {2048, 1, 0};
  for (const char* name : {"worker", "evaluator"}) {
    job.types.emplace_back();
    job.types.back().name = name;
    job.types.back().instances = 2;
  }
  job.types[1].depends_on = {"worker"};
  const JobDescription changed = WithMasterTask(job);
  ASSERT_EQ(changed.types.size(), 3u);
  const TaskType& first = changed.types[0];
  EXPECT_EQ(first.name, "am");
  EXPECT_EQ(first.instances, 1);
  EXPECT_EQ(first.command, job.am_command);
  EXPECT_EQ(first.resources, job.am_resources);
  EXPECT_EQ(first.env.at("PREPROCESSING_JOB"), "true");
  EXPECT_TRUE(first.stop_on_failure);
  EXPECT_EQ(changed.types[1].depends_on, std::vector<std::string>{"am"});
  EXPECT_EQ(changed.types[2].depends_on, (std::vector<std::string>{"am", "worker"}));
  EXPECT_EQ(changed.retry_count, 3) << "it is retried like any other task";
  EXPECT_TRUE(IsPreprocessing(changed, "am"));
  EXPECT_FALSE(IsPreprocessing(changed, "worker"));
}

TEST(MasterTaskTest, WithoutTasksThereIsNothingToPreprocessFor) {
  JobDescription job;
  job.preprocess = true;
  const JobDescription changed = WithMasterTask(job);
  ASSERT_EQ(changed.types.size(), 1u);
  EXPECT_FALSE(IsPreprocessing(changed, "am"));
}

}  // namespace
}  // namespace tony::core
