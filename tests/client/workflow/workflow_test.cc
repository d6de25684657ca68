// Tests what is recognized as a workflow system, and what it tells its step.
#include "client/workflow/workflow.h"
#include "tests/os/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace tony::client {
namespace {

using ::testing::HasSubstr;

Workflow Found(const std::map<std::string, std::string>& variables) {
  const auto workflow = FindWorkflow(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      {}, "/nowhere");
  EXPECT_TRUE(workflow.ok()) << workflow.status();
  return workflow.value_or(Workflow());
}

TEST(Workflow, WithoutASystemThereIsNoKey) {
  const Workflow none = Found({{"JOB_NAME", "worker"}});
  EXPECT_EQ(none.system, "");
  EXPECT_EQ(none.key, "");
  EXPECT_FALSE(none.stops_with_parent);
  EXPECT_FALSE(none.describes_job);
  EXPECT_FALSE(Found({{"AIRFLOW_CTX_DAG_ID", "dag"}}).describes_job);
}

TEST(Workflow, AzkabansPropertiesNameTheStepWithoutTheAttempt) {
  const os::TemporaryFolder folder;
  const std::string file = folder / "workflow.properties";
  std::ofstream(file) << "azkaban.webserverhost=web\nazkaban.flow.projectname=a|b\n"
                         "azkaban.flow.execid=17\nazkaban.job.id=train\nazkaban.job.attempt=3\n"
                         "azkaban.link.attempt.url=https\\://web/a\nexecutes=x\n"
                         "conf_file=job.xml\nhadoop-inject.a=b\nXmx=1g\n";
  const Workflow azkaban = Found({{"JOB_PROP_FILE", file}, {"JOB_OUTPUT_PROP_FILE", "/outputs"}});
  EXPECT_EQ(azkaban.system, "azkaban");
  EXPECT_EQ(azkaban.key, "azkaban|web|a%7Cb|17|train");
  EXPECT_EQ(azkaban.job_file, "job.xml");
  EXPECT_EQ(azkaban.outputs, "/outputs");
  EXPECT_EQ(azkaban.output_prefix, "train.");
  EXPECT_TRUE(azkaban.stops_with_parent);
  EXPECT_TRUE(azkaban.describes_job);
  ASSERT_EQ(azkaban.links.size(), 1u);
  EXPECT_EQ(azkaban.links[0].name, "Azkaban's attempt");
  EXPECT_EQ(azkaban.hadoop.size(), 1u);
  ASSERT_EQ(azkaban.notes.size(), 1u);
  EXPECT_THAT(azkaban.notes[0], HasSubstr("Xmx"));
}

TEST(Workflow, AStepWithoutAnExecutionHasNoKey) {
  const os::TemporaryFolder folder;
  const std::string file = folder / "workflow.properties";
  std::ofstream(file) << "azkaban.job.id=train\n";
  EXPECT_EQ(Found({{"JOB_PROP_FILE", file}, {"JOB_OUTPUT_PROP_FILE", "/o"}}).key, "");
}

}  // namespace
}  // namespace tony::client
