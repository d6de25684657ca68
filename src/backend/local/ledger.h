// Records which job holds which of this machine's resources, in a folder that survives the death of
// any job: of one user's jobs, or of all users' jobs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/local/claim_folder.h"
#include "common/clock.h"
#include "core/ports/cluster_backend.h"
#include "core/schedule/admission.h"
#include "os/files/folder_handle.h"
#include "os/files/unique_fd.h"

namespace tony::backend {

/// A ledger's folder has one of two forms (ClaimFolder describes the files of claims):
///
///     private:  DIR/JOB.lock, DIR/JOB.json      mode 0700; the jobs of one user
///     shared:   DIR/UID/JOB.lock, …             the jobs of all users; DIR has mode 1777 and
///     belongs
///                                               to root, DIR/UID has mode 0755
///
/// 1. The mutex of a ledger is a lock (flock) on DIR itself, held for the short time of each
///    operation, so that no process sees another one's half-done work.
/// 2. A sub-folder of a shared ledger counts if it belongs to the user whose number is its name.
///    Should a stranger have taken this user's name, the name "UID-2" is used, and so on.
/// 3. Claims of other users are only read. A dead one does not count; its user's next job removes
///    it.
///
/// What another user of a shared ledger can do: hold the mutex, or claim the whole machine. Both
/// keep new containers waiting, with a sentence that names the user. He cannot change another
/// user's claim, nor make a dead one look alive.
///
/// Thread safe between processes; within one process owned by one thread.
class Ledger {
 public:
  enum class Kind { kPrivate, kShared };
  struct Options {
    std::string folder;
    Kind kind = Kind::kPrivate;
    /// How long each operation waits for the mutex.
    Duration limit = std::chrono::seconds(10);
    /// The limits of a user of a shared ledger, by name. Null: there are none.
    std::function<core::Limits(const std::string& user)> limits_of = {};
  };

  /// Makes the folder of a private ledger (mode 0700) if it is missing; for a shared one makes this
  /// user's sub-folder. FailedPrecondition – the folder is on a network file system, whose locks
  /// also count processes of other machines. NotFound – a shared ledger's folder is missing.
  /// PermissionDenied – another user could replace the folder. Otherwise the codes of
  /// os::OpenOrMakeOwnFolder() and os::CheckFolder().
  static absl::StatusOr<Ledger> Open(const Options& options);

  /// The claims of all jobs that live, by ticket. Removes this user's dead claims and sets this
  /// user's unreadable ones aside. DeadlineExceeded – another process holds the mutex for too long;
  /// the message names it. Unavailable – the folder cannot be read.
  absl::StatusOr<std::vector<core::Claim>> Claims() const;

  /// The folders in which a change of a claim can be seen, as far as they are there now.
  std::vector<std::string> WatchedFolders() const;

  const std::string& folder() const { return options_.folder; }
  /// The folder of this user's claims.
  const std::string& own_folder() const { return own_->path(); }

 private:
  friend class LedgerClaim;

  Ledger(Options options, std::shared_ptr<const os::FolderHandle> folder,
         std::shared_ptr<const ClaimFolder> own)
      : options_(std::move(options)), folder_(std::move(folder)), own_(std::move(own)) {}

  /// The caller must hold the mutex.
  absl::StatusOr<std::vector<core::Claim>> ReadClaims() const;
  /// The limits of a user; none in a private ledger. Asked for once for each user, since the answer
  /// may come from another machine.
  core::Limits LimitsOf(const std::string& user) const;
  /// The sub-folders of other users that count.
  absl::StatusOr<std::vector<ClaimFolder>> Others() const;

  Options options_;
  std::shared_ptr<const os::FolderHandle> folder_;
  std::shared_ptr<const ClaimFolder> own_;
  mutable std::map<std::string, core::Limits> limits_;  ///< by user, as far as they were asked for
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
