// Names of jobs whose files give them none.
#include "jobfile/job/job_name.h"

#include <gtest/gtest.h>

#include "jobfile/job/job_builder.h"
#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

std::string NameOfFile(const std::string& job_file) {
  const DerivedName derived =
      DeriveJobName(Configuration(), {.job_file = job_file, .working_folder = "/home/ann/mnist"});
  return derived.name + " (" + derived.origin + ")";
}

TEST(JobName, IsThatOfTheJobFilesFolder) {
  EXPECT_EQ(NameOfFile("job.xml"), "mnist (the job file's folder)");
  EXPECT_EQ(NameOfFile("tony.xml"), "mnist (the job file's folder)");
  EXPECT_EQ(NameOfFile("../digits/./job.xml"), "digits (the job file's folder)");
  EXPECT_EQ(NameOfFile("/srv/my jobs/job.xml"), "my jobs (the job file's folder)");
  EXPECT_EQ(NameOfFile("/job.xml"), "job (there is no other)");
}

TEST(JobName, IsTheFilesOwnIfThatSaysMore) {
  EXPECT_EQ(NameOfFile("resnet.xml"), "resnet (the job file's name)");
  EXPECT_EQ(NameOfFile("/jobs/big.job"), "big.job (the job file's name)");
}

std::string NameOfCommand(const std::string& command) {
  Configuration configuration;
  (void)configuration.Set("tony.containers.command", {command, {}});
  return DeriveJobName(configuration, {.working_folder = "/home/ann/mnist"}).name;
}

TEST(JobName, IsThatOfTheScriptWithoutAFile) {
  EXPECT_EQ(NameOfCommand("python3 train.py"), "train.py");
  EXPECT_EQ(NameOfCommand("venv/bin/python -u src/train.py --data x.py"), "train.py");
  EXPECT_EQ(NameOfCommand("bash -c 'cd src && python3 train.py'"), "train.py");
  EXPECT_EQ(NameOfCommand("python3 -m pkg.train --lr 1"), "pkg.train");
  EXPECT_EQ(NameOfCommand("A=1 ./run.sh -m 3"), "run.sh");
  EXPECT_EQ(NameOfCommand("/usr/bin/sleep 12"), "sleep");
  EXPECT_EQ(NameOfCommand(""), "job");
  Configuration of_type;
  (void)of_type.Set("tony.worker.instances", {"2", {}});
  (void)of_type.Set("tony.worker.command", {"python3 serve.py", {}});
  EXPECT_EQ(DeriveJobName(of_type, {}).name, "serve.py");
}

class JobNameTest : public SpecTest {};

TEST_F(JobNameTest, StaysWithTheJobInAnotherFolder) {
  folder_.Write("digits/job.xml",
                Xml({{"tony.worker.instances", "1"}, {"tony.worker.command", "true"}}));
  sources_.job_file = "digits/job.xml";
  const LoadedJob job = LoadJob(sources_);
  EXPECT_EQ(job.result.job.name, "digits");
  EXPECT_EQ(job.configuration.Find("tony.application.name")->OriginText(), "the job file's folder");
  EXPECT_EQ(LoadWritten(job.configuration).result.job.name, "digits");
}

TEST_F(JobNameTest, IsTheUsersIfThereIsOne) {
  const LoadedJob job = Load({{"tony.application.name", "mine"},
                              {"tony.worker.instances", "1"},
                              {"tony.worker.command", "true"}});
  EXPECT_EQ(job.result.job.name, "mine");
}

}  // namespace
}  // namespace tony::jobfile
