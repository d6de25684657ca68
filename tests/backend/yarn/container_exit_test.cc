// YARN's exit statuses as sentences. The diagnostics are those of Hadoop 3.5.
#include "backend/yarn/container_exit.h"

#include "gtest/gtest.h"

namespace tony::backend {
namespace {

struct Row {
  int64_t status;  // as wide as what follows
  const char* diagnostics;
  bool lost;
  bool seen;
  bool launch_failed;
  const char* sentence;
};

constexpr Row kRows[] = {
    {0, "", false, true, false, "tony-executor exited with code 0"},
    {3, "Exception from container-launch.", false, true, false, "tony-executor exited with code 3"},
    {137, "Killed by external signal\n", true, true, false,
     "tony-executor was killed by signal 9 (SIGKILL)"},
    {143, "", true, true, false, "tony-executor was killed by signal 15 (SIGTERM)"},
    {255, "", false, true, false, "tony-executor exited with code 255"},
    {-100, "Container released on a *lost* node", true, false, false, "its node was lost"},
    {-100, "Container released by application", true, false, false,
     "it was given back to YARN, and nobody saw its processes end"},
    {-100, "Container expired since it was unused", true, true, false,
     "YARN took it back, since nothing was started in it in time"},
    {-100, "Container of a completed application", true, false, false,
     "YARN took it back with an ApplicationMaster that was lost"},
    {-100, "another reason", true, false, false, "YARN gave it up: another reason"},
    {-101, "N/A", true, true, true, "too many disks of its node are bad"},
    {-102, "Container preempted by scheduler", true, true, false,
     "YARN took it back for an application with a better right to it (preemption)"},
    {-103,
     "[2026-01-01 10:00:00.123]Container [pid=42,containerID=c] is running 10B beyond the "
     "'VIRTUAL' "
     "memory limit. Current usage: 111.5 MB of 1 GB physical memory used; 2.4 GB of 2.1 GB virtual "
     "memory used. Killing container.\nDump of the process-tree for c :\n",
     true, true, false,
     "its processes used more virtual memory than YARN allows: 2.4 GB of 2.1 GB; ask for more "
     "memory, or have the cluster's administrator set yarn.nodemanager.vmem-check-enabled to "
     "false"},
    {-104,
     "[2026-01-01 10:00:00.123]Container [pid=42,containerID=c] is running 10B beyond the "
     "'PHYSICAL' memory limit. Current usage: 1.5 GB of 1 GB physical memory used; 2.0 GB of 2.1 "
     "GB "
     "virtual memory used. Killing container.\n",
     true, true, false,
     "its processes used more physical memory than YARN allows: 1.5 GB of 1 GB; ask for more "
     "memory"},
    {-104, "", true, true, false,
     "its processes used more physical memory than YARN allows; ask for more memory"},
    {-105, "Container killed by the ApplicationMaster.", true, true, false,
     "tony-am had it stopped"},
    {-106, "[2026-01-01 10:00:00.123]killed by an administrator", true, true, false,
     "the ResourceManager had it stopped: killed by an administrator"},
    {-107, "", true, true, false, "YARN stopped it, since its application has ended"},
    {-108, "", true, true, false, "its node stopped it to make room for another container"},
    {-109, "", true, true, false, "its node stopped it for the size of its logs"},
    {-1000,
     "[2026-01-01 10:00:00.123]\n[2026-01-01 10:00:00.124]Resource file:/x changed on src "
     "filesystem - expected: 1, was: 2\njava.io.IOException: Resource\n\tat org.apache.X\n",
     true, true, true,
     "its node could not prepare what it needs: Resource file:/x changed on src filesystem - "
     "expected: 1, was: 2"},
    {-1000,
     "java.lang.reflect.UndeclaredThrowableException\n\tat org.apache.X\nCaused by: "
     "org.apache.hadoop.yarn.exceptions.YarnException: Download and unpack failed\n\tat "
     "X(X.java:1)\n"
     "Caused by: java.io.FileNotFoundException: http://h/x\n\t... 17 more\n",
     true, true, true,
     "its node could not prepare what it needs: java.io.FileNotFoundException: http://h/x"},
    {-1000,
     "rn.util.FSDownload.verifyAndCopy(FSDownload.java:300)\nCaused by: Connection refused\n"
     "java.net.ConnectException: Connection refused\n",
     true, true, true, "its node could not prepare what it needs: Connection refused"},
    {-1000, "java.lang.OddException\n", true, true, true,
     "its node could not prepare what it needs: java.lang.OddException"},
    {-4242, "a new reason", true, true, false, "YARN ended it with status -4242: a new reason"},
};

TEST(ContainerExitTest, EachReasonHasASentence) {
  for (const Row& row : kRows) {
    ::hadoop::yarn::ContainerStatusProto status;
    status.set_exit_status(static_cast<int>(row.status));
    status.set_diagnostics(row.diagnostics);
    const ContainerExit exit = ReadContainerExit(status);
    EXPECT_EQ(exit.end.sentence, row.sentence);
    EXPECT_EQ(exit.end.lost, row.lost) << row.sentence;
    EXPECT_EQ(exit.end.seen, row.seen) << row.sentence;
    EXPECT_EQ(exit.launch_failed, row.launch_failed) << row.sentence;
  }
}

TEST(ContainerExitTest, LongDiagnosticsAreCut) {
  ::hadoop::yarn::ContainerStatusProto status;
  status.set_exit_status(-106);
  status.set_diagnostics(std::string(100000, 'x'));
  EXPECT_LT(ReadContainerExit(status).end.sentence.size(), 400u);
}

}  // namespace
}  // namespace tony::backend
