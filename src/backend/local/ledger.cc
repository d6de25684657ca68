// File locks tell which jobs live; JSON files tell what they hold. One mutex file serializes all
// operations.
#include "backend/local/ledger.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend/local/claim_json.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"
#include "storage/job_proof.h"

namespace tony::backend {
namespace {

constexpr char kMutexName[] = "mutex";
constexpr char kLockSuffix[] = ".lock";
constexpr char kClaimSuffix[] = ".json";
constexpr char kCorruptSuffix[] = ".corrupt";
/// The pattern that os::WriteFileAtomically hands to mkostemp() for its temporary file.
constexpr char kTemporaryForm[] = ".tony-XXXXXX";

std::string PathOf(const std::string& folder, const std::string& job_id, const char* suffix) {
  return absl::StrCat(folder, "/", job_id, suffix);
}

/// The id of the job to which the file `name` belongs, by the name's form; empty if it belongs to
/// none.
std::string JobIdOf(const std::string& name, const std::string& suffix) {
  if (!absl::EndsWith(name, suffix)) return "";
  const std::string job_id = name.substr(0, name.size() - suffix.size());
  return storage::IsLocalJobId(job_id) ? job_id : "";
}

/// Whether `name` is a temporary file to which a claim was being written.
bool IsTemporary(const std::string& name) {
  return std::equal(name.begin(), name.end(), std::begin(kTemporaryForm),
                    std::end(kTemporaryForm) - 1, [](char letter, char form) {
                      return form == 'X' ? absl::ascii_isalnum(static_cast<unsigned char>(letter))
                                         : letter == form;
                    });
}

/// Opens a file in order to lock it; creates it if missing.
absl::StatusOr<os::UniqueFd> OpenLock(const std::string& path, int access) {
  os::UniqueFd fd(os::OpenOrMakeFile(path, access));
  if (!fd.valid()) return os::ErrnoError(errno, path);
  return fd;
}

// True: the lock was free and is now ours. False: another process holds a lock that excludes ours.
absl::StatusOr<bool> TryLock(int fd, const std::string& path, int kind = LOCK_EX) {
  while (::flock(fd, kind | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return os::ErrnoError(errno, path);
  }
  return true;
}

// Holds the ledger's mutex. The mutex file is opened read-only, because closing a file opened for
// writing wakes every LedgerWatch of the folder.
class MutexGuard {
 public:
  static absl::StatusOr<MutexGuard> Lock(const std::string& folder, Duration limit) {
    const std::string path = absl::StrCat(folder, "/", kMutexName);
    TONY_ASSIGN_OR_RETURN(os::UniqueFd fd, OpenLock(path, O_RDONLY));
    // A blocking flock would wait without limit: one process stopped while it holds the mutex would
    // silently stop all jobs. Hence exponential backoff with a deadline.
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (std::chrono::milliseconds pause(1);; pause = std::min(pause * 2, kLongestPause)) {
      TONY_ASSIGN_OR_RETURN(const bool locked, TryLock(fd.get(), path));
      if (locked) return MutexGuard(std::move(fd));
      if (std::chrono::steady_clock::now() >= deadline) break;
      std::this_thread::sleep_for(pause);
    }
    LogInfo("the ledger stays locked by another process", {{"path", path}});
    return absl::DeadlineExceededError(absl::StrCat(
        path, " has been locked by another process for ",
        std::chrono::duration_cast<std::chrono::milliseconds>(limit).count(),
        " ms (tony.local.ledger-timeout-ms): is one of your tony processes stopped? `fuser ", path,
        "` names it"));
  }
  MutexGuard(MutexGuard&&) = default;
  ~MutexGuard() {
    // Explicit unlock: a child forked in the meantime shares the open file description, so a mere
    // close would leave the mutex locked.
    if (fd_.valid()) ::flock(fd_.get(), LOCK_UN);
  }

 private:
  static constexpr std::chrono::milliseconds kLongestPause{16};

  explicit MutexGuard(os::UniqueFd fd) : fd_(std::move(fd)) {}

  os::UniqueFd fd_;
};

// The jobs that have a file in the folder. The caller must hold the mutex.
absl::StatusOr<std::set<std::string>> JobIdsIn(const std::string& folder) {
  DIR* const stream = ::opendir(folder.c_str());
  if (stream == nullptr) return os::ErrnoError(errno, folder);
  std::set<std::string> job_ids;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    for (const char* suffix : {kLockSuffix, kClaimSuffix}) {
      if (std::string job_id = JobIdOf(name, suffix); !job_id.empty()) job_ids.insert(job_id);
    }
    if (IsTemporary(name)) {
      // Claims are written under the mutex, which this process holds now, so the writer of this
      // temporary file died half-way.
      LogDebug("a half-written claim is removed", {{"name", name}});
      ::unlink(absl::StrCat(folder, "/", name).c_str());
    }
  }
  ::closedir(stream);
  return job_ids;
}

// Whether some process holds the job's lock. The caller must hold the mutex.
absl::StatusOr<bool> IsAlive(const std::string& folder, const std::string& job_id) {
  const std::string path = PathOf(folder, job_id, kLockSuffix);
  const os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return false;
  if (!fd.valid()) return os::ErrnoError(errno, path);
  TONY_ASSIGN_OR_RETURN(const bool locked, TryLock(fd.get(), path));
  return !locked;
}

// Removes a job's files. The caller must hold the mutex. The claim is removed first, because a lock
// file without a claim is also taken for dead.
void Remove(const std::string& folder, const std::string& job_id) {
  ::unlink(PathOf(folder, job_id, kClaimSuffix).c_str());
  ::unlink(PathOf(folder, job_id, kLockSuffix).c_str());
}

// NotFound – the job has no claim. Any other code – the claim is unreadable.
absl::StatusOr<core::Claim> ReadClaim(const std::string& folder, const std::string& job_id) {
  TONY_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(PathOf(folder, job_id, kClaimSuffix)));
  TONY_ASSIGN_OR_RETURN(core::Claim claim, ClaimFromJson(text));
  if (claim.job_id != job_id) return absl::InvalidArgumentError("it is of another job");
  return claim;
}

void SetAside(const std::string& path, const absl::Status& reason) {
  const std::string aside = path + kCorruptSuffix;
  const bool moved = ::rename(path.c_str(), aside.c_str()) == 0;
  LogWarning(absl::StrCat("the ledger's claim ", path, " cannot be read (",
                          std::string(reason.message()), "); ",
                          moved ? "it was moved to " + aside : "it could not be moved either",
                          ". What its job holds is not counted until that job changes its claim"));
}

bool IsNetworkFileSystem(const std::string& folder) {
  struct statfs info {};
  if (::statfs(folder.c_str(), &info) != 0) return false;
  const auto type = static_cast<uint32_t>(info.f_type);
  return type == NFS_SUPER_MAGIC || type == SMB_SUPER_MAGIC || type == CIFS_SUPER_MAGIC ||
         type == SMB2_SUPER_MAGIC;
}

}  // namespace

