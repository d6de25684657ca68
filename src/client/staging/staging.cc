// The folder is made under a hidden name, locked, and renamed into place; only then is it filled.
// Every file is created relative to an open descriptor.
#include "client/staging/staging.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/jobs/local_folder.h"
#include "common/status_macros.h"
#include "core/model/master_task.h"
#include "jobfile/configuration/xml_writer.h"
#include "jobfile/values/paths.h"
#include "os/archives/archive_writer.h"
#include "os/archives/virtual_environment.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "os/files/folder_handle.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/security/credentials.h"
#include "storage/job_proof.h"
#include "tony/v1/staging.pb.h"

namespace tony::client {
namespace {

/// Name of the virtual environment in a working folder, as in TonY.
constexpr char kVenvName[] = "venv";

/// Whether `path` is a folder. A path that cannot be looked at counts as a file: copying it then
/// reports why.
bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Packs or copies what goes into the tasks' working folders, and lists it for the executors.
class Stager {
 public:
  Stager(const os::FolderHandle& job, const os::FolderHandle& archives)
      : job_(job), archives_(archives) {}

  absl::Status AddProgram(const std::string& source) {
    if (source.empty()) return absl::OkStatus();
    std::string digest;
    if (IsFolder(source)) {
      TONY_ASSIGN_OR_RETURN(digest, Pack(source, "program"));
    } else {
      TONY_RETURN_IF_ERROR(Copy(source, "program"));
    }
    Add(v1::Archive::PROGRAM, archives_.PathOf("program"), "", digest);
    return absl::OkStatus();
  }

  absl::Status AddVirtualEnvironment(const std::string& source) {
    if (source.empty()) return absl::OkStatus();
    const std::string path = archives_.PathOf("venv");
    TONY_ASSIGN_OR_RETURN(const os::PackSummary packed,
                          os::PackVirtualEnvironment(source, path, archives_.fd()));
    Add(v1::Archive::VIRTUAL_ENVIRONMENT, path, kVenvName, packed.digest);
    return absl::OkStatus();
  }

  /// Stages each source once, however many types ask for it.
  absl::Status AddFiles(const core::TaskType& type) {
    for (const core::ResourceEntry& file : type.files) {
      const std::string key = absl::StrCat(file.source, "\n", file.local_name, "\n", file.archive);
      auto [position, added] = entries_.try_emplace(key, staged_.entries_size());
      if (added) TONY_RETURN_IF_ERROR(AddFile(file));
      staged_.mutable_entries(position->second)->add_types(type.name);
    }
    return absl::OkStatus();
  }

  absl::Status Write() const {
    std::string json;
    const auto status = google::protobuf::util::MessageToJsonString(staged_, &json);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a staged path is not UTF-8, which is not supported: ", status.ToString()));
    }
    return job_.CreateFile(NameOf(storage::JobFolder("").staged()), json);
  }

 private:
  /// A folder arrives as a folder, as in TonY; so does an archive that is marked as one.
  absl::Status AddFile(const core::ResourceEntry& file) {
    const auto kind = file.archive ? v1::Archive::ARCHIVE : v1::Archive::FILE;
    if (!jobfile::UriScheme(file.source).empty()) {
      // The backend fetches a remote source, so only its address is noted.
      Add(kind, file.source, file.local_name, "");
      return absl::OkStatus();
    }
    const std::string name = absl::StrCat("resource-", staged_.entries_size());
    if (IsFolder(file.source)) {
      TONY_ASSIGN_OR_RETURN(const std::string digest, Pack(file.source, name));
      Add(v1::Archive::ARCHIVE, archives_.PathOf(name), file.local_name, digest);
      return absl::OkStatus();
    }
    TONY_RETURN_IF_ERROR(Copy(file.source, name));
    Add(kind, archives_.PathOf(name), file.local_name, "");
    return absl::OkStatus();
  }

  /// Returns the archive's digest.
  absl::StatusOr<std::string> Pack(const std::string& source, const std::string& name) {
    os::PackOptions options;
    options.archive_folder = archives_.fd();
    TONY_ASSIGN_OR_RETURN(const os::PackSummary packed,
                          os::PackFolder(source, archives_.PathOf(name), options));
    return packed.digest;
  }

  absl::Status Copy(const std::string& source, const std::string& name) {
    return Annotate(archives_.CopyFile(source, name), "cannot stage");
  }

  void Add(v1::Archive::Kind kind, const std::string& path, const std::string& name,
           const std::string& digest) {
    v1::Archive* archive = staged_.add_entries()->mutable_archive();
    archive->set_kind(kind);
    archive->set_path(path);
    archive->set_name(name);
    archive->set_digest(digest);
  }

