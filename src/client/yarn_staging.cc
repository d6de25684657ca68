// File after file, each with its size and time for the nodes that fetch it.
#include "client/yarn_staging.h"

#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backend/yarn/yarn_job.h"
#include "common/status_macros.h"
#include "hadoop/token_file.h"
#include "os/archive_digest.h"
#include "os/files.h"
#include "os/own_program.h"
#include "tony/v1/staging.pb.h"
#include "tony/v1/yarn.pb.h"

namespace tony::client {
namespace {

/// Where the build puts it, seen from the programs.
constexpr char kBuiltRuntime[] = "../runtime/tony-runtime.tar.gz";

template <typename Message>
absl::StatusOr<std::string> ToJson(const Message& message) {
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json);
  if (status.ok()) return json;
  return absl::InvalidArgumentError(
      absl::StrCat("a path is not UTF-8, which is not supported: ", status.ToString()));
}

absl::StatusOr<std::string> DigestOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(path);
  os::Sha256 digest;
  std::string block(1 << 20, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    digest.Update(block.data(), static_cast<size_t>(file.gcount()));
  }
  return digest.Finish();
}

/// Stages one job. Not thread safe.
class ClusterStager {
 public:
  ClusterStager(const spec::LoadedJob& job, const std::string& job_id,
                const backend::JobFolder& staged, const backend::YarnCluster& cluster,
                std::unique_ptr<backend::JobFiles> files)
      : job_(job),
        folder_(backend::JobFolderName(job_id)),
        staged_(staged),
        cluster_(cluster),
        files_(std::move(files)) {
    yarn_job_.set_job_id(job_id);
    yarn_job_.set_user(cluster.user());
    yarn_job_.set_folder(absl::StrCat(cluster.staging(), "/", folder_));
    yarn_job_.set_view_acl(job.result.yarn.view_acl);
    yarn_job_.set_modify_acl(job.result.yarn.modify_acl);
    for (const hadoop::Endpoint& server : cluster.schedulers()) {
      *yarn_job_.add_scheduler() = ToProto(server);
    }
    if (cluster.hdfs()) AddHdfs(*cluster.hdfs());
  }

  absl::StatusOr<backend::LaunchTemplate> Stage(bool detached) {
    yarn_job_.set_detached(detached);
    TONY_RETURN_IF_ERROR(StageRuntime());
    TONY_RETURN_IF_ERROR(StageArchives());
    TONY_RETURN_IF_ERROR(StageClientFile());
    return StageForMaster();
  }

 private:
  static v1::YarnJob::Endpoint ToProto(const hadoop::Endpoint& endpoint) {
    v1::YarnJob::Endpoint proto;
    proto.set_host(endpoint.host);
    proto.set_port(endpoint.port);
    return proto;
  }

  void AddHdfs(const hadoop::NameService& service) {
    v1::YarnJob::WebHdfs& hdfs = *yarn_job_.mutable_hdfs();
    hdfs.set_authority(service.authority);
    hdfs.set_https(service.https);
    hdfs.set_highly_available(service.highly_available);
    for (const hadoop::Endpoint& server : service.rpc) *hdfs.add_name_nodes() = ToProto(server);
    for (const hadoop::Endpoint& server : service.web) *hdfs.add_web() = ToProto(server);
  }

  /// The file `name` in the cluster, as `link` in each executor's container.
  absl::Status AddResource(const std::string& name, const std::string& link, bool kept,
                           bool unpacked) {
    TONY_ASSIGN_OR_RETURN(const backend::LocalResource resource,
                          cluster_.ResourceAt(*files_, name));
    v1::YarnJob::Resource& added = *yarn_job_.add_resources();
    added.set_name(link);
    added.set_scheme(resource.scheme);
    added.set_host(resource.host);
    added.set_port(resource.port);
    added.set_path(resource.path);
    added.set_bytes(resource.bytes);
    added.set_modified_millis(resource.modified_millis);
    added.set_unpacked(unpacked);
    added.set_kept(kept);
    return absl::OkStatus();
  }

