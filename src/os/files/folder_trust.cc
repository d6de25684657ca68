// Walks along the path from "/", and resolves its links itself, so that every folder and link is
// checked.
#include "os/files/folder_trust.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/folder_owner.h"

namespace tony::os {
namespace {

/// The kernel's limit on links in one path (MAXSYMLINKS).
constexpr int kMostLinks = 40;

/// Opens `name` itself, whatever it is. O_DIRECTORY is tried first: without it, a file system that
/// is mounted on first access would not be mounted.
UniqueFd OpenEntry(int folder, const std::string& name) {
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(openat(folder, name.c_str(), kFlags | O_DIRECTORY));
  if (!fd.valid() && errno == ENOTDIR) fd.Reset(openat(folder, name.c_str(), kFlags));
  return fd;
}

/// A walk from "/" to a folder. Not thread safe.
class FolderWalk {
 public:
  /// `make`: make missing parts of the path.
  explicit FolderWalk(bool make) : make_(make) {}

  /// Checks every folder and link on the way, and the last folder by the rules of a folder on the
  /// way.
  absl::Status Go(const std::string& path) {
    wish_ = path;
    std::error_code error;
    const std::string absolute = std::filesystem::absolute(path, error).string();
    if (error) return ErrnoError(error.value(), Quoted(path));
    TONY_RETURN_IF_ERROR(EnterRoot());
    Expect(absolute);
    while (!ahead_.empty()) {
      const std::string name = std::move(ahead_.back());
      ahead_.pop_back();
      TONY_RETURN_IF_ERROR(Step(name));
    }
    return absl::OkStatus();
  }

  /// The folder that Go() has reached.
  const FolderHandle& end() const { return passed_.back().folder; }

 private:
  struct Passed {
    FolderHandle folder;  ///< an O_PATH descriptor: this user may have no right but to search it
    FolderOnTheWay facts;
  };

  absl::Status EnterRoot() {
    passed_.clear();
    return Enter(UniqueFd(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)), "");
  }

  /// `path`: without "/" at its end.
  absl::Status Enter(UniqueFd fd, const std::string& path) {
    const std::string shown = path.empty() ? "/" : path;
    if (!fd.valid()) return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(shown)));
    FolderOnTheWay facts;
    TONY_RETURN_IF_ERROR(Annotated(CheckFolderOnTheWay(
        fd.get(), passed_.empty() ? nullptr : &passed_.back().facts, shown, &facts)));
    passed_.push_back({FolderHandle(std::move(fd), path), facts});
    return absl::OkStatus();
  }

  /// Puts the parts of `path` in front of the remaining ones. Parts are taken from the end of
  /// ahead_.
  void Expect(const std::string& path) {
    const std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
    ahead_.insert(ahead_.end(), parts.rbegin(), parts.rend());
  }

  // "." and ".." are handled here and not by the kernel: ".." goes back to the folder that was
  // checked on the way.
  absl::Status Step(const std::string& name) {
    if (name == ".") return absl::OkStatus();
    if (name == "..") {
      if (passed_.size() > 1) passed_.pop_back();
      return absl::OkStatus();
    }
    const FolderHandle& here = passed_.back().folder;
    const std::string path = here.PathOf(name);
    UniqueFd fd = OpenEntry(here.fd(), name);
    if (!fd.valid() && errno == ENOENT && make_) {
      const absl::Status made = here.Make(name).status();
      if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
      fd = OpenEntry(here.fd(), name);
    }
    struct stat info;
    if (!fd.valid() || fstat(fd.get(), &info) != 0) {
      return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(path)));
    }
    if (S_ISLNK(info.st_mode)) return Follow(fd.get(), info, path);
    if (S_ISDIR(info.st_mode)) return Enter(std::move(fd), path);
    return ErrnoError(ENOTDIR, absl::StrCat("cannot open the folder ", Quoted(path)));
  }

  // A link's target is walked like the path itself, so every folder in it is checked too.
  absl::Status Follow(int link, const struct stat& info, const std::string& path) {
    TONY_RETURN_IF_ERROR(Annotated(CheckLinkOnTheWay(info, passed_.back().facts, path)));
    if (++links_ > kMostLinks) return ErrnoError(ELOOP, absl::StrCat("cannot open ", Quoted(path)));
    char target[PATH_MAX];
    const ssize_t length = readlinkat(link, "", target, sizeof target);
    if (length < 0) return ErrnoError(errno, absl::StrCat("cannot read the link ", Quoted(path)));
    const std::string text(target, static_cast<size_t>(length));
    if (text.starts_with('/')) TONY_RETURN_IF_ERROR(EnterRoot());
    Expect(text);
    return absl::OkStatus();
  }

  absl::Status Annotated(const absl::Status& status) const {
    return Annotate(status, absl::StrCat("the folder ", Quoted(wish_), " cannot be used"));
  }

  const bool make_;
  std::string wish_;
  int links_ = 0;
  std::vector<Passed> passed_;      ///< the checked folders, from "/" on
  std::vector<std::string> ahead_;  ///< remaining parts, the next one last
};

absl::StatusOr<FolderHandle> OpenChecked(const std::string& path, bool make) {
  FolderWalk walk(make);
  TONY_RETURN_IF_ERROR(walk.Go(path));
  UniqueFd fd(openat(walk.end().fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(path)));
  TONY_RETURN_IF_ERROR(CheckOwnFolder(fd.get(), path));
  return FolderHandle(std::move(fd), path);
}

}  // namespace

absl::StatusOr<FolderHandle> OpenOwnFolder(const std::string& path) {
  return OpenChecked(path, /*make=*/false);
}

absl::StatusOr<FolderHandle> OpenOrMakeOwnFolder(const std::string& path) {
  return OpenChecked(path, /*make=*/true);
}

absl::Status CheckFolder(const std::string& path) { return FolderWalk(/*make=*/false).Go(path); }

}  // namespace tony::os
