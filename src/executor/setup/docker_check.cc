// A marker file alone proves nothing, since the NodeManager may itself run in a container. So the
// ancestors are searched for a NodeManager, too.
#include "executor/setup/docker_check.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "executor/setup/container_folders.h"
#include "os/files/files.h"

namespace tony::executor {
namespace {

constexpr char kNodeManager[] = "org.apache.hadoop.yarn.server.nodemanager.NodeManager";
constexpr int kMostAncestors = 100;

// Returns the parent's process id; 0 if there is none, or none that is known.
int ParentOf(const std::string& folder) {
  const auto stat = os::ReadFile(folder + "/stat");
  if (!stat.ok()) return 0;
  // The format is "PID (NAME) STATE PARENT …"; NAME may contain anything, so parsing starts at the
  // last ')'.
  const std::string rest = stat->substr(std::min(stat->rfind(')'), stat->size()));
  const std::vector<std::string> words = absl::StrSplit(rest, ' ');
  int parent = 0;
  return words.size() > 2 && absl::SimpleAtoi(words[2], &parent) ? parent : 0;
}

bool HasNodeManagerAbove(const std::string& root) {
  int process = ParentOf(root + "/proc/self");
  for (int i = 0; i < kMostAncestors && process != 0; ++i) {
    const std::string folder = absl::StrCat(root, "/proc/", process);
    const auto command = os::ReadFile(folder + "/cmdline");
    if (command.ok() && absl::StrContains(*command, kNodeManager)) return true;
    process = ParentOf(folder);
  }
  return false;
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

absl::Status CheckDocker(const std::vector<std::string>& environment, const std::string& root) {
  if (Variable(environment, "YARN_CONTAINER_RUNTIME_TYPE") != "docker") return absl::OkStatus();
  const bool marked = Exists(root + "/.dockerenv") || Exists(root + "/run/.containerenv");
  if (marked && !HasNodeManagerAbove(root)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "its container is not the Docker container ",
      Variable(environment, "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE"),
      " that was asked for: the node runs none (yarn.nodemanager.container-executor.class has to "
      "be "
      "LinuxContainerExecutor there, and yarn.nodemanager.runtime.linux.allowed-runtimes to have "
      "docker); ask the cluster's administrator, or set tony.docker.enabled to false"));
}

}  // namespace tony::executor
