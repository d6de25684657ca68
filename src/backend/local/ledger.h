// Records which job holds which of this machine's resources, in a folder that all of one user's
// jobs share and that survives the death of any of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "core/ports/cluster_backend.h"
#include "core/schedule/admission.h"
#include "os/files/folder_handle.h"
#include "os/files/unique_fd.h"

namespace tony::backend {

/// The shared folder. Files in it:
///
///     mutex       locked (flock) for the short time of each operation below, so that no process
///                 sees another one's half-done work
///     JOB.lock    locked (flock) for as long as any process of the job lives; always empty
///     JOB.json    the job's claim; replaced as a whole by rename
///
/// The lock is a shared flock on open file descriptions that the job's ApplicationMasters create
/// and their executors inherit. The kernel drops it when the last of these processes is gone,
/// however it died, so the ledger never trusts a process id. A claim whose lock can be taken
/// exclusively is dead; the process that notices this removes it.
///
/// Lock and contents are two files because renaming a new file over a locked one would leave the
/// lock on the old file. Nothing needs fsync: after a crash of the machine every claim is dead.
///
/// Thread safe between processes; within one process owned by one thread.
class Ledger {
 public:
  /// Creates the folder (mode 0700) if it is missing. `limit`: how long each operation waits for
  /// the mutex. FailedPrecondition – the folder is on a network file system, whose locks also count
  /// processes of other machines. Otherwise the codes of os::OpenOrMakeOwnFolder().
  static absl::StatusOr<Ledger> Open(const std::string& folder,
                                     Duration limit = std::chrono::seconds(10));

  /// The claims of all jobs that live, by ticket. Removes dead claims and sets unreadable ones
  /// aside. DeadlineExceeded – another process holds the mutex for too long. Unavailable – the
  /// folder cannot be read.
  absl::StatusOr<std::vector<core::Claim>> Claims() const;

  const std::string& folder() const { return folder_; }

  /// Whether the file `name` in `folder` was made by a ledger: the mutex, or a file of a job. These
  /// files have names of a form that no other program uses. The ledger never touches any other file
  /// in the folder.
  static bool IsOwnFile(const os::FolderHandle& folder, const std::string& name);

 private:
  friend class LedgerClaim;

  Ledger(std::string folder, Duration limit) : folder_(std::move(folder)), limit_(limit) {}

  /// The caller must hold the mutex.
  absl::StatusOr<std::vector<core::Claim>> ReadClaims() const;

  std::string folder_;
  Duration limit_;
};

/// One job's claim in the ledger. Every call takes the ledger's mutex and may fail with the codes
/// of Ledger::Claims(). Not thread safe: owned by the event loop.
class LedgerClaim {
 public:
  /// Opens a new claim. If processes of the job live that inherited a claim, opens that claim
  /// instead: what the job holds and its place in the queue stay. ResourceExhausted – the disk is
  /// full. InvalidArgument – `job_id` is not a local job's id (IsLocalJobId()): the ledger would
  /// not recognize the files of such a claim as its own.
  static absl::StatusOr<std::unique_ptr<LedgerClaim>> Open(const Ledger& ledger,
                                                           const std::string& job_id);
  /// Gives back what the job holds, unless a process that inherited the descriptor lives on: then
  /// the claim lives as long as that process.
  ~LedgerClaim();
  LedgerClaim(const LedgerClaim&) = delete;
  LedgerClaim& operator=(const LedgerClaim&) = delete;

  /// Enters the queue at its end with `wanted`, in addition to what the job holds. Replaces what
  /// the job wanted before. ResourceExhausted – the disk is full; nothing has changed.
  absl::Status Want(const std::vector<core::ContainerRequest>& wanted);
  /// Takes what is wanted if it is this job's turn and enough is free. Before Want(): Admitted with
  /// nothing. ResourceExhausted – the disk is full; nothing has changed.
  absl::StatusOr<core::Admission> TryAdmit(const core::Capacity& capacity);
  /// Stops holding `grants`; grants that the job does not hold are ignored. ResourceExhausted – the
  /// disk is full; nothing has changed.
  absl::Status GiveBack(const std::vector<core::Grant>& grants);
  /// Leaves the queue; the job keeps what it holds.
  absl::Status Cancel();

  /// The lock's descriptor, to be inherited by the job's processes. Close-on-exec; valid as long as
  /// this object lives.
  int descriptor() const { return lock_fd_.get(); }
  const core::Claim& claim() const { return claim_; }

 private:
  LedgerClaim(Ledger ledger, core::Claim claim, os::UniqueFd lock_fd)
      : ledger_(std::move(ledger)), claim_(std::move(claim)), lock_fd_(std::move(lock_fd)) {}

  /// Writes `claim` to the disk first, then makes it the one in memory. The caller must hold the
  /// mutex.
  absl::Status Replace(core::Claim claim);

  Ledger ledger_;
  core::Claim claim_;
  os::UniqueFd lock_fd_;
};

}  // namespace tony::backend
