// Reads and writes the control files of both versions of the kernel's control groups below
// /sys/fs/cgroup. A missing file tells which version a group belongs to.
#include "os/containment/cgroup_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "os/files/proc_file.h"
#include "os/files/unique_fd.h"

namespace tony::os {
namespace {

using std::chrono::milliseconds;

constexpr char kNameBeginning[] = "tony-";
constexpr milliseconds kRemovalLimit{1000};
constexpr milliseconds kFreezeLimit{50};

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// The folder of the group `path` in a hierarchy mounted at `mount`; empty if nothing is mounted
// there.
std::string FolderOf(const std::string& mount, const std::string& path) {
  if (!Exists(mount + "/cgroup.procs")) return "";
  const std::string place = path == "/" ? mount : mount + path;
  return Exists(place + "/cgroup.procs") ? place : mount;
}

bool Writable(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC)).valid();
}

absl::Status Unusable(const std::string& path) {
  return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
}

std::vector<CgroupFolder> FoldersBelow(const std::string& path) {
  std::vector<CgroupFolder> below;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return below;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      below.emplace_back(path + "/" + entry->d_name);
    }
  }
  ::closedir(folder);
  return below;
}

// The id becomes part of a folder's name, so characters that do not belong there are replaced.
std::string NameWithoutOwner(const std::string& container_id) {
  std::string name = kNameBeginning + container_id + ".";
  for (char& letter : name) {
    if (!std::isalnum(static_cast<unsigned char>(letter)) && std::strchr("-_.", letter) == nullptr)
      letter = '_';
  }
  return name;
}

/// The inode number of the caller's process namespace; 0 if /proc does not tell.
uint64_t PidNamespace() {
  struct stat info {};
  return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// Kills and removes in a loop: rmdir() fails until the killed processes have really ended, and
// where the kernel has no atomic kill, a process may have forked in between.
bool EndAndRemove(const CgroupFolder& group) {
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + kRemovalLimit;
  while (!group.Remove()) {
    if (clock.Now() >= deadline) return false;
    group.Kill();
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

}  // namespace

CgroupFolders FindCgroupFolders(const std::string& membership, const std::string& mount_root) {
  CgroupFolders folders;
  std::istringstream lines(membership);
  std::string line;
  while (std::getline(lines, line)) {
    // A line "4:freezer:/group" belongs to version 1, "0::/group" to version 2.
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.substr(second + 1, 1) != "/") continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::string controllers = "," + names + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      folders.unified = FolderOf(mount_root, path);
      if (folders.unified.empty()) folders.unified = FolderOf(mount_root + "/unified", path);
    }
    if (controllers.find(",freezer,") != std::string::npos) {
      folders.freezer = FolderOf(mount_root + "/freezer", path);
    }
    if (controllers.find(",memory,") != std::string::npos) {
      folders.memory = FolderOf(mount_root + "/memory", path);
    }
    if (controllers.find(",cpu,") != std::string::npos) {
      folders.cpu = FolderOf(mount_root + "/cpu", path);
      if (folders.cpu.empty()) folders.cpu = FolderOf(mount_root + "/" + names, path);
    }
  }
  return folders;
}

CgroupFolders OwnCgroupFolders() {
  return FindCgroupFolders(ReadProcFile("/proc/self/cgroup"), "/sys/fs/cgroup");
}

bool CgroupFolder::Has(const std::string& file) const { return Exists(path_ + "/" + file); }

std::string CgroupFolder::Read(const std::string& file) const {
  return ReadProcFile(path_ + "/" + file);
}

int CgroupFolder::Write(const std::string& file, const std::string& text) const {
  return WriteProcFile(path_ + "/" + file, text);
}

// The checks open cgroup.procs of the parent group and of the new group for writing, since moving a
// process into the group needs that right in both.
absl::Status CgroupFolder::Create() const {
  const std::string above = path_.substr(0, path_.find_last_of('/'));
  if (!Writable(above + "/cgroup.procs")) return Unusable(above + "/cgroup.procs");
  if (::mkdir(path_.c_str(), 0755) != 0) return Unusable(path_);
  if (!Writable(path_ + "/cgroup.procs")) {
    const absl::Status status = Unusable(path_ + "/cgroup.procs");
    Remove();
    return status;
  }
  return absl::OkStatus();
}

