// Whose the key of a job's ranks is, and that the user's own packages come first.
#include "core/runtime/collective.h"

#include <gtest/gtest.h>

namespace tony::core {
namespace {

TEST(CollectiveVariablesTest, TheKeyIsSetOverAnother) {
  Environment environment = {{"TONY_COLLECTIVE_KEY", "of a job around this one"}};
  SetCollectiveKey(JobDescription(), "k", environment);
  EXPECT_EQ(environment, (Environment{{"TONY_COLLECTIVE_KEY", "k"}}));
}

TEST(CollectiveVariablesTest, ButNotWhereTheJobSetsItForItsContainers) {
  JobDescription job;
  job.container_env = {{"TONY_COLLECTIVE_KEY", "the user's"}};
  Environment environment = job.container_env;
  SetCollectiveKey(job, "k", environment);
  EXPECT_EQ(environment, job.container_env);
}

TEST(CollectiveVariablesTest, TheUsersFoldersComeFirst) {
  Environment environment = {{"PYTHONPATH", "/mine:/my other"}};
  AppendToPythonPath("/tony/python", environment);
  EXPECT_EQ(environment, (Environment{{"PYTHONPATH", "/mine:/my other:/tony/python"}}));
}

TEST(CollectiveVariablesTest, NoEntryIsEmpty) {
  for (Environment environment : {Environment{}, Environment{{"PYTHONPATH", ""}}}) {
    AppendToPythonPath("/tony/python", environment);
    EXPECT_EQ(environment, (Environment{{"PYTHONPATH", "/tony/python"}}));
  }
}

}  // namespace
}  // namespace tony::core
