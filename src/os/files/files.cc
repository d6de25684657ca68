// Reads, writes and appends whole files. A temporary file with rename() or link() makes a new file
// appear complete. RemoveTree() is in files_remove.cc.
#include "os/files/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::os {
namespace {

constexpr int kOpenTries = 10;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void GiveFileItsMode(int folder, const std::string& name, mode_t mode) {
  const UniqueFd file(openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!file.valid() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  if (LacksItsMode(file.get())) ChmodByDescriptor(file.get(), mode);
}

/// A new file that is removed at the end of its scope, unless it has been given its final name.
class TemporaryFile {
 public:
  static absl::StatusOr<TemporaryFile> Write(const std::string& folder, const std::string& contents,
                                             mode_t mode, Durability durability) {
    // The temporary name is short and independent of the final name, which may already have the
    // maximum length.
    TemporaryFile file;
    file.path_ = absl::StrCat(folder, "/.tony-XXXXXX");
    UniqueFd fd(mkostemp(file.path_.data(), O_CLOEXEC));
    if (!fd.valid()) {
      const int error = errno;
      file.path_.clear();
      return ErrnoError(error, absl::StrCat("cannot make a file in ", Quoted(folder)));
    }
    if (fchmod(fd.get(), mode) != 0) {
      return ErrnoError(errno, absl::StrCat("cannot set the mode of ", Quoted(file.path_)));
    }
    // The mode is set before the contents are written, so that the contents are never readable by
    // others.
    TONY_RETURN_IF_ERROR(WriteAll(fd.get(), contents.data(), contents.size(), file.path_));
    if (durability == Durability::kSynced && fsync(fd.get()) != 0) {
      return ErrnoError(errno, absl::StrCat("cannot flush ", Quoted(file.path_)));
    }
    return file;
  }

  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~TemporaryFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }
  void Keep() { path_.clear(); }

 private:
  TemporaryFile() = default;

  std::string path_;
};

absl::Status SyncFolder(const std::string& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot flush the folder ", Quoted(folder)));
  }
  return absl::OkStatus();
}

}  // namespace

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::Utf8SafeCEscape(text), "'");
}

absl::Status ErrnoError(int error, const std::string& what) {
  return absl::ErrnoToStatus(error, what);
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(path)));
  return ReadAtMost(fd.get(), std::numeric_limits<size_t>::max(), path);
}

absl::StatusOr<std::string> ReadAtMost(int fd, size_t most, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoError(errno, absl::StrCat("cannot read ", Quoted(path)));
  // Files of /proc report a size of 0, so the size is only a first guess.
  std::string contents(std::min(static_cast<size_t>(info.st_size), most) + 4096, '\0');
  size_t length = 0;
  while (true) {
    const ssize_t count = read(fd, contents.data() + length, contents.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError(errno, absl::StrCat("cannot read ", Quoted(path)));
    if (count == 0) break;
    length += static_cast<size_t>(count);
    if (length > most) {
      return absl::OutOfRangeError(absl::StrCat(Quoted(path), " has more than ", most, " bytes"));
    }
    if (length == contents.size()) contents.resize(2 * length);
  }
  contents.resize(length);
  return contents;
}

absl::Status WriteAll(int fd, const void* data, size_t size, const std::string& path) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = write(fd, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoError(errno, absl::StrCat("cannot write ", Quoted(path)));
    next += count;
    size -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::string& path, const std::string& contents, mode_t mode,
                                 Durability durability) {
  const std::string folder = FolderOf(path);
  TONY_ASSIGN_OR_RETURN(TemporaryFile file,
                        TemporaryFile::Write(folder, contents, mode, durability));
  if (rename(file.path().c_str(), path.c_str()) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot write ", Quoted(path)));
  }
  file.Keep();
  return durability == Durability::kSynced ? SyncFolder(folder) : absl::OkStatus();
}

absl::Status CreateFileExclusively(const std::string& path, const std::string& contents,
                                   mode_t mode, Durability durability) {
  const std::string folder = FolderOf(path);
  TONY_ASSIGN_OR_RETURN(TemporaryFile file,
                        TemporaryFile::Write(folder, contents, mode, durability));
  // link(), unlike O_EXCL, makes the name appear together with the contents.
  if (link(file.path().c_str(), path.c_str()) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot create ", Quoted(path)));
  }
  return durability == Durability::kSynced ? SyncFolder(folder) : absl::OkStatus();
}

absl::Status MakeFolders(const std::string& path, mode_t mode) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return absl::OkStatus();
    return ErrnoError(ENOTDIR, absl::StrCat("cannot make the folder ", Quoted(path)));
  }
  const bool missing = errno == ENOENT;
  const size_t end = path.find_last_not_of('/');
  const std::string trimmed = path.substr(0, end == std::string::npos ? 0 : end + 1);
  const std::string parent = FolderOf(trimmed);
  if (missing && !trimmed.empty() && parent != "." && parent != "/") {
    TONY_RETURN_IF_ERROR(MakeFolders(parent, mode));
  }
  if (mkdir(trimmed.c_str(), mode) != 0) {
    const int error = errno;
    // Another process may have made the folder in the meantime.
    if (error == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      return absl::OkStatus();
    }
    return ErrnoError(error, absl::StrCat("cannot make the folder ", Quoted(path)));
  }
  // mkdir() obeys the umask, so the exact mode is set afterwards.
  if (chmod(trimmed.c_str(), mode) != 0) {
    return ErrnoError(errno, absl::StrCat("cannot set the mode of the folder ", Quoted(path)));
  }
  return absl::OkStatus();
}

