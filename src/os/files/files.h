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

// For all functions below: modes are exact (the process's umask does not matter); messages name the
// path and the system's reason; an errno value becomes the status code of absl::ErrnoToStatusCode
// (NotFound – ENOENT; PermissionDenied – EACCES, EPERM; AlreadyExists – EEXIST; ResourceExhausted –
// ENOSPC, EMFILE; FailedPrecondition – EISDIR, ENOTDIR; Unknown – EIO…).
namespace tony::os {

/// Whether the contents must have reached the disk before the call returns, to survive a power cut.
enum class Durability { kCached, kSynced };

/// `text` in single quotes, with control characters and bytes that are not UTF-8 escaped; for
/// messages.
std::string Quoted(const std::string& text);

/// The status for the errno value `error`: "`what`: reason". `what` names the path.
absl::Status ErrnoError(int error, const std::string& what);

/// Returns the file's bytes; works for files of /proc too. Errno codes.
absl::StatusOr<std::string> ReadFile(const std::string& path);

/// Returns all bytes of the open file `fd` from its position on. `path`: for the message.
/// OutOfRange – there are more than `most` bytes. Errno codes.
absl::StatusOr<std::string> ReadAtMost(int fd, size_t most, const std::string& path);

/// Writes all `size` bytes to `fd`. `path`: for the message. Errno codes.
absl::Status WriteAll(int fd, const void* data, size_t size, const std::string& path);

/// Replaces or creates `path`: a reader sees the old contents or the new ones, never a part. A
/// temporary file ".tony-XXXXXX" in the same folder has the final mode before it has contents. If
/// `path` is a link, the link itself is replaced. Errno codes; after an error the old file is
/// untouched.
absl::Status WriteFileAtomically(const std::string& path, const std::string& contents,
                                 mode_t mode = 0600, Durability durability = Durability::kCached);

/// Like WriteFileAtomically(), but only if nothing is called `path` yet; of several callers one
/// succeeds. AlreadyExists – something (also a dangling link) has that name. Errno codes.
absl::Status CreateFileExclusively(const std::string& path, const std::string& contents,
                                   mode_t mode = 0600, Durability durability = Durability::kCached);

/// Opens `path`; makes it with `mode` if it is missing. An existing file or device keeps its mode,
/// with one exception: a file of this user without any permissions, to which its maker, under a
/// umask of 0700, has not yet given its mode, gets `mode` now. `flags`: flags of open(), such as
/// O_RDWR. On failure the result is not valid and errno says why; a link to nothing gives ENOENT.
UniqueFd OpenOrMakeFile(const std::string& path, int flags, mode_t mode = 0600);

/// Does the same for `name` in the open folder `folder`.
UniqueFd OpenOrMakeFileAt(int folder, const std::string& name, int flags, mode_t mode = 0600);

/// chmod() of the file behind `fd`, which may be an O_PATH descriptor, unlike for fchmod(). chmod()
/// by name would follow a link. Returns false with errno set on failure.
bool ChmodByDescriptor(int fd, mode_t mode);

/// Whether the file behind `fd` belongs to this user but gives the user no permissions: its maker
/// ran with a umask of 0700, and was killed or has not set the mode yet.
bool LacksItsMode(int fd);

/// Makes `path` and its missing parents, each with `mode`. Existing folders are left as they are.
/// FailedPrecondition – a part of the path is no folder. Errno codes.
absl::Status MakeFolders(const std::string& path, mode_t mode = 0700);

/// Removes `path` and everything below it; a missing `path` is no error. Links are removed, never
/// followed. The user's own folders without permissions are opened up first. Mounted file systems
/// are left alone. InvalidArgument – `path` is empty, "/", or ends in "." or "..". Otherwise the
/// code of the first thing that could not be removed, and a message that names the first few with
/// their reasons. Everything that can be removed is removed.
absl::Status RemoveTree(const std::string& path);

/// A file that only grows. Each Append() is one write, so lines of several processes do not mix.
/// Thread safe, apart from construction, assignment and destruction.
class AppendFile {
 public:
  /// Opens the file, or creates it with `mode`. Errno codes.
  static absl::StatusOr<AppendFile> Open(const std::string& path, mode_t mode = 0600);
  /// Errno codes; after ResourceExhausted a part of `text` may have been written.
  absl::Status Append(const std::string& text) const;
  /// Reserves disk space for `bytes` beyond the file's end, where nobody sees it and no other file
  /// can use it. ResourceExhausted – there is not enough space. Unimplemented – the file system
  /// cannot do it. Errno codes.
  absl::Status Reserve(int64_t bytes) const;
  /// Truncates the file to `size` and gives back the space beyond it. Errno codes.
  absl::Status Cut(int64_t size) const;

 private:
  AppendFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

}  // namespace tony::os
