// Everything goes through the folder's descriptor. Another user may put anything into a folder of
// theirs (links, pipes, huge files), so files are opened without following or blocking, and read
// only up to a limit.
#include "backend/local/claim_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backend/local/claim_json.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "storage/job_proof.h"

namespace tony::backend {
namespace {

constexpr char kLockSuffix[] = ".lock";
constexpr char kClaimSuffix[] = ".json";
constexpr char kCorruptSuffix[] = ".corrupt";
/// The file that earlier versions locked instead of the folder.
constexpr char kFormerMutexName[] = "mutex";
/// The pattern of the temporary names of FolderHandle::ReplaceFile().
constexpr char kTemporaryForm[] = ".tony-XXXXXX";
constexpr mode_t kReadableForAll = 0644;
/// The claim of a job with 10,000 tasks has 1 MB.
constexpr size_t kMaxClaimBytes = 16 << 20;
/// A job has a lock file for each ApplicationMaster that still has a living executor.
constexpr int kMaxLocks = 1000;
/// Bounds the work that another user can cause. This user's own claims are all read.
constexpr size_t kMaxForeignJobs = 1000;

/// The id of the job to which the file `name` belongs, by the name's form; empty if it belongs to
/// none.
std::string JobIdOf(const std::string& name, const std::string& suffix) {
  if (!absl::EndsWith(name, suffix)) return "";
  const std::string job_id = name.substr(0, name.size() - suffix.size());
  return storage::IsLocalJobId(job_id) ? job_id : "";
}

/// The same for a lock file: "JOB.lock" or "JOB.7.lock".
std::string JobIdOfLock(const std::string& name) {
  if (std::string job_id = JobIdOf(name, kLockSuffix); !job_id.empty()) return job_id;
  if (!absl::EndsWith(name, kLockSuffix)) return "";
  const std::string numbered = name.substr(0, name.size() - (sizeof(kLockSuffix) - 1));
  const size_t dot = numbered.rfind('.');
  int number = 0;
  const bool is_lock = dot != std::string::npos &&
                       absl::SimpleAtoi(numbered.substr(dot + 1), &number) && number > 1 &&
                       storage::IsLocalJobId(numbered.substr(0, dot));
  return is_lock ? numbered.substr(0, dot) : "";
}

std::string LockName(const std::string& job_id, int number) {
  return number == 1 ? absl::StrCat(job_id, kLockSuffix)
                     : absl::StrCat(job_id, ".", number, kLockSuffix);
}

/// Whether `name` is a temporary file to which a claim was being written.
bool IsTemporary(const std::string& name) {
  return std::equal(name.begin(), name.end(), std::begin(kTemporaryForm),
                    std::end(kTemporaryForm) - 1, [](char letter, char form) {
                      return form == 'X' ? absl::ascii_isalnum(static_cast<unsigned char>(letter))
                                         : letter == form;
                    });
}

}  // namespace

ClaimFolder::ClaimFolder(os::FolderHandle folder, Readers readers)
    : folder_(std::move(folder)), owner_(geteuid()), readers_(readers) {}

ClaimFolder::ClaimFolder(os::FolderHandle folder, uint32_t owner, std::string user)
    : folder_(std::move(folder)), owner_(owner), user_(std::move(user)) {}

absl::StatusOr<std::map<std::string, ClaimFolder::Locks>> ClaimFolder::Jobs() const {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, folder_.List());
  std::map<std::string, Locks> jobs;
  for (const std::string& name : names) {
    if (!user_.empty() && jobs.size() >= kMaxForeignJobs) break;
    if (const std::string job_id = JobIdOfLock(name); !job_id.empty()) jobs[job_id].insert(name);
    if (const std::string job_id = JobIdOf(name, kClaimSuffix); !job_id.empty()) jobs[job_id];
    if (user_.empty() && IsTemporary(name)) {
      // Claims are written under the mutex, which this process holds now, so the writer of this
      // temporary file died half-way.
      LogDebug("a half-written claim is removed", {{"name", name}});
      unlinkat(folder_.fd(), name.c_str(), 0);
    }
  }
  return jobs;
}

absl::StatusOr<std::vector<core::Claim>> ClaimFolder::Claims() const {
  TONY_ASSIGN_OR_RETURN(const auto jobs, Jobs());
  std::vector<core::Claim> claims;
  for (const auto& [job_id, locks] : jobs) {
    if (!IsAlive(locks)) {
      if (user_.empty()) {
        LogDebug("the claim of a dead job is removed", {{"job", job_id}});
        Remove(job_id, locks);
      }
      continue;
    }
    absl::StatusOr<core::Claim> claim = Read(job_id);
    if (claim.ok()) claims.push_back(std::move(claim).value());
  }
  return claims;
}

absl::StatusOr<ClaimFolder::Locks> ClaimFolder::LocksOf(const std::string& job_id) const {
  TONY_ASSIGN_OR_RETURN(auto jobs, Jobs());
  return std::move(jobs[job_id]);
}

