// Packing and writing of what the job needs.
#include "client/staging.h"

#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "core/job/master_task.h"
#include "os/archive_writer.h"
#include "os/file_lock.h"
#include "os/files.h"
#include "os/virtual_environment.h"
#include "rpc/certificate_authority.h"
#include "rpc/credentials.h"
#include "spec/paths.h"
#include "spec/xml_writer.h"
#include "tony/v1/staging.pb.h"

namespace tony::client {
namespace {

/// Where the virtual environment stands in a working folder, as in TonY.
constexpr char kVenvName[] = "venv";

/// What cannot be looked at is none: copying it then says why.
bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// Collects what is laid into working folders.
class Stager {
 public:
  explicit Stager(const backend::JobFolder& folder) : folder_(folder) {}

  absl::Status AddProgram(const std::string& source) {
    if (source.empty()) return absl::OkStatus();
    const std::string path = absl::StrCat(folder_.archives(), "/program");
    std::string digest;
    if (IsFolder(source)) {
      TONY_ASSIGN_OR_RETURN(const os::PackSummary packed, os::PackFolder(source, path));
      digest = packed.digest;
    } else {
      TONY_RETURN_IF_ERROR(Copy(source, path));
    }
    Add(v1::Archive::PROGRAM, path, "", digest);
    return absl::OkStatus();
  }

  absl::Status AddVirtualEnvironment(const std::string& source) {
    if (source.empty()) return absl::OkStatus();
    const std::string path = absl::StrCat(folder_.archives(), "/venv");
    TONY_ASSIGN_OR_RETURN(const os::PackSummary packed, os::PackVirtualEnvironment(source, path));
    Add(v1::Archive::VIRTUAL_ENVIRONMENT, path, kVenvName, packed.digest);
    return absl::OkStatus();
  }

  /// Each source is staged once, however many types ask for it.
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
    return os::WriteFileAtomically(folder_.staged(), json);
  }

 private:
  /// A folder arrives as a folder, as in TonY; so does an archive that is marked as one.
  absl::Status AddFile(const core::ResourceEntry& file) {
    const auto kind = file.archive ? v1::Archive::ARCHIVE : v1::Archive::FILE;
    if (!spec::UriScheme(file.source).empty()) {
      // The backend fetches it.
      Add(kind, file.source, file.local_name, "");
      return absl::OkStatus();
    }
    const std::string path = absl::StrCat(folder_.archives(), "/resource-", staged_.entries_size());
    if (IsFolder(file.source)) {
      TONY_ASSIGN_OR_RETURN(const os::PackSummary packed, os::PackFolder(file.source, path));
      Add(v1::Archive::ARCHIVE, path, file.local_name, packed.digest);
      return absl::OkStatus();
    }
    TONY_RETURN_IF_ERROR(Copy(file.source, path));
    Add(kind, path, file.local_name, "");
    return absl::OkStatus();
  }

  static absl::Status Copy(const std::string& from, const std::string& to) {
    std::error_code error;
    std::filesystem::copy_file(from, to, error);
    if (error) return os::ErrnoError(error.value(), absl::StrCat("cannot stage ", from));
    return absl::OkStatus();
  }

  void Add(v1::Archive::Kind kind, const std::string& path, const std::string& name,
           const std::string& digest) {
    v1::Archive* archive = staged_.add_entries()->mutable_archive();
    archive->set_kind(kind);
    archive->set_path(path);
    archive->set_name(name);
    archive->set_digest(digest);
  }

  const backend::JobFolder& folder_;
  v1::StagedFiles staged_;
  std::map<std::string, int> entries_;  ///< what was asked for → position in staged_
};

absl::Status StageSecrets(const std::string& job_id, const backend::JobFolder& folder) {
  TONY_ASSIGN_OR_RETURN(const rpc::CertificateAuthority authority,
                        rpc::CertificateAuthority::Create(job_id));
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials client, authority.Issue(rpc::ClientRole(job_id)));
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(folder.authority(), authority.ToPem()));
  return rpc::SaveCredentials(client, folder.client_credentials());
}

absl::Status Fill(const spec::LoadedJob& job, const std::string& job_id,
                  const backend::JobFolder& folder) {
  for (const std::string& path : {folder.secrets(), folder.archives(), folder.logs()}) {
    TONY_RETURN_IF_ERROR(os::MakeFolders(path));
  }
  // First, since this is where OpenSSL is set up, which then digests archives.
  TONY_RETURN_IF_ERROR(StageSecrets(job_id, folder));
  TONY_RETURN_IF_ERROR(
      os::WriteFileAtomically(folder.job_xml(), spec::WriteXml(job.configuration)));
  Stager stager(folder);
  TONY_RETURN_IF_ERROR(stager.AddProgram(job.result.packaging.src_dir));
  TONY_RETURN_IF_ERROR(stager.AddVirtualEnvironment(job.result.packaging.python_venv));
  for (const core::TaskType& type : core::WithMasterTask(job.result.job).types) {
    TONY_RETURN_IF_ERROR(stager.AddFiles(type));
  }
  return stager.Write();
}

/// `status`, after what there is of the job was removed.
absl::Status Undo(const absl::Status& status, const std::string& path) {
  const absl::Status removed = os::RemoveTree(path);
  return removed.ok() ? status : Annotate(status, std::string(removed.message()));
}

/// The job's folder, under a name that is no job's until its guard is held.
absl::StatusOr<os::UniqueFd> MakeGuardedFolder(const backend::JobFolder& folder) {
  const std::filesystem::path path = folder.root();
  TONY_RETURN_IF_ERROR(os::MakeFolders(path.parent_path().string()));
  const std::string what = absl::StrCat("cannot make the job's folder ", folder.root());
  const std::string unnamed = path.parent_path() / absl::StrCat(".", path.filename().string());
  if (mkdir(unnamed.c_str(), 0700) != 0) return os::ErrnoError(errno, what);
  absl::StatusOr<os::UniqueFd> guard = os::LockFile(backend::JobFolder(unnamed).am_guard());
  if (!guard.ok()) return Undo(guard.status(), unnamed);
  // One that is there is never replaced: it is not empty.
  if (rename(unnamed.c_str(), folder.root().c_str()) == 0) return guard;
  const int error = errno == ENOTEMPTY ? EEXIST : errno;
  return Undo(os::ErrnoError(error, what), unnamed);
}

}  // namespace

absl::StatusOr<os::UniqueFd> StageJob(const spec::LoadedJob& job, const std::string& job_id,
                                      const backend::JobFolder& folder) {
  TONY_ASSIGN_OR_RETURN(os::UniqueFd guard, MakeGuardedFolder(folder));
  const absl::Status filled = Fill(job, job_id, folder);
  if (!filled.ok()) return Undo(filled, folder.root());
  return guard;
}

absl::Status RemoveStaged(const backend::JobFolder& folder) {
  TONY_RETURN_IF_ERROR(os::RemoveTree(folder.secrets()));
  return os::RemoveTree(folder.archives());
}

}  // namespace tony::client
