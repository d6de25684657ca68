// Who holds what on this machine: a folder that all of one user's jobs share and that survives any
// of their deaths.
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
///     mutex       flock'ed for the short time of each operation below, so none sees another half
///     done JOB.lock    flock'ed for as long as any process of the job lives; empty, never
///     rewritten JOB.json    the job's claim; replaced as a whole by rename
///
/// The lock is a shared one, of open file descriptions that the job's ApplicationMasters create and
/// their executors inherit: the kernel drops it when the last of them is gone, however they died,
/// and no process id is ever trusted. A claim whose lock can be taken by oneself alone is dead;
/// whoever sees it removes it.
/// Lock and contents are two files because renaming a new file over a locked one would leave the
/// lock on the old one. Nothing needs fsync: after a crash of the machine every claim is dead.
///
/// Thread safe between processes; within one process owned by one thread.
class Ledger {
 public:
  /// Creates the folder (mode 0700) if it is missing. `limit`: how long the mutex is waited for.
  /// FailedPrecondition – it is on a network file system, whose locks mean other machines too;
  /// otherwise the codes of os::OpenOrMakeOwnFolder().
  static absl::StatusOr<Ledger> Open(const std::string& folder,
                                     Duration limit = std::chrono::seconds(10));

  /// The claims of all jobs that live, by ticket. Removes the dead ones and sets unreadable ones
  /// aside. DeadlineExceeded – another process keeps the mutex for too long; Unavailable – the
  /// folder cannot be read.
  absl::StatusOr<std::vector<core::Claim>> Claims() const;

  const std::string& folder() const { return folder_; }

  /// Whether a ledger has made the file `name` in `folder`: the mutex, or a file of a job. It is of
  /// a form that nobody else calls a file by. Nothing else in the folder is ever touched.
  static bool IsOwnFile(const os::FolderHandle& folder, const std::string& name);

 private:
  friend class LedgerClaim;

  Ledger(std::string folder, Duration limit) : folder_(std::move(folder)), limit_(limit) {}

  /// Needs the mutex.
  absl::StatusOr<std::vector<core::Claim>> ReadClaims() const;

  std::string folder_;
  Duration limit_;
};

/// One job's place in the ledger. Every call takes the ledger's mutex, with the codes of
/// Ledger::Claims(). Not thread safe: owned by the event loop.
class LedgerClaim {
 public:
  /// A new claim; or, where processes of the job live that inherited one, that claim: what is held
  /// and the place in the queue. ResourceExhausted – the disk is full; InvalidArgument – `job_id`
  /// is none (IsLocalJobId()): the files of such a claim would not be known for a ledger's.
  static absl::StatusOr<std::unique_ptr<LedgerClaim>> Open(const Ledger& ledger,
                                                           const std::string& job_id);
  /// Gives back what is held, unless a process that inherited the descriptor lives on: then the
  /// claim lives with it.
  ~LedgerClaim();
  LedgerClaim(const LedgerClaim&) = delete;
  LedgerClaim& operator=(const LedgerClaim&) = delete;

  /// Enters the queue at its end with `wanted`, in addition to what is held. Replaces what was
  /// wanted before. ResourceExhausted – the disk is full; nothing has changed.
  absl::Status Want(const std::vector<core::ContainerRequest>& wanted);
  /// Takes what is wanted if it is this job's turn and there is enough. Before Want(): Admitted
  /// with nothing. ResourceExhausted – the disk is full; nothing has changed.
  absl::StatusOr<core::Admission> TryAdmit(const core::Capacity& capacity);
  /// Holds these no longer; what is not held is left out. ResourceExhausted – the disk is full;
  /// nothing has changed.
  absl::Status GiveBack(const std::vector<core::Grant>& grants);
  /// Leaves the queue; what is held stays.
  absl::Status Cancel();

  /// To be inherited by the job's processes. Close-on-exec; valid as long as this object.
  int descriptor() const { return lock_fd_.get(); }
  const core::Claim& claim() const { return claim_; }

 private:
  LedgerClaim(Ledger ledger, core::Claim claim, os::UniqueFd lock_fd)
      : ledger_(std::move(ledger)), claim_(std::move(claim)), lock_fd_(std::move(lock_fd)) {}

  /// Makes `claim` the one on disk, then in memory. Needs the mutex.
  absl::Status Replace(core::Claim claim);

  Ledger ledger_;
  core::Claim claim_;
  os::UniqueFd lock_fd_;
};

}  // namespace tony::backend