  /// A file that further jobs will want, too; its name there.
  absl::StatusOr<std::string> Keep(const std::string& path, const std::string& name) {
    const absl::StatusOr<backend::StoredFile> stored = files_->Describe(name);
    if (stored.ok() || !absl::IsNotFound(stored.status())) {
      TONY_RETURN_IF_ERROR(stored.status());
      return name;
    }
    const absl::Status created = files_->CreateFrom(name, path);
    // Another job may have done it at the same time.
    if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
    return name;
  }

  absl::StatusOr<std::string> KeepForJob(const std::string& path, const std::string& name) {
    const std::string target = absl::StrCat(folder_, "/", backend::kStagedFolder, "/", name);
    TONY_RETURN_IF_ERROR(files_->CreateFrom(target, path));
    return target;
  }

  absl::Status StageRuntime() {
    std::string path = job_.result.yarn.runtime;
    if (path.empty()) {
      TONY_ASSIGN_OR_RETURN(path, os::ProgramBeside(kBuiltRuntime));
    }
    const absl::StatusOr<std::string> digest = DigestOf(path);
    if (!digest.ok()) {
      return absl::NotFoundError(
          absl::StrCat("there is no ", path,
                       ", which the cluster's nodes need; build the target `runtime`, or name it "
                       "with tony.yarn.runtime"));
    }
    // The NodeManager unpacks by the name's end.
    TONY_ASSIGN_OR_RETURN(const std::string name,
                          Keep(path, absl::StrCat(backend::CachedName(*digest), ".tar.gz")));
    return AddResource(name, backend::kRuntimeLink, /*kept=*/true, /*unpacked=*/true);
  }

  absl::Status StageArchives() {
    TONY_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(staged_.staged()));
    const auto parsed = google::protobuf::util::JsonStringToMessage(text, &staged_files_);
    if (!parsed.ok()) return absl::InternalError(parsed.ToString());
    std::map<std::string, std::string> links;
    for (v1::StagedFiles::Entry& entry : *staged_files_.mutable_entries()) {
      v1::Archive& archive = *entry.mutable_archive();
      auto [link, added] = links.try_emplace(archive.path());
      if (added) {
        const std::string own = archive.path().substr(archive.path().rfind('/') + 1);
        link->second = absl::StrCat(backend::kArchiveLinks, own);
        TONY_RETURN_IF_ERROR(StageArchive(archive, own, link->second));
      }
      archive.set_path(link->second);
    }
    return absl::OkStatus();
  }

  absl::Status StageArchive(const v1::Archive& archive, const std::string& own,
                            const std::string& link) {
    // Programs change from job to job; what they need does not.
    const bool kept = !archive.digest().empty() && archive.kind() != v1::Archive::PROGRAM;
    TONY_ASSIGN_OR_RETURN(const std::string name,
                          kept ? Keep(archive.path(), backend::CachedName(archive.digest()))
                               : KeepForJob(archive.path(), own));
    return AddResource(name, link, kept, /*unpacked=*/false);
  }

  /// By which any machine's `tony` can speak with the ApplicationMaster.
  absl::Status StageClientFile() {
    return files_->CreateFrom(absl::StrCat(folder_, "/", backend::kClientFile),
                              staged_.client_credentials());
  }

  /// What only the ApplicationMaster gets, and what executors get besides their archives.
  absl::StatusOr<backend::LaunchTemplate> StageForMaster() {
    TONY_ASSIGN_OR_RETURN(const std::string staged_json, ToJson(staged_files_));
    TONY_ASSIGN_OR_RETURN(const std::string job_xml, os::ReadFile(staged_.job_xml()));
    // Executors read in it where the ApplicationMaster is.
    TONY_RETURN_IF_ERROR(StageText("look-up.json", ToJson(yarn_job_)));
    TONY_RETURN_IF_ERROR(AddResource(StagedName("look-up.json"), backend::kYarnJobLink,
                                     /*kept=*/false, /*unpacked=*/false));
    TONY_RETURN_IF_ERROR(StageText("job.json", ToJson(yarn_job_)));
    TONY_RETURN_IF_ERROR(StageText("job.xml", job_xml));
    TONY_RETURN_IF_ERROR(StageText("staged.json", staged_json));

    backend::LaunchTemplate launch;
    launch.command = backend::RuntimeCommand("tony-am");
    launch.command.push_back(absl::StrCat("--yarn-job=", backend::kYarnJobLink));
    launch.log = backend::kMasterLog;
    launch.view_acl = yarn_job_.view_acl();
    launch.modify_acl = yarn_job_.modify_acl();
    const backend::LaunchTemplate executors = backend::ExecutorTemplate(yarn_job_);
    launch.resources.push_back(executors.resources.front());  // the runtime
    const std::pair<const char*, const char*> files[] = {{"job.json", backend::kYarnJobLink},
                                                         {"job.xml", "job.xml"},
                                                         {"staged.json", "staged.json"}};
    for (const auto& [name, link] : files) {
      TONY_ASSIGN_OR_RETURN(backend::LocalResource resource,
                            cluster_.ResourceAt(*files_, StagedName(name)));
      resource.name = link;
      launch.resources.push_back(std::move(resource));
    }
    return launch;
  }

  std::string StagedName(const std::string& name) const {
    return absl::StrCat(folder_, "/", backend::kStagedFolder, "/", name);
  }

  absl::Status StageText(const std::string& name, const absl::StatusOr<std::string>& text) {
    TONY_RETURN_IF_ERROR(text.status());
    return files_->Create(StagedName(name), *text);
  }

  const spec::LoadedJob& job_;
  const std::string folder_;  ///< the job's, below all of the user's files
  const backend::JobFolder& staged_;
  const backend::YarnCluster& cluster_;
  const std::unique_ptr<backend::JobFiles> files_;
  v1::YarnJob yarn_job_;
  v1::StagedFiles staged_files_;
};

