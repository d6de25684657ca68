// RemoveTree() walks by descriptors, not paths, so that no link swapped in meanwhile leads out of
// the tree.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

/// Maximum depth of the recursion, each level of which holds a descriptor. Deeper folders are first
/// moved up to the top folder.
constexpr int kMaxDepth = 64;
constexpr size_t kMaxNamedProblems = 5;

/// Opens the folder for listing and removing; adds the owner's permissions if they are missing.
UniqueFd OpenFolder(int parent, const std::string& name) {
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(openat(parent, name.c_str(), flags));
  if (!fd.valid() && errno == EACCES) {
    UniqueFd path_fd(openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!path_fd.valid()) return UniqueFd();
    if (!ChmodByDescriptor(path_fd.get(), 0700)) return UniqueFd();
    return UniqueFd(openat(path_fd.get(), ".", flags));
  }
  struct stat info;
  if (fd.valid() && fstat(fd.get(), &info) == 0 && (info.st_mode & 0700) != 0700) {
    fchmod(fd.get(), 0700);  // if this fails, the removals below report why
  }
  return fd;
}

/// One removal. Not thread safe.
class TreeRemover {
 public:
  absl::Status Run(int parent, const std::string& name, const std::string& path) {
    Remove(parent, name, path, 0);
    if (problems_ == 0) return absl::OkStatus();
    const std::string more =
        problems_ > named_.size() ? absl::StrCat("; and ", problems_ - named_.size(), " more") : "";
    return absl::Status(code_, absl::StrCat("cannot remove ", absl::StrJoin(named_, "; "), more));
  }

 private:
  void Report(int error, const std::string& path) { Report(ErrnoError(error, Quoted(path))); }

  void Report(const absl::Status& problem) {
    if (problems_++ == 0) code_ = problem.code();
    if (named_.size() < kMaxNamedProblems) named_.emplace_back(problem.message());
  }

  void Remove(int parent, const std::string& name, const std::string& path, int depth) {
    if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return;
    // If nothing may be removed from the parent, the contents of a folder may still be removable.
    const int error = errno;
    struct stat info;
    const bool is_folder =
        fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
    if (!is_folder) return Report(error, path);
    if (depth > kMaxDepth) {
      const std::string moved = absl::StrCat(".tony-deep-", moved_++);
      // The loop that clears the top folder removes the moved folder.
      if (renameat(parent, name.c_str(), top_, moved.c_str()) == 0) return;
    }
    RemoveFolder(parent, name, path, depth);
  }

  // Removes a folder with its contents, as far as they may be removed.
  void RemoveFolder(int parent, const std::string& name, const std::string& path, int depth) {
    UniqueFd folder = OpenFolder(parent, name);
    if (!folder.valid()) return Report(errno, path);
    if (!OnSameFileSystem(folder.get(), path)) return;
    const size_t problems_before = problems_;
    if (depth == 0) top_ = folder.get();
    int64_t moved_before;
    do {
      moved_before = moved_;
      Clear(folder.get(), path, depth);
    } while (depth == 0 && moved_ != moved_before);
    if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return;
    // A folder that is not empty is not reported if its contents have been reported already.
    if (problems_ == problems_before || (errno != ENOTEMPTY && errno != EEXIST))
      Report(errno, path);
  }

  // A mounted file system has another device number than the top folder. It may hold somebody's
  // data, so it is reported and left alone.
  bool OnSameFileSystem(int folder, const std::string& path) {
    struct stat info;
    if (fstat(folder, &info) != 0) {
      Report(errno, path);
      return false;
    }
    if (!device_known_) {
      device_ = info.st_dev;
      device_known_ = true;
    }
    if (info.st_dev == device_) return true;
    Report(absl::FailedPreconditionError(
        absl::StrCat(Quoted(path), ": another file system is mounted there; unmount it first")));
    return false;
  }

  void Clear(int folder, const std::string& path, int depth) {
    for (const std::string& name : List(folder, path)) {
      Remove(folder, name, absl::StrCat(path, "/", name), depth + 1);
    }
  }

  // The list uses a descriptor of its own, because closedir() closes it.
  std::vector<std::string> List(int folder, const std::string& path) {
    std::vector<std::string> names;
    const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    std::unique_ptr<DIR, int (*)(DIR*)> stream(own < 0 ? nullptr : fdopendir(own), &closedir);
    if (!stream) {
      Report(errno, path);
      if (own >= 0) close(own);
      return names;
    }
    while (const dirent* entry = readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    return names;
  }

  int top_ = -1;
  int64_t moved_ = 0;
  bool device_known_ = false;
  dev_t device_ = 0;
  size_t problems_ = 0;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::vector<std::string> named_;
};

}  // namespace

absl::Status RemoveTree(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  const std::string trimmed = end == std::string::npos ? "" : path.substr(0, end + 1);
  const size_t slash = trimmed.find_last_of('/');
  const std::string name = slash == std::string::npos ? trimmed : trimmed.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") {
    return absl::InvalidArgumentError(absl::StrCat("refusing to remove ", Quoted(path)));
  }
  const std::string folder = slash == std::string::npos ? "." : trimmed.substr(0, slash + 1);
  UniqueFd parent(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) {
    if (errno == ENOENT) return absl::OkStatus();
    return ErrnoError(errno, absl::StrCat("cannot remove ", Quoted(path)));
  }
  return TreeRemover().Run(parent.get(), name, trimmed);
}

}  // namespace tony::os
