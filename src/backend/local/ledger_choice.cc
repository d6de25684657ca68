// The record is one line: the path of the ledger's folder. Its kind follows from the path.
#include "backend/local/ledger_choice.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/user_names.h"
#include "os/processes/process_owners.h"

namespace tony::backend {
namespace {

Ledger::Options OptionsFor(const std::string& path, const std::string& local_dir) {
  const bool is_private = path == storage::LedgerFolder(local_dir);
  return {.folder = path, .kind = is_private ? Ledger::Kind::kPrivate : Ledger::Kind::kShared};
}

Ledger::Options OptionsFor(const std::string& path, const jobfile::LocalSettings& settings) {
  Ledger::Options options = OptionsFor(path, settings.dir);
  options.limit = settings.ledger_timeout;
  options.limits_of = [settings](const std::string& user) {
    return core::Limits{.memory_mb = settings.user_memory_mb.Of(user, os::GroupsOf),
                        .vcores = settings.user_vcores.Of(user, os::GroupsOf),
                        .gpus = settings.user_gpus.Of(user, os::GroupsOf)};
  };
  return options;
}

bool IsFolder(const std::string& path) {
  std::error_code unreadable;
  return std::filesystem::is_directory(path, unreadable);
}

}  // namespace

Ledger::Options LedgerOfNewJobs(const jobfile::LocalSettings& settings) {
  const bool shared =
      !settings.ledger.empty() && (settings.needs_ledger || IsFolder(settings.ledger));
  return OptionsFor(shared ? settings.ledger : storage::LedgerFolder(settings.dir), settings);
}

absl::StatusOr<Ledger::Options> ChooseLedger(const jobfile::LocalSettings& settings,
                                             const storage::JobFolder& folder) {
  const absl::StatusOr<std::string> recorded = os::ReadFile(folder.ledger());
  if (recorded.ok()) return OptionsFor(*recorded, settings);
  Ledger::Options options = LedgerOfNewJobs(settings);
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(folder.ledger(), options.folder));
  LogDebug("the job's share is recorded in a ledger",
           {{"path", options.folder}, {"shared", options.kind == Ledger::Kind::kShared}});
  return options;
}

Ledger::Options RecordedLedger(const storage::JobFolder& folder) {
  const std::string local_dir = storage::LocalDir(folder);
  return OptionsFor(os::ReadFile(folder.ledger()).value_or(storage::LedgerFolder(local_dir)),
                    local_dir);
}

std::string UnseenJobsNote(const jobfile::LocalSettings& settings, const Ledger::Options& options) {
  if (options.kind == Ledger::Kind::kShared || settings.ledger.empty()) return "";
  const std::string somebody = os::AnotherPerson();
  if (somebody.empty()) return "";
  return absl::StrCat("jobs of other users of this machine (", somebody,
                      " uses it now) are not seen, and may be given the same GPUs and memory. An "
                      "administrator changes that: sudo install -d -m 1777 ",
                      settings.ledger);
}

std::vector<std::string> ForeignGpuNotes(const core::Capacity& capacity,
                                         const Ledger::Options& options) {
  std::vector<std::string> notes;
  if (capacity.gpu_users.empty()) return notes;
  std::set<int> held;
  const absl::StatusOr<Ledger> ledger = Ledger::Open(options);
  const auto claims = ledger.ok() ? ledger->Claims() : ledger.status();
  // A ledger that cannot be read is an error of the job's first request, which says so.
  if (!claims.ok()) return notes;
  for (const core::Claim& claim : *claims) {
    for (const core::Grant& grant : claim.held) held.insert(grant.gpus.begin(), grant.gpus.end());
  }
  for (const auto& [gpu, user] : capacity.gpu_users) {
    if (held.contains(gpu)) continue;
    notes.push_back(absl::StrCat("GPU ", gpu, " is used by ", user,
                                 ", which belongs to no job that this one sees; this job may be "
                                 "given the GPU nevertheless"));
  }
  return notes;
}

}  // namespace tony::backend