absl::StatusOr<Ledger> Ledger::Open(const std::string& folder, Duration limit) {
  TONY_RETURN_IF_ERROR(os::OpenOrMakeOwnFolder(folder).status());
  if (IsNetworkFileSystem(folder)) {
    return absl::FailedPreconditionError(absl::StrCat(
        folder,
        " is on a network file system, where other machines' jobs would be taken for this "
        "one's: set tony.local.dir to a folder on a local disk"));
  }
  return Ledger(folder, limit);
}

bool Ledger::IsOwnFile(const os::FolderHandle& folder, const std::string& name) {
  const bool is_ours = name == kMutexName || IsTemporary(name) ||
                       !JobIdOf(name, kLockSuffix).empty() ||
                       !JobIdOf(name, kClaimSuffix).empty() ||
                       !JobIdOf(name, absl::StrCat(kClaimSuffix, kCorruptSuffix)).empty();
  return is_ours && folder.HasOwnFile(name);
}

absl::StatusOr<std::vector<core::Claim>> Ledger::Claims() const {
  TONY_ASSIGN_OR_RETURN(const MutexGuard guard, MutexGuard::Lock(folder_, limit_));
  return ReadClaims();
}

absl::StatusOr<std::vector<core::Claim>> Ledger::ReadClaims() const {
  TONY_ASSIGN_OR_RETURN(const std::set<std::string> job_ids, JobIdsIn(folder_));
  std::vector<core::Claim> claims;
  for (const std::string& job_id : job_ids) {
    TONY_ASSIGN_OR_RETURN(const bool alive, IsAlive(folder_, job_id));
    if (!alive) {
      LogDebug("the claim of a dead job is removed", {{"job", job_id}});
      Remove(folder_, job_id);
      continue;
    }
    absl::StatusOr<core::Claim> claim = ReadClaim(folder_, job_id);
    if (claim.ok()) {
      claims.push_back(std::move(claim).value());
    } else if (!absl::IsNotFound(claim.status())) {  // NotFound: nothing held or wanted yet
      SetAside(PathOf(folder_, job_id, kClaimSuffix), claim.status());
    }
  }
  std::sort(claims.begin(), claims.end(), [](const core::Claim& left, const core::Claim& right) {
    return left.ticket < right.ticket;
  });
  return claims;
}

