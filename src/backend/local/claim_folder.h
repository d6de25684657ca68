// The claims of one user's jobs in a ledger, as files in a folder of that user.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/schedule/admission.h"
#include "os/files/folder_handle.h"
#include "os/files/unique_fd.h"

namespace tony::backend {

/// Files in the folder:
///
///     JOB.lock, JOB.2.lock, …   each write-locked as long as a process lives that inherited the
///                               lock from the ApplicationMaster that made it; always empty
///     JOB.json                  the job's claim; replaced as a whole by rename
///
/// A lock is a write lock on an open file description (F_OFD_SETLK). The kernel drops it when the
/// last process that inherited the description is gone, however it died, so the ledger never trusts
/// a process id. A job lives while one of its locks is held. Two ApplicationMasters of a job cannot
/// share a write lock, so each makes a file of its own.
///
/// In a shared ledger other users may read the files and could therefore place read locks on them.
/// Only write locks count, since they need a descriptor that is open for writing: no stranger can
/// make a dead job look alive, or take the lock away from a live one. For the same reason a lock
/// file becomes readable for others only after it has been locked.
///
/// Lock and contents are two files because renaming a new file over a locked one would leave the
/// lock on the old file. Nothing needs fsync: after a crash of the machine every claim is dead.
///
/// The caller of every function but IsOwnFile() holds the ledger's mutex. Thread safe (immutable).
class ClaimFolder {
 public:
  /// Who may read the files: this user, or everybody on this machine.
  enum class Readers { kOwner, kAll };
  /// The names of a job's lock files.
  using Locks = std::set<std::string>;

  /// This user's own folder.
  ClaimFolder(os::FolderHandle folder, Readers readers);
  /// The folder of another user, in which nothing is changed. `user`: for messages. A file that
  /// belongs to another user than `owner` is not there.
  ClaimFolder(os::FolderHandle folder, uint32_t owner, std::string user);

  /// The claims of all jobs that live, in no particular order. In this user's own folder it removes
  /// what is left of dead jobs and renames unreadable claims. Unavailable, PermissionDenied,
  /// ResourceExhausted – the folder cannot be listed.
  absl::StatusOr<std::vector<core::Claim>> Claims() const;
  /// The lock files of one job. The codes of Claims().
  absl::StatusOr<Locks> LocksOf(const std::string& job_id) const;
  /// Whether a process of the job lives.
  bool IsAlive(const Locks& locks) const;
  /// Makes a lock file for the job and locks it. The lock lives as long as the descriptor and its
  /// copies. ResourceExhausted – the disk is full, or the job has too many lock files.
  absl::StatusOr<os::UniqueFd> Lock(const std::string& job_id) const;
  /// NotFound – the job has no claim yet. Any other code – the claim is unreadable; in this user's
  /// own folder it has been renamed.
  absl::StatusOr<core::Claim> Read(const std::string& job_id) const;
  /// Replaces the job's claim. ResourceExhausted – the disk is full; the old claim stays.
  absl::Status Write(const core::Claim& claim) const;
  void RemoveClaim(const std::string& job_id) const;
  /// Removes all files of a job.
  void Remove(const std::string& job_id, const Locks& locks) const;

  const std::string& path() const { return folder_.path(); }

  /// Whether `name` in `folder` is a file that a ledger of this user has made. The files have names
  /// of a form that no other program uses. No other file in the folder is ever touched.
  static bool IsOwnFile(const os::FolderHandle& folder, const std::string& name);

 private:
  absl::StatusOr<std::map<std::string, Locks>> Jobs() const;
  /// Opens a plain file of the folder's owner for reading. NotFound – there is no such file.
  absl::StatusOr<os::UniqueFd> OpenFile(const std::string& name) const;
  absl::StatusOr<core::Claim> Parse(const std::string& job_id) const;
  bool IsLocked(const std::string& lock) const;

  os::FolderHandle folder_;
  uint32_t owner_;
  std::string user_;  ///< empty: this user
  Readers readers_ = Readers::kOwner;
};

}  // namespace tony::backend
