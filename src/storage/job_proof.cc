// Two independent marks are required, the form of the name and a file that only tony makes. The
// folder is opened without following links, and the files are tested relative to it.
#include "storage/job_proof.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "storage/job_folder.h"

namespace tony::storage {
namespace {

/// Letters of kLocalForm: a digit of the date and time, and a digit of the random number behind it.
constexpr char kDecimal = 'd';
constexpr char kHexadecimal = 'x';
constexpr absl::string_view kLocalForm = "local-dddddddd-dddddd-xxxx";

bool Fits(char letter, char form) {
  if (form == kDecimal) return absl::ascii_isdigit(static_cast<unsigned char>(letter));
  if (form != kHexadecimal) return letter == form;
  return absl::ascii_isdigit(static_cast<unsigned char>(letter)) ||
         (letter >= 'a' && letter <= 'f');
}

bool IsNumber(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

/// Names in a JobFolder. kProofs are there from the job's first moment to its last, and any one of
/// them is proof; kOthers may be there, too.
constexpr const char* kProofs[] = {"am.guard", "am.lock", "job.xml", "staged.json", "events.jsonl"};
constexpr const char* kOthers[] = {"am.address",   "usage.jsonl", "metrics.bin", "metrics.bin.new",
                                   "summary.json", "secrets",     "archives",    "cache",
                                   "containers",   "logs",        "checkpoints", "journal"};
/// Prefix of files that are being written or removed (os/files/files.h).
constexpr absl::string_view kUnfinished = ".tony-";

bool IsJobFile(const std::string& name) {
  return std::find(std::begin(kProofs), std::end(kProofs), name) != std::end(kProofs) ||
         std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers) ||
         absl::StartsWith(name, kUnfinished);
}

bool HasOnlyJobFiles(const os::FolderHandle& folder) {
  const absl::StatusOr<std::vector<std::string>> names = folder.List();
  return names.ok() && std::all_of(names->begin(), names->end(), IsJobFile);
}

bool HasProof(const os::FolderHandle& folder) {
  return std::any_of(std::begin(kProofs), std::end(kProofs),
                     [&](const char* file) { return folder.HasOwnFile(file); });
}

/// Opens the folder `name`, if that is a job's name, with a dot before it while the folder is being
/// made.
absl::StatusOr<os::FolderHandle> OpenByJobName(const os::FolderHandle& jobs,
                                               const std::string& name) {
  if (IsJobName(std::string(absl::StripPrefix(name, ".")))) return jobs.Open(name);
  return absl::InvalidArgumentError(absl::StrCat(os::Quoted(name), " is no job's name"));
}

}  // namespace

bool IsLocalJobId(absl::string_view name) {
  return std::equal(name.begin(), name.end(), kLocalForm.begin(), kLocalForm.end(), Fits);
}

bool IsJobName(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '_');
  const bool is_application =
      parts.size() == 3 && parts[0] == "application" && IsNumber(parts[1]) && IsNumber(parts[2]);
  return is_application || IsLocalJobId(name);
}

bool IsJobFolder(const os::FolderHandle& jobs, const std::string& name) {
  const absl::StatusOr<os::FolderHandle> folder = OpenByJobName(jobs, name);
  return folder.ok() && HasProof(*folder);
}

bool IsJobOrItsRest(const os::FolderHandle& jobs, const std::string& name) {
  const absl::StatusOr<os::FolderHandle> folder = OpenByJobName(jobs, name);
  return folder.ok() && (HasProof(*folder) || HasOnlyJobFiles(*folder));
}

absl::Status RemoveJobFolder(const os::FolderHandle& jobs, const std::string& name) {
  const JobFolder job(jobs.PathOf(name));
  TONY_RETURN_IF_ERROR(os::RemoveTree(job.secrets()));
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle folder, jobs.Open(name));
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, folder.List());
  absl::Status first;
  for (const std::string& file : names) {
    const std::string path = folder.PathOf(file);
    if (path != job.am_guard()) first.Update(os::RemoveTree(path));
  }
  TONY_RETURN_IF_ERROR(first);
  return os::RemoveTree(job.root());
}

}  // namespace tony::storage