  const os::FolderHandle& job_;
  const os::FolderHandle& archives_;
  v1::StagedFiles staged_;
  std::map<std::string, int> entries_;  ///< source, name and kind → position in staged_
};

absl::Status StageSecrets(const std::string& job_id, const os::FolderHandle& secrets) {
  const storage::JobFolder names("");
  TONY_ASSIGN_OR_RETURN(const rpc::CertificateAuthority authority,
                        rpc::CertificateAuthority::Create(job_id));
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials client, authority.Issue(rpc::ClientRole(job_id)));
  TONY_RETURN_IF_ERROR(secrets.CreateFile(NameOf(names.authority()), authority.ToPem()));
  return secrets.CreateFile(NameOf(names.client_credentials()), rpc::FormatCredentials(client));
}

absl::Status Fill(const jobfile::LoadedJob& job, const std::string& job_id,
                  const os::FolderHandle& folder) {
  const storage::JobFolder names("");
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle secrets, folder.Make(NameOf(names.secrets())));
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle archives, folder.Make(NameOf(names.archives())));
  TONY_RETURN_IF_ERROR(folder.Make(NameOf(names.logs())).status());
  // The secrets come first: making them sets OpenSSL up, which then digests the archives.
  TONY_RETURN_IF_ERROR(StageSecrets(job_id, secrets));
  TONY_RETURN_IF_ERROR(
      folder.CreateFile(NameOf(names.job_xml()), jobfile::WriteXml(job.configuration)));
  Stager stager(folder, archives);
  TONY_RETURN_IF_ERROR(stager.AddProgram(job.result.packaging.src_dir));
  TONY_RETURN_IF_ERROR(stager.AddVirtualEnvironment(job.result.packaging.python_venv));
  for (const core::TaskType& type : core::WithMasterTask(job.result.job).types) {
    TONY_RETURN_IF_ERROR(stager.AddFiles(type));
  }
  return stager.Write();
}

/// Removes the job's folder `name`, as far as it was made, and returns `status`.
absl::Status Undo(const absl::Status& status, const os::FolderHandle& jobs,
                  const std::string& name) {
  const absl::Status removed = storage::RemoveJobFolder(jobs, name);
  return removed.ok() ? status : Annotate(status, std::string(removed.message()));
}

/// A job's folder whose guard this process holds, so that nobody else removes it.
struct GuardedFolder {
  os::FolderHandle jobs;
  os::FolderHandle folder;
  os::UniqueFd guard;
};

/// Makes the job's folder under a hidden name and renames it once its guard is held.
absl::StatusOr<GuardedFolder> MakeGuardedFolder(const storage::JobFolder& job) {
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle local, OpenLocalFolder(storage::LocalDir(job)));
  const std::string above = job.root().substr(0, job.root().rfind('/'));
  TONY_ASSIGN_OR_RETURN(os::FolderHandle jobs, local.OpenOrMake(NameOf(above)));
  const std::string name = NameOf(job.root());
  const std::string unnamed = absl::StrCat(".", name);
  TONY_ASSIGN_OR_RETURN(os::FolderHandle folder, jobs.Make(unnamed));
  absl::StatusOr<os::UniqueFd> guard = os::LockFile(folder, NameOf(job.am_guard()));
  if (!guard.ok()) return Undo(guard.status(), jobs, unnamed);
  // Rename() never replaces the folder of an existing job, because that is not empty.
  const absl::Status named = jobs.Rename(unnamed, name);
  if (!named.ok()) return Undo(named, jobs, unnamed);
  return GuardedFolder{std::move(jobs), os::FolderHandle(std::move(folder), job.root()),
                       *std::move(guard)};
}

}  // namespace

absl::StatusOr<os::UniqueFd> StageJob(const jobfile::LoadedJob& job, const std::string& job_id,
                                      const storage::JobFolder& folder) {
  TONY_ASSIGN_OR_RETURN(GuardedFolder made, MakeGuardedFolder(folder));
  const absl::Status filled = Fill(job, job_id, made.folder);
  if (!filled.ok()) return Undo(filled, made.jobs, NameOf(folder.root()));
  return std::move(made.guard);
}

absl::Status RemoveStaged(const storage::JobFolder& folder) {
  TONY_RETURN_IF_ERROR(os::RemoveTree(folder.secrets()));
  return os::RemoveTree(folder.archives());
}

}  // namespace tony::client