bool ChmodByDescriptor(int fd, mode_t mode) {
  return chmod(absl::StrCat("/proc/self/fd/", fd).c_str(), mode) == 0;
}

bool LacksItsMode(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & S_IRWXU) == 0;
}

UniqueFd OpenOrMakeFile(const std::string& path, int flags, mode_t mode) {
  return OpenOrMakeFileAt(AT_FDCWD, path, flags, mode);
}

UniqueFd OpenOrMakeFileAt(int folder, const std::string& name, int flags, mode_t mode) {
  flags |= O_CLOEXEC;
  UniqueFd fd;
  // Other processes may make or remove the file in between, so both steps are repeated.
  for (int tries = 0; tries < kOpenTries; ++tries) {
    fd.Reset(openat(folder, name.c_str(), flags));
    if (!fd.valid() && errno == EACCES) {
      GiveFileItsMode(folder, name, mode);
      fd.Reset(openat(folder, name.c_str(), flags));
    }
    if (fd.valid() || errno != ENOENT) return fd;
    fd.Reset(openat(folder, name.c_str(), flags | O_CREAT | O_EXCL, mode));
    if (fd.valid()) {
      fchmod(fd.get(), mode);  // the umask may have removed permissions
      return fd;
    }
    if (errno != EEXIST) return fd;
  }
  errno = ENOENT;
  return fd;
}

absl::StatusOr<AppendFile> AppendFile::Open(const std::string& path, mode_t mode) {
  UniqueFd fd(OpenOrMakeFile(path, O_WRONLY | O_APPEND, mode));
  if (!fd.valid()) return ErrnoError(errno, absl::StrCat("cannot open ", Quoted(path)));
  return AppendFile(std::move(fd), path);
}

absl::Status AppendFile::Append(const std::string& text) const {
  return WriteAll(fd_.get(), text.data(), text.size(), path_);
}

// FALLOC_FL_KEEP_SIZE reserves blocks beyond the end without changing the size that readers see.
absl::Status AppendFile::Reserve(int64_t bytes) const {
  const off_t end = lseek(fd_.get(), 0, SEEK_END);
  if (end >= 0 && fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, end, bytes) == 0) {
    return absl::OkStatus();
  }
  return ErrnoError(errno, absl::StrCat("cannot reserve room for ", Quoted(path_)));
}

absl::Status AppendFile::Cut(int64_t size) const {
  if (ftruncate(fd_.get(), size) == 0) return absl::OkStatus();
  return ErrnoError(errno, absl::StrCat("cannot cut ", Quoted(path_)));
}

}  // namespace tony::os
