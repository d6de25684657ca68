// File locks tell which jobs live; JSON files tell what they hold. One mutex serializes all
// operations on a ledger.
#include "backend/local/ledger.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backend/local/ledger_mutex.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"
#include "os/files/user_names.h"
#include "storage/job_proof.h"

namespace tony::backend {
namespace {

constexpr mode_t kSharedFolderMode = 0755;
/// A user makes a second sub-folder only where a stranger has taken the first name.
constexpr int kMaxFoldersOfUser = 9;

bool IsNetworkFileSystem(const os::FolderHandle& folder) {
  struct statfs info {};
  if (fstatfs(folder.fd(), &info) != 0) return false;
  const auto type = static_cast<uint32_t>(info.f_type);
  return type == NFS_SUPER_MAGIC || type == SMB_SUPER_MAGIC || type == CIFS_SUPER_MAGIC ||
         type == SMB2_SUPER_MAGIC;
}

/// The name of a user's sub-folder: "1001" or, for a number above 1, "1001-2".
std::string FolderName(uid_t user, int number) {
  return number == 1 ? std::to_string(user) : absl::StrCat(user, "-", number);
}

/// The user whose sub-folder may have this name.
std::optional<uid_t> UserOf(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '-');
  uint32_t user = 0;
  int number = 1;
  const bool fits = parts.size() <= 2 && absl::SimpleAtoi(parts[0], &user) &&
                    (parts.size() == 1 || absl::SimpleAtoi(parts[1], &number)) && number >= 1 &&
                    number <= kMaxFoldersOfUser && name == FolderName(user, number);
  return fits ? std::optional<uid_t>(user) : std::nullopt;
}

/// Opens this user's sub-folder of a shared ledger; makes it if there is none.
absl::StatusOr<os::FolderHandle> OpenOwn(const os::FolderHandle& shared) {
  for (int number = 1; number <= kMaxFoldersOfUser; ++number) {
    const std::string name = FolderName(geteuid(), number);
    absl::StatusOr<os::FolderHandle> folder = shared.OpenOrMake(name);
    if (folder.ok() && fchmod(folder->fd(), kSharedFolderMode) != 0) {
      return os::ErrnoError(errno, folder->path());
    }
    const bool taken =
        absl::IsPermissionDenied(folder.status()) || absl::IsFailedPrecondition(folder.status());
    struct stat info {};
    const bool is_there = fstatat(shared.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!taken || !is_there) return folder;
    LogWarning("another user has taken a name in the machine's ledger",
               {{"path", shared.PathOf(name)}, {"user", os::UserName(info.st_uid)}});
  }
  return absl::PermissionDeniedError(
      absl::StrCat("all names for this user's claims in ", shared.path(),
                   " belong to other users; an administrator has to remove ",
                   FolderName(geteuid(), 1), " and those that follow"));
}

absl::StatusOr<os::FolderHandle> OpenShared(const std::string& path) {
  const absl::Status fit = os::CheckFolder(path);
  if (absl::IsNotFound(fit)) {
    return absl::NotFoundError(absl::StrCat(
        os::Quoted(path), " (tony.local.ledger) does not exist; an administrator makes it with ",
        "`sudo install -d -m 1777 ", path, "`, or set the key to private"));
  }
  TONY_RETURN_IF_ERROR(fit);
  os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return os::ErrnoError(errno, absl::StrCat("cannot open ", os::Quoted(path)));
  return os::FolderHandle(std::move(fd), path);
}

}  // namespace