bool ClaimFolder::IsAlive(const Locks& locks) const {
  return std::any_of(locks.begin(), locks.end(),
                     [this](const std::string& lock) { return IsLocked(lock); });
}

bool ClaimFolder::IsLocked(const std::string& lock) const {
  const absl::StatusOr<os::UniqueFd> file = OpenFile(lock);
  if (!file.ok()) return false;
  // Asking for a read lock finds write locks only.
  struct flock found {};
  found.l_type = F_RDLCK;
  found.l_whence = SEEK_SET;
  return fcntl(file->get(), F_OFD_GETLK, &found) == 0 && found.l_type == F_WRLCK;
}

absl::StatusOr<os::UniqueFd> ClaimFolder::Lock(const std::string& job_id) const {
  for (int number = 1; number <= kMaxLocks; ++number) {
    const std::string name = LockName(job_id, number);
    if (IsLocked(name)) continue;
    unlinkat(folder_.fd(), name.c_str(), 0);
    // A file opened for writing: inotify then announces its close (IN_CLOSE_WRITE) to the waiting
    // jobs when the last holder dies.
    TONY_ASSIGN_OR_RETURN(os::UniqueFd file, folder_.MakeFile(name));
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    const bool locked = fcntl(file.get(), F_OFD_SETLK, &whole) == 0;
    if (!locked || (readers_ == Readers::kAll && fchmod(file.get(), kReadableForAll) != 0)) {
      return os::ErrnoError(errno, folder_.PathOf(name));
    }
    return file;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("job ", job_id, " has ", kMaxLocks, " lock files in ", path()));
}

absl::StatusOr<os::UniqueFd> ClaimFolder::OpenFile(const std::string& name) const {
  os::UniqueFd file(
      openat(folder_.fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return os::ErrnoError(errno, folder_.PathOf(name));
  struct stat info {};
  // A file with a second name could be one that its owner keeps elsewhere for another purpose.
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != owner_ ||
      info.st_nlink != 1) {
    return absl::NotFoundError(absl::StrCat(folder_.PathOf(name), " is no file of the ledger"));
  }
  return file;
}

absl::StatusOr<core::Claim> ClaimFolder::Parse(const std::string& job_id) const {
  const std::string name = absl::StrCat(job_id, kClaimSuffix);
  TONY_ASSIGN_OR_RETURN(const os::UniqueFd file, OpenFile(name));
  TONY_ASSIGN_OR_RETURN(const std::string text,
                        os::ReadAtMost(file.get(), kMaxClaimBytes, folder_.PathOf(name)));
  TONY_ASSIGN_OR_RETURN(core::Claim claim, ClaimFromJson(text));
  if (claim.job_id != job_id) return absl::InvalidArgumentError("it is of another job");
  claim.user = user_;
  return claim;
}

absl::StatusOr<core::Claim> ClaimFolder::Read(const std::string& job_id) const {
  absl::StatusOr<core::Claim> claim = Parse(job_id);
  if (claim.ok() || absl::IsNotFound(claim.status())) return claim;
  if (!user_.empty()) {
    LogDebug("another user's claim cannot be read and does not count",
             {{"job", job_id}, {"user", user_}, {"why", claim.status().message()}});
    return claim;
  }
  const std::string name = absl::StrCat(job_id, kClaimSuffix);
  const std::string aside = name + kCorruptSuffix;
  const bool moved = folder_.Rename(name, aside).ok();
  LogWarning(absl::StrCat(
      "the ledger's claim ", folder_.PathOf(name), " cannot be read (",
      std::string(claim.status().message()), "); ",
      moved ? "it was moved to " + folder_.PathOf(aside) : "it could not be moved either",
      ". What its job holds is not counted until that job changes its claim"));
  return claim;
}

absl::Status ClaimFolder::Write(const core::Claim& claim) const {
  return folder_.ReplaceFile(absl::StrCat(claim.job_id, kClaimSuffix), ClaimToJson(claim),
                             readers_ == Readers::kAll ? kReadableForAll : 0600);
}

void ClaimFolder::RemoveClaim(const std::string& job_id) const {
  unlinkat(folder_.fd(), absl::StrCat(job_id, kClaimSuffix).c_str(), 0);
}

void ClaimFolder::Remove(const std::string& job_id, const Locks& locks) const {
  // The claim goes first: a process that dies in between leaves lock files without a claim, which
  // are taken for dead.
  RemoveClaim(job_id);
  for (const std::string& lock : locks) unlinkat(folder_.fd(), lock.c_str(), 0);
}

bool ClaimFolder::IsOwnFile(const os::FolderHandle& folder, const std::string& name) {
  const bool is_ours = name == kFormerMutexName || IsTemporary(name) ||
                       !JobIdOfLock(name).empty() || !JobIdOf(name, kClaimSuffix).empty() ||
                       !JobIdOf(name, absl::StrCat(kClaimSuffix, kCorruptSuffix)).empty();
  return is_ours && folder.HasOwnFile(name);
}

}  // namespace tony::backend