absl::StatusOr<std::unique_ptr<LedgerClaim>> LedgerClaim::Open(const Ledger& ledger,
                                                               const std::string& job_id) {
  if (!storage::IsLocalJobId(job_id)) {
    return absl::InvalidArgumentError(absl::StrCat(os::Quoted(job_id), " is no job's id"));
  }
  TONY_ASSIGN_OR_RETURN(const MutexGuard guard, MutexGuard::Lock(ledger.folder_, ledger.limit_));
  const std::string path = PathOf(ledger.folder_, job_id, kLockSuffix);
  // The file is opened for writing, so that inotify announces its close (IN_CLOSE_WRITE) to the
  // waiting jobs when the last holder dies.
  TONY_ASSIGN_OR_RETURN(os::UniqueFd fd, OpenLock(path, O_RDWR));
  TONY_ASSIGN_OR_RETURN(const bool nobody_lives, TryLock(fd.get(), path));
  // Converting a flock is not atomic: the kernel releases it for a moment. No other process can
  // take it then, because this one holds the mutex.
  TONY_ASSIGN_OR_RETURN(const bool shared, TryLock(fd.get(), path, LOCK_SH));
  if (!shared) return absl::UnavailableError(absl::StrCat(path, " is locked by a stranger"));
  core::Claim claim{.job_id = job_id};
  if (nobody_lives) {
    ::unlink(PathOf(ledger.folder_, job_id, kClaimSuffix).c_str());  // the claim of a dead job
    LogDebug("the ledger has a new claim", {{"job", job_id}});
  } else if (absl::StatusOr<core::Claim> held = ReadClaim(ledger.folder_, job_id); held.ok()) {
    claim = std::move(held).value();
  } else if (!absl::IsNotFound(held.status())) {
    SetAside(PathOf(ledger.folder_, job_id, kClaimSuffix), held.status());
  }
  claim.pid = ::getpid();
  return std::unique_ptr<LedgerClaim>(new LedgerClaim(ledger, std::move(claim), std::move(fd)));
}

LedgerClaim::~LedgerClaim() {
  const absl::StatusOr<MutexGuard> guard = MutexGuard::Lock(ledger_.folder_, ledger_.limit_);
  lock_fd_.Reset();
  if (!guard.ok()) return;  // the claim is dead now; the next process that sees it removes it
  const absl::StatusOr<bool> alive = IsAlive(ledger_.folder_, claim_.job_id);
  if (!alive.ok()) return;
  if (!*alive) {
    Remove(ledger_.folder_, claim_.job_id);
  } else if (!claim_.wanted.empty()) {
    core::Claim held_only = claim_;
    held_only.wanted.clear();
    if (const absl::Status status = Replace(std::move(held_only)); !status.ok()) {
      LogWarning(absl::StrCat("cannot leave the queue: ", std::string(status.message())));
    }
  }
}

absl::Status LedgerClaim::Replace(core::Claim claim) {
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(PathOf(ledger_.folder_, claim.job_id, kClaimSuffix),
                                               ClaimToJson(claim), 0600));
  claim_ = std::move(claim);
  return absl::OkStatus();
}

absl::Status LedgerClaim::Want(const std::vector<core::ContainerRequest>& wanted) {
  TONY_ASSIGN_OR_RETURN(const MutexGuard guard, MutexGuard::Lock(ledger_.folder_, ledger_.limit_));
  TONY_ASSIGN_OR_RETURN(const std::vector<core::Claim> claims, ledger_.ReadClaims());
  core::Claim claim = claim_;
  claim.wanted = wanted;
  claim.ticket = claims.empty() ? 1 : claims.back().ticket + 1;
  return Replace(std::move(claim));
}

absl::StatusOr<core::Admission> LedgerClaim::TryAdmit(const core::Capacity& capacity) {
  TONY_ASSIGN_OR_RETURN(const MutexGuard guard, MutexGuard::Lock(ledger_.folder_, ledger_.limit_));
  TONY_ASSIGN_OR_RETURN(std::vector<core::Claim> others, ledger_.ReadClaims());
  std::erase_if(others, [this](const core::Claim& claim) { return claim.job_id == claim_.job_id; });
  core::Admission admission = core::Admit(capacity, claim_, others);
  if (const auto* admitted = std::get_if<core::Admitted>(&admission)) {
    core::Claim claim = claim_;
    claim.wanted.clear();
    claim.held.insert(claim.held.end(), admitted->containers.begin(), admitted->containers.end());
    TONY_RETURN_IF_ERROR(Replace(std::move(claim)));
  }
  return admission;
}

absl::Status LedgerClaim::GiveBack(const std::vector<core::Grant>& grants) {
  TONY_ASSIGN_OR_RETURN(const MutexGuard guard, MutexGuard::Lock(ledger_.folder_, ledger_.limit_));
  core::Claim claim = claim_;
  for (const core::Grant& grant : grants) {
    const auto found = std::find(claim.held.begin(), claim.held.end(), grant);
    if (found != claim.held.end()) claim.held.erase(found);
  }
  return Replace(std::move(claim));
}

absl::Status LedgerClaim::Cancel() {
  if (claim_.wanted.empty()) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const MutexGuard guard, MutexGuard::Lock(ledger_.folder_, ledger_.limit_));
  core::Claim claim = claim_;
  claim.wanted.clear();
  return Replace(std::move(claim));
}

}  // namespace tony::backend