std::vector<pid_t> CgroupFolder::Members() const {
  std::vector<pid_t> members;
  std::istringstream lines(Read("cgroup.procs"));
  for (pid_t pid; lines >> pid;) members.push_back(pid);
  for (const CgroupFolder& group : FoldersBelow(path_)) {
    const std::vector<pid_t> more = group.Members();
    members.insert(members.end(), more.begin(), more.end());
  }
  return members;
}

bool CgroupFolder::Empty() const {
  const std::string events = Read("cgroup.events");  // exists in version 2 only
  return events.empty() ? Members().empty() : events.find("populated 0") != std::string::npos;
}

// Both versions freeze asynchronously, so the loop waits until the group reports it. The wait ends
// after kFreezeLimit because a process in an uninterruptible sleep cannot be frozen.
void CgroupFolder::Freeze() const {
  const bool version2 = Write("cgroup.freeze", "1") == 0;
  if (!version2 && Write("freezer.state", "FROZEN") != 0) return;
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + kFreezeLimit;
  while (clock.Now() < deadline) {
    const std::string state = Read(version2 ? "cgroup.events" : "freezer.state");
    if (state.find(version2 ? "frozen 1" : "FROZEN") != std::string::npos) return;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void CgroupFolder::Kill() const {
  if (Write("cgroup.kill", "1") == 0) return;  // version 2: atomic, frozen ones too
  // In version 1 the group is frozen first, so that no member forks while the list is read; a
  // frozen process dies when it is thawed.
  Freeze();
  for (const pid_t pid : Members()) ::kill(pid, SIGKILL);
  Write("freezer.state", "THAWED");
}

bool CgroupFolder::Remove() const {
  if (::rmdir(path_.c_str()) == 0 || errno == ENOENT) return true;
  for (const CgroupFolder& group : FoldersBelow(path_)) group.Remove();
  return ::rmdir(path_.c_str()) == 0;
}

std::string CgroupNameOf(const std::string& container_id, pid_t owner) {
  return absl::StrCat(NameWithoutOwner(container_id), owner, "-", PidNamespace());
}

// The rest of a name must be only digits and '-', so that a container id that is the beginning of
// another one ("job.1", "job.1.2") does not match the other container's groups.
std::vector<CgroupFolder> ContainerGroups(const std::string& container_id) {
  const CgroupFolders folders = OwnCgroupFolders();
  const std::string beginning = NameWithoutOwner(container_id);
  std::vector<CgroupFolder> groups;
  for (const std::string& place : {folders.unified, folders.freezer, folders.memory}) {
    if (place.empty()) continue;
    for (const CgroupFolder& group : FoldersBelow(place)) {
      const std::string name = group.path().substr(place.size() + 1);
      if (name.starts_with(beginning) &&
          name.find_first_not_of("0123456789-", beginning.size()) == std::string::npos) {
        groups.push_back(group);
      }
    }
  }
  return groups;
}

void RemoveAbandonedGroups() {
  const CgroupFolders folders = OwnCgroupFolders();
  const std::string here = absl::StrCat("-", PidNamespace());
  for (const std::string& place : {folders.unified, folders.freezer, folders.memory}) {
    if (place.empty()) continue;
    for (const CgroupFolder& group : FoldersBelow(place)) {
      const std::string name = group.path().substr(place.size() + 1);
      const pid_t owner = std::atoi(name.c_str() + name.find_last_of('.') + 1);
      if (!name.starts_with(kNameBeginning) || owner <= 0) continue;
      // The owner's process id means nothing here if it was assigned in another process namespace.
      if (!name.ends_with(here)) continue;
      if (::kill(owner, 0) != 0 && errno == ESRCH) group.Remove();
    }
  }
}

bool RemoveContainerGroups(const std::string& container_id) {
  bool gone = true;
  for (const CgroupFolder& group : ContainerGroups(container_id))
    gone = EndAndRemove(group) && gone;
  return gone;
}

}  // namespace tony::os
