// Where a container's logs and shared files go.
#include "executor/setup/container_folders.h"

#include <gtest/gtest.h>

namespace tony::executor {
namespace {

const std::vector<std::string> kNodeManagers = {"LOG_DIRS=/d1/logs/c1,/d2/logs/c1",
                                                "TONY_LOG_DIR=/d2/logs/c1",
                                                "LOCAL_DIRS=/d1/app,/d2/app", "EMPTY="};

TEST(ContainerPlaces, TheAssignmentComesFirst) {
  v1::Assignment assignment;
  assignment.set_log_folder("/job/logs/worker-0");
  assignment.set_cache_folder("/job/cache");
  EXPECT_EQ(LogPrefix(assignment, 2, kNodeManagers, "/work"), "/job/logs/worker-0/attempt-2/");
  EXPECT_EQ(CacheFolder(assignment, kNodeManagers, "/work"), "/job/cache");
}

TEST(ContainerPlaces, ThenTheDiskThatTheNodeManagerChose) {
  EXPECT_EQ(LogPrefix({}, 1, kNodeManagers, "/work"), "/d2/logs/c1/attempt-1.");
  EXPECT_EQ(CacheFolder({}, kNodeManagers, "/work"), "/d1/app/tony-cache");
}

TEST(ContainerPlaces, ThenTheWorkingFolder) {
  EXPECT_EQ(LogPrefix({}, 1, {}, "/work"), "/work/attempt-1.");
  EXPECT_EQ(CacheFolder({}, {}, "/work"), "/work/tony-cache");
}

TEST(ContainerPlaces, AVariableIsFoundByItsWholeName) {
  EXPECT_EQ(Variable(kNodeManagers, "LOG_DIRS"), "/d1/logs/c1,/d2/logs/c1");
  EXPECT_EQ(Variable(kNodeManagers, "LOG"), "");
  EXPECT_EQ(Variable(kNodeManagers, "EMPTY"), "");
}

}  // namespace
}  // namespace tony::executor