absl::StatusOr<Ledger> Ledger::Open(const Options& options) {
  const bool shared = options.kind == Kind::kShared;
  TONY_ASSIGN_OR_RETURN(os::FolderHandle opened, shared ? OpenShared(options.folder)
                                                        : os::OpenOrMakeOwnFolder(options.folder));
  const auto folder = std::make_shared<const os::FolderHandle>(std::move(opened));
  if (IsNetworkFileSystem(*folder)) {
    return absl::FailedPreconditionError(absl::StrCat(
        options.folder,
        " is on a network file system, where other machines' jobs would be taken for "
        "this one's: set ",
        shared ? "tony.local.ledger" : "tony.local.dir", " to a folder on a local disk"));
  }
  TONY_ASSIGN_OR_RETURN(os::FolderHandle own,
                        shared ? OpenOwn(*folder) : os::OpenOrMakeOwnFolder(options.folder));
  return Ledger(
      options, folder,
      std::make_shared<const ClaimFolder>(
          std::move(own), shared ? ClaimFolder::Readers::kAll : ClaimFolder::Readers::kOwner));
}

absl::StatusOr<std::vector<core::Claim>> Ledger::Claims() const {
  TONY_ASSIGN_OR_RETURN(const LedgerMutex mutex, LedgerMutex::Lock(*folder_, options_.limit));
  return ReadClaims();
}