/// What the ApplicationMaster's container is given in secret, as a token file's bytes.
absl::StatusOr<std::string> MasterTokens(const backend::JobFolder& staged,
                                         const backend::YarnCluster& cluster) {
  hadoop::TokenStore store;
  TONY_ASSIGN_OR_RETURN(const std::string authority, os::ReadFile(staged.authority()));
  store.secrets.emplace_back(backend::kAuthoritySecret, authority);
  TONY_ASSIGN_OR_RETURN(std::optional<hadoop::Token> hdfs, cluster.GetHdfsToken());
  if (hdfs) store.Add(*std::move(hdfs));
  return hadoop::FormatTokens(store, hadoop::TokenFormat::kWritable);
}

}  // namespace

absl::StatusOr<backend::ApplicationRequest> StageOnCluster(const spec::LoadedJob& job,
                                                           const std::string& job_id, bool detached,
                                                           const backend::JobFolder& staged,
                                                           const backend::YarnCluster& cluster) {
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<backend::JobFiles> files, cluster.OpenStaging());
  ClusterStager stager(job, job_id, staged, cluster, std::move(files));
  backend::ApplicationRequest request;
  TONY_ASSIGN_OR_RETURN(request.launch, stager.Stage(detached));
  TONY_ASSIGN_OR_RETURN(std::string tokens, MasterTokens(staged, cluster));
  request.launch.tokens = [tokens = std::move(tokens)](const std::string& /*secret*/) {
    return tokens;
  };
  const spec::YarnSettings& yarn = job.result.yarn;
  request.id = job_id;
  request.name = job.result.job.name;
  request.type = yarn.application_type;
  request.queue = yarn.queue;
  request.tags = yarn.tags;
  request.priority = yarn.priority;
  request.node_label = yarn.am_node_label;
  request.resources = job.result.job.am_resources;
  request.gpu_resource = yarn.gpu_resource;
  request.max_attempts = 1 + static_cast<int>(job.configuration.GetNumber("tony.am.max-restarts"));
  return request;
}

absl::Status RemoveFromCluster(const std::string& job_id, const backend::YarnCluster& cluster) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<backend::JobFiles> files, cluster.OpenStaging());
  return files->Remove(backend::JobFolderName(job_id));
}

}  // namespace tony::client
