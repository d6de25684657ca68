// Whole-file operations with exact modes, and removal of trees that never leaves the tree.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

// Everywhere below: modes are exact (the process's umask does not matter), messages name the path
// and the system's reason, and an errno becomes the status code of absl::ErrnoToStatusCode
// (NotFound – ENOENT; PermissionDenied – EACCES, EPERM; AlreadyExists – EEXIST; ResourceExhausted –
// ENOSPC, EMFILE; FailedPrecondition – EISDIR, ENOTDIR; Unknown – EIO…).
namespace tony::os {

/// Whether contents must have reached the disk before the call returns, to survive a power cut.
enum class Durability { kCached, kSynced };

/// `text` in single quotes, control characters and bytes that are no UTF-8 escaped: for messages.
std::string Quoted(const std::string& text);

/// The status of errno value `error`: "`what`: reason". `what` names the path.
absl::Status ErrnoError(int error, const std::string& what);

/// The file's bytes; works for files of /proc as well. Errno codes.
absl::StatusOr<std::string> ReadFile(const std::string& path);

/// Writes `size` bytes to `fd`; `path` is for the message. Errno codes.
absl::Status WriteAll(int fd, const void* data, size_t size, const std::string& path);

/// Replaces or creates `path`: a reader sees the old contents or the new, never a part. A temporary
/// file ".tony-XXXXXX" in the same folder has the final mode before it has contents. A link at
/// `path` is replaced itself. Errno codes; after an error the old file is untouched.
absl::Status WriteFileAtomically(const std::string& path, const std::string& contents,
                                 mode_t mode = 0600, Durability durability = Durability::kCached);

/// As WriteFileAtomically, but only where nothing is called `path` yet; of several callers one
/// succeeds. AlreadyExists – something (also a dangling link) has that name; errno codes.
absl::Status CreateFileExclusively(const std::string& path, const std::string& contents,
                                   mode_t mode = 0600, Durability durability = Durability::kCached);

/// Opens `path`, which is made with `mode` if missing; what is there keeps its mode, be it a
/// device. A file of this user's own that its maker, in a umask of 0700, had no time to give its
/// mode gets it now. `flags`: of open(), such as O_RDWR. Invalid, with errno, when it cannot be:
/// ENOENT also for a link to nothing.
UniqueFd OpenOrMakeFile(const std::string& path, int flags, mode_t mode = 0600);

/// The same of `name` in the open folder `folder`.
UniqueFd OpenOrMakeFileAt(int folder, const std::string& name, int flags, mode_t mode = 0600);

/// chmod() of what `fd` leads to, be it of O_PATH, which fchmod() does not take; by name chmod()
/// would follow a link. False, with errno.
bool ChmodByDescriptor(int fd, mode_t mode);

/// Whether what `fd` leads to is this user's, who may do nothing with it: its maker, in a umask of
/// 0700, was killed, or has not come to giving it its mode.
bool LacksItsMode(int fd);

/// Makes `path` and its missing parents, each with `mode`. Folders that exist are left as they are.
/// FailedPrecondition – a part of the path is no folder; errno codes.
absl::Status MakeFolders(const std::string& path, mode_t mode = 0700);

/// Removes `path` and all below it; nothing there is fine. Links are removed, never followed;
/// folders without permissions are opened up first when they are ours; what is mounted from another
/// file system is left alone. InvalidArgument – `path` is empty, "/" or ends in "." or "..";
/// otherwise the code of the first thing that could not be removed, and a message that names the
/// first few with their reasons. All that can be removed is.
absl::Status RemoveTree(const std::string& path);

/// A file that only grows; each Append is one write, so lines of several processes do not mix.
/// Thread safe, apart from construction, assignment and destruction.
class AppendFile {
 public:
  /// Opens or creates (with `mode`) the file. Errno codes.
  static absl::StatusOr<AppendFile> Open(const std::string& path, mode_t mode = 0600);
  /// Errno codes; after ResourceExhausted a part of `text` may have been written.
  absl::Status Append(const std::string& text) const;
  /// Takes room on the disk for `bytes` beyond the file's end, where nobody sees them and no other
  /// file can use it. ResourceExhausted – there is not that much; Unimplemented – not on this file
  /// system; errno codes.
  absl::Status Reserve(int64_t bytes) const;
  /// Makes the file end at `size` and gives back the room behind that. Errno codes.
  absl::Status Cut(int64_t size) const;

 private:
  AppendFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

}  // namespace tony::os