absl::StatusOr<std::vector<ClaimFolder>> Ledger::Others() const {
  if (options_.kind == Kind::kPrivate) return std::vector<ClaimFolder>();
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, folder_->List());
  std::vector<ClaimFolder> others;
  for (const std::string& name : names) {
    const std::optional<uid_t> user = UserOf(name);
    if (!user || *user == geteuid()) continue;
    os::UniqueFd fd(
        openat(folder_->fd(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!fd.valid() || fstat(fd.get(), &info) != 0 || info.st_uid != *user) {
      LogDebug("a folder in the machine's ledger does not count: its owner is another user",
               {{"path", folder_->PathOf(name)}});
      continue;
    }
    others.emplace_back(os::FolderHandle(std::move(fd), folder_->PathOf(name)), *user,
                        os::UserName(*user));
  }
  return others;
}

std::vector<std::string> Ledger::WatchedFolders() const {
  std::vector<std::string> paths = {own_->path()};
  for (const ClaimFolder& other : Others().value_or(std::vector<ClaimFolder>())) {
    paths.push_back(other.path());
  }
  return paths;
}

core::Limits Ledger::LimitsOf(const std::string& user) const {
  if (options_.kind == Kind::kPrivate || options_.limits_of == nullptr) return {};
  const auto found = limits_.find(user);
  if (found != limits_.end()) return found->second;
  return limits_.emplace(user, options_.limits_of(user)).first->second;
}

absl::StatusOr<std::vector<core::Claim>> Ledger::ReadClaims() const {
  TONY_ASSIGN_OR_RETURN(std::vector<core::Claim> claims, own_->Claims());
  TONY_ASSIGN_OR_RETURN(const std::vector<ClaimFolder> others, Others());
  for (const ClaimFolder& other : others) {
    absl::StatusOr<std::vector<core::Claim>> more = other.Claims();
    if (!more.ok()) continue;  // the folder has just been removed
    for (core::Claim& claim : *more) claim.limits = LimitsOf(claim.user);
    std::move(more->begin(), more->end(), std::back_inserter(claims));
  }
  // Job ids of two users may be equal, and so may tickets that a stranger made up.
  std::sort(claims.begin(), claims.end(), [](const core::Claim& left, const core::Claim& right) {
    return std::tie(left.ticket, left.job_id, left.user) <
           std::tie(right.ticket, right.job_id, right.user);
  });
  return claims;
}

absl::StatusOr<std::unique_ptr<LedgerClaim>> LedgerClaim::Open(const Ledger& ledger,
                                                               const std::string& job_id) {
  if (!storage::IsLocalJobId(job_id)) {
    return absl::InvalidArgumentError(absl::StrCat(os::Quoted(job_id), " is no job's id"));
  }
  TONY_ASSIGN_OR_RETURN(const LedgerMutex mutex,
                        LedgerMutex::Lock(*ledger.folder_, ledger.options_.limit));
  TONY_ASSIGN_OR_RETURN(const ClaimFolder::Locks locks, ledger.own_->LocksOf(job_id));
  core::Claim claim{.job_id = job_id};
  if (!ledger.own_->IsAlive(locks)) {
    ledger.own_->Remove(job_id, locks);  // the claim of a dead job
    LogDebug("the ledger has a new claim", {{"job", job_id}});
  } else if (absl::StatusOr<core::Claim> held = ledger.own_->Read(job_id); held.ok()) {
    claim = std::move(held).value();
  }
  TONY_ASSIGN_OR_RETURN(os::UniqueFd lock, ledger.own_->Lock(job_id));
  claim.pid = ::getpid();
  claim.limits = ledger.LimitsOf(os::UserName(geteuid()));
  return std::unique_ptr<LedgerClaim>(new LedgerClaim(ledger, std::move(claim), std::move(lock)));
}

LedgerClaim::~LedgerClaim() {
  const absl::StatusOr<LedgerMutex> mutex =
      LedgerMutex::Lock(*ledger_.folder_, ledger_.options_.limit);
  lock_fd_.Reset();
  if (!mutex.ok()) return;  // the claim is dead now; the next process that sees it removes it
  const absl::StatusOr<ClaimFolder::Locks> locks = ledger_.own_->LocksOf(claim_.job_id);
  if (!locks.ok()) return;
  if (!ledger_.own_->IsAlive(*locks)) {
    ledger_.own_->Remove(claim_.job_id, *locks);
  } else if (!claim_.wanted.empty()) {
    core::Claim held_only = claim_;
    held_only.wanted.clear();
    if (const absl::Status status = Replace(std::move(held_only)); !status.ok()) {
      LogWarning(absl::StrCat("cannot leave the queue: ", std::string(status.message())));
    }
  }
}

absl::Status LedgerClaim::Replace(core::Claim claim) {
  TONY_RETURN_IF_ERROR(ledger_.own_->Write(claim));
  claim_ = std::move(claim);
  return absl::OkStatus();
}

absl::Status LedgerClaim::Want(const std::vector<core::ContainerRequest>& wanted) {
  TONY_ASSIGN_OR_RETURN(const LedgerMutex mutex,
                        LedgerMutex::Lock(*ledger_.folder_, ledger_.options_.limit));
  TONY_ASSIGN_OR_RETURN(const std::vector<core::Claim> claims, ledger_.ReadClaims());
  core::Claim claim = claim_;
  claim.wanted = wanted;
  claim.ticket = claims.empty() ? 1 : std::min(claims.back().ticket + 1, core::kMostTicket);
  return Replace(std::move(claim));
}

absl::StatusOr<core::Admission> LedgerClaim::TryAdmit(const core::Capacity& capacity) {
  TONY_ASSIGN_OR_RETURN(const LedgerMutex mutex,
                        LedgerMutex::Lock(*ledger_.folder_, ledger_.options_.limit));
  TONY_ASSIGN_OR_RETURN(std::vector<core::Claim> others, ledger_.ReadClaims());
  std::erase_if(others, [this](const core::Claim& claim) {
    return claim.job_id == claim_.job_id && claim.user.empty();
  });
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
  TONY_ASSIGN_OR_RETURN(const LedgerMutex mutex,
                        LedgerMutex::Lock(*ledger_.folder_, ledger_.options_.limit));
  core::Claim claim = claim_;
  for (const core::Grant& grant : grants) {
    const auto found = std::find(claim.held.begin(), claim.held.end(), grant);
    if (found != claim.held.end()) claim.held.erase(found);
  }
  return Replace(std::move(claim));
}

absl::Status LedgerClaim::Cancel() {
  if (claim_.wanted.empty()) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const LedgerMutex mutex,
                        LedgerMutex::Lock(*ledger_.folder_, ledger_.options_.limit));
  core::Claim claim = claim_;
  claim.wanted.clear();
  return Replace(std::move(claim));
}

}  // namespace tony::backend
