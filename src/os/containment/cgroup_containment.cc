// Drives one control group through its files (`cgroup.procs`, `cgroup.kill`, `freezer.state`) and
// starts the program in it with clone3(CLONE_INTO_CGROUP), or with fork() and a move into the
// group.
#include "os/containment/cgroup_containment.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/containment/cgroup_memory.h"
#include "os/files/proc_file.h"
#include "os/processes/process_tree.h"
#include "os/processes/reap_orphans.h"

namespace tony::os {
namespace {

constexpr char kOwnProcesses[] = "cgroup.procs";
constexpr char kSelf[] = "0";
constexpr char kOutOfMemoryAdjustment[] = "/proc/self/oom_score_adj";

// Forks a child directly into the group behind `folder`. Returns -1 where the kernel or a seccomp
// filter does not allow clone3().
pid_t ForkInto(int folder) {
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<uint64_t>(folder);
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

}  // namespace

absl::Status CgroupContainment::Prepare() {
  folders_ = OwnCgroupFolders();
  TONY_RETURN_IF_ERROR(PrepareGroup());
  if (memory_bytes_ > 0) PrepareMemory();
  return absl::OkStatus();
}

// The group is tried in the hierarchy of version 2 first, then in the freezer of version 1. A group
// that can be created but not killed as a whole (no cgroup.kill, or a threaded group) is removed
// again: the containment could not prove that it is empty.
absl::Status CgroupContainment::PrepareGroup() {
  absl::Status status = absl::UnavailableError(
      "neither version 2 of the kernel's control groups nor a freezer of version 1 is mounted "
      "below /sys/fs/cgroup");
  for (const std::string& place : {folders_.unified, folders_.freezer}) {
    if (place.empty()) continue;
    const CgroupFolder group(absl::StrCat(place, "/", CgroupNameOf(container_id_, ::getpid())));
    status = group.Create();
    if (!status.ok()) {
      LogDebug("no control group can be made", {{"place", place}, {"why", status.message()}});
      continue;
    }
    if (group.Has("freezer.state") ||
        (group.Has("cgroup.kill") && group.Read("cgroup.type") == "domain\n")) {
      group_ = group;
      return absl::OkStatus();
    }
    group.Remove();
    status = absl::UnavailableError(absl::StrCat(
        place, ": groups below it have no cgroup.kill (Linux 5.14), or are for threads only"));
  }
  return status;
}

// A missing memory controller is no error: limits_memory() then tells the owner to watch the
// memory.
void CgroupContainment::PrepareMemory() {
  if (SetCgroupMemoryLimit(group_, memory_bytes_)) {
    memory_ = group_;
    return;
  }
  if (folders_.memory.empty()) return LogDebug("no memory controller: the memory is watched");
  const CgroupFolder group(
      absl::StrCat(folders_.memory, "/", CgroupNameOf(container_id_, ::getpid())));
  if (!group.Create().ok()) return;
  if (SetCgroupMemoryLimit(group, memory_bytes_)) {
    memory_ = group;
  } else {
    group.Remove();
  }
}

absl::Status CgroupContainment::Enter(pid_t) {
  BecomeSubreaper();
  if (group_.Has("cgroup.kill")) {
    group_folder_.Reset(::open(group_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return absl::OkStatus();
}

// Moving the keeper into a separate memory group is done here, outside of the program's start,
// because the move takes some 10 ms. The keeper's oom_score_adj is -1000 from then on, so that the
// kernel does not choose the keeper when the program's memory runs out.
void CgroupContainment::Settle() {
  if (!memory_is_apart()) return;
  out_of_memory_adjustment_ = ReadProcFile(kOutOfMemoryAdjustment);
  WriteProcFile(kOutOfMemoryAdjustment, "-1000");
  inside_memory_ = memory_.Write(kOwnProcesses, kSelf) == 0;
}

void CgroupContainment::BeginCounting() {
  if (!memory_.valid()) return;
  kills_before_ = CgroupMemoryKills(memory_);
  ResetCgroupMemoryPeak(memory_);
}

pid_t CgroupContainment::Fork() {
  born_inside_ = group_folder_.valid();
  if (born_inside_) {
    const pid_t pid = ForkInto(group_folder_.get());
    if (pid >= 0) return pid;
    born_inside_ = false;
  }
  return ::fork();
}

// A child that clone3() created inside the group has nothing to join. The program gets back the
// oom_score_adj of the owner, which Settle() replaced in the keeper.
int CgroupContainment::Join() {
  if (!born_inside_) {
    if (const int error = group_.Write(kOwnProcesses, kSelf); error != 0) return error;
  }
  if (!memory_is_apart()) return 0;
  WriteProcFile(kOutOfMemoryAdjustment, out_of_memory_adjustment_);
  return inside_memory_ ? 0 : memory_.Write(kOwnProcesses, kSelf);
}

std::vector<pid_t> CgroupContainment::Signal(int number) {
  std::vector<pid_t> members = group_.Members();
  if (number == SIGKILL) {
    group_.Kill();
    // Since Linux 6.14 a process that clone3() creates in a group that was killed once is killed
    // too. Without the folder's descriptor, Fork() falls back to fork(), and later programs move
    // in.
    group_folder_.Reset();
  } else {
    for (const pid_t pid : members) ::kill(pid, number);
  }
  if (!members.empty()) return members;
  // A program with the privilege to do so may have left the group; it is still a descendant.
  members = Descendants(::getpid());
  for (const pid_t pid : members) ::kill(pid, number);
  return members;
}

bool CgroupContainment::Empty() {
  siginfo_t ignored;
  const int result = ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT);
  return result < 0 && errno == ECHILD && group_.Empty();
}

// The keeper cannot remove a memory group that it is a member of. It leaves that to the owner's
// CleanUp(), and moves out to remove the group itself only when the owner is gone.
void CgroupContainment::Leave(bool owner_lives) {
  group_.Remove();
  if (!memory_is_apart() || owner_lives) return;
  CgroupFolder(folders_.memory).Write(kOwnProcesses, kSelf);
  memory_.Remove();
}

void CgroupContainment::CleanUp() {
  group_.Remove();
  if (memory_is_apart()) memory_.Remove();
}

ContainedMemory CgroupContainment::Memory() {
  if (!memory_.valid()) return {};
  return {.peak_bytes = CgroupMemoryPeak(memory_),
          .kills = CgroupMemoryKills(memory_) - kills_before_};
}

}  // namespace tony::os
