// Plans all copies first, then copies them on several threads, then asks for each file's size and
// time: YARN's nodes fetch only a file that still has exactly these.
#include "client/staging/yarn_staging.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend/yarn/yarn_job.h"
#include "client/staging/yarn_cache.h"
#include "common/status_macros.h"
#include "core/model/master_task.h"
#include "hadoop/auth/token_file.h"
#include "jobfile/values/paths.h"
#include "os/files/archive_digest.h"
#include "os/files/files.h"
#include "os/processes/installation.h"
#include "tony/v1/staging.pb.h"
#include "tony/v1/yarn.pb.h"

namespace tony::client {
namespace {

constexpr size_t kCopiesAtOnce = 8;

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
  ClusterStager(const jobfile::LoadedJob& job, const std::string& job_id,
                const storage::JobFolder& staged, const backend::YarnCluster& cluster,
                const Clock& clock, std::unique_ptr<storage::JobFiles> files)
      : job_(job),
        folder_(backend::JobFolderName(job_id)),
        staged_(staged),
        cluster_(cluster),
        clock_(clock),
        files_(std::move(files)) {
    yarn_job_.set_job_id(job_id);
    yarn_job_.set_user(cluster.user());
    yarn_job_.set_folder(absl::StrCat(cluster.staging(), "/", folder_));
    yarn_job_.set_view_acl(job.result.yarn.view_acl);
    yarn_job_.set_modify_acl(job.result.yarn.modify_acl);
    for (const hadoop::Endpoint& server : cluster.schedulers()) {
      *yarn_job_.add_scheduler() = ToProto(server);
    }
    backend::SetProtection(cluster.application_client().identity.protection, yarn_job_);
    if (cluster.hdfs()) AddHdfs(*cluster.hdfs());
    const backend::PageProxy& proxy = cluster.page_proxy();
    for (const hadoop::Endpoint& server : proxy.servers) {
      *yarn_job_.mutable_proxy()->add_servers() = ToProto(server);
    }
    yarn_job_.mutable_proxy()->set_https(proxy.https);
    yarn_job_.mutable_proxy()->set_lists_apply(proxy.lists_apply);
    yarn_job_.mutable_proxy()->set_administrators(proxy.administrators);
  }

  absl::StatusOr<backend::LaunchTemplate> Stage(const YarnJobKind& kind) {
    yarn_job_.set_detached(kind.detached);
    yarn_job_.set_step(kind.step);
    // The cluster's name is the first file of the job's folder. Without it,
    // RemoveRemainsOnCluster() could not tell whose job a cut-off staging was. The call runs beside
    // the planning, which touches only local files.
    std::future<absl::Status> named = std::async(std::launch::async, [this] {
      return files_->Create(absl::StrCat(folder_, "/", backend::kClusterFile), cluster_.Name());
    });
    absl::Status planned = PlanRuntime();
    if (planned.ok()) planned = PlanArchives();
    TONY_RETURN_IF_ERROR(named.get());
    TONY_RETURN_IF_ERROR(planned);
    TONY_RETURN_IF_ERROR(CopyAll());
    TONY_RETURN_IF_ERROR(AddResources());
    return MasterTemplate();
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

  /// A local file, its name in the cluster, and its link in each executor's container.
  struct Copy {
    std::string path;
    std::string name;
    std::string link;
    bool kept = false;      ///< stays in the cache for further jobs
    bool unpacked = false;  ///< unpacked by the node
  };

  /// A file that nodes fetch directly from its address.
  struct Remote {
    std::string url;
    std::string link;
  };

  absl::Status PlanRuntime() {
    std::string path = job_.result.yarn.runtime;
    if (path.empty()) {
      TONY_ASSIGN_OR_RETURN(const os::Installation own, os::OwnInstallation());
      path = own.runtime;
    }
    const absl::StatusOr<std::string> digest = DigestOf(path);
    if (!digest.ok()) {
      return absl::NotFoundError(
          absl::StrCat("there is no ", path,
                       ", which the cluster's nodes need; build the target `runtime`, or name it "
                       "with tony.yarn.runtime"));
    }
    // The NodeManager chooses how to unpack by the end of the name.
    copies_.push_back({path, absl::StrCat(backend::CachedName(*digest), ".tar.gz"),
                       backend::kRuntimeLink, /*kept=*/true, /*unpacked=*/true});
    return absl::OkStatus();
  }

  absl::Status PlanArchives() {
    TONY_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(staged_.staged()));
    const auto parsed = google::protobuf::util::JsonStringToMessage(text, &staged_files_);
    if (!parsed.ok()) return absl::InternalError(parsed.ToString());
    std::map<std::string, std::string> links;
    for (v1::StagedFiles::Entry& entry : *staged_files_.mutable_entries()) {
      v1::Archive& archive = *entry.mutable_archive();
      auto [link, added] = links.try_emplace(archive.path());
      if (added) link->second = Plan(archive, links.size());
      archive.set_path(link->second);
    }
    return absl::OkStatus();
  }

  /// Plans the copy of one archive; returns its link.
  std::string Plan(const v1::Archive& archive, size_t number) {
    if (!jobfile::UriScheme(archive.path()).empty()) {
      remote_.push_back({archive.path(), absl::StrCat(backend::kArchiveLinks, "remote-", number)});
      return remote_.back().link;
    }
    const std::string own = archive.path().substr(archive.path().rfind('/') + 1);
    // Programs change from job to job, so only other archives are kept in the cache.
    const bool kept = !archive.digest().empty() && archive.kind() != v1::Archive::PROGRAM;
    const std::string name = kept ? backend::CachedName(archive.digest())
                                  : absl::StrCat(folder_, "/", backend::kStagedFolder, "/", own);
    copies_.push_back({archive.path(), name, absl::StrCat(backend::kArchiveLinks, own), kept,
                       /*unpacked=*/false});
    return copies_.back().link;
  }

  /// Copies several files at once: the calls of HDFS take the time, not the bytes
  /// (storage/hdfs_job_files.h).
  absl::Status CopyAll() {
    std::vector<std::future<absl::Status>> copied;
    std::atomic<size_t> next{0};
    const size_t threads = std::min(copies_.size(), kCopiesAtOnce);
    for (size_t i = 0; i < threads; ++i) {
      copied.push_back(std::async(std::launch::async, [this, &next]() -> absl::Status {
        TONY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::JobFiles> files,
                              cluster_.OpenStaging());
        for (size_t mine = next++; mine < copies_.size(); mine = next++) {
          TONY_RETURN_IF_ERROR(CopyOne(copies_[mine], *files));
        }
        return absl::OkStatus();
      }));
    }
    absl::Status status;
    for (std::future<absl::Status>& result : copied) status.Update(result.get());
    return status;
  }

  absl::Status CopyOne(const Copy& copy, storage::JobFiles& files) const {
    if (copy.kept) {
      // The mark comes before the look. In the other order, another client could remove the file in
      // between.
      TONY_RETURN_IF_ERROR(MarkUsed(copy.name, files, clock_));
      const absl::StatusOr<storage::StoredFile> stored = files.Describe(copy.name);
      if (!absl::IsNotFound(stored.status())) return stored.status();
    }
    const absl::Status created = files.CreateFrom(copy.name, copy.path);
    // Another job may have copied the same file at the same time.
    return copy.kept && absl::IsAlreadyExists(created) ? absl::OkStatus() : created;
  }

  absl::Status AddResources() {
    using Resource = backend::LocalResource;
    for (const Copy& copy : copies_) {
      TONY_ASSIGN_OR_RETURN(Resource resource, cluster_.ResourceAt(*files_, copy.name));
      if (copy.unpacked) resource.type = Resource::Type::kArchive;
      // A node keeps a private file for all of the user's jobs, so it is fetched once.
      if (copy.kept) resource.visibility = Resource::Visibility::kPrivate;
      AddResource(resource, copy.link);
    }
    for (const Remote& remote : remote_) {
      TONY_ASSIGN_OR_RETURN(const Resource resource, cluster_.ResourceAt(remote.url));
      AddResource(resource, remote.link);
    }
    return absl::OkStatus();
  }

  void AddResource(const backend::LocalResource& resource, const std::string& link) {
    v1::YarnJob::Resource& added = *yarn_job_.add_resources();
    added.set_name(link);
    added.set_scheme(resource.scheme);
    added.set_host(resource.host);
    added.set_port(resource.port);
    added.set_path(resource.path);
    added.set_bytes(resource.bytes);
    added.set_modified_millis(resource.modified_millis);
    added.set_unpacked(resource.type == backend::LocalResource::Type::kArchive);
    added.set_kept(resource.visibility == backend::LocalResource::Visibility::kPrivate);
  }

  absl::StatusOr<backend::LaunchTemplate> MasterTemplate() {
    backend::LaunchTemplate launch;
    launch.command = backend::RuntimeCommand("tony-am");
    launch.command.push_back("--on-yarn");
    launch.log = backend::kMasterLog;
    launch.view_acl = yarn_job_.view_acl();
    launch.modify_acl = yarn_job_.modify_acl();
    const jobfile::ImageSettings& images = job_.result.images;
    const auto image = images.by_type.find(core::kMasterTaskType);
    if (image != images.by_type.end()) {
      launch.environment = backend::DockerEnvironment(image->second, images.mounts);
    }
    launch.resources = {backend::ExecutorTemplate(yarn_job_).resources.front()};  // the runtime
    TONY_ASSIGN_OR_RETURN(std::string tokens, MasterTokens());
    launch.tokens = [tokens = std::move(tokens)](const std::string& /*secret*/) { return tokens; };
    return launch;
  }

  /// Bytes of the token file for the ApplicationMaster's container. The file carries the job's
  /// secrets, and also the configuration and the list of archives, which are small: so the
  /// ApplicationMaster need not read them from HDFS at its start.
  absl::StatusOr<std::string> MasterTokens() const {
    hadoop::TokenStore store;
    const std::pair<const char*, std::string> files[] = {
        {backend::kAuthoritySecret, staged_.authority()},
        {backend::kClientSecret, staged_.client_credentials()},
        {backend::kConfigurationSecret, staged_.job_xml()}};
    for (const auto& [name, path] : files) {
      TONY_ASSIGN_OR_RETURN(std::string contents, os::ReadFile(path));
      store.secrets.emplace_back(name, std::move(contents));
    }
    TONY_ASSIGN_OR_RETURN(std::string staged, ToJson(staged_files_));
    store.secrets.emplace_back(backend::kStagedSecret, std::move(staged));
    TONY_ASSIGN_OR_RETURN(std::string job, ToJson(yarn_job_));
    store.secrets.emplace_back(backend::kYarnJobSecret, std::move(job));
    TONY_ASSIGN_OR_RETURN(std::optional<hadoop::Token> hdfs, cluster_.GetHdfsToken());
    if (hdfs) store.Add(*std::move(hdfs));
    return hadoop::FormatTokens(store, hadoop::TokenFormat::kWritable);
  }

  const jobfile::LoadedJob& job_;
  const std::string folder_;  ///< the job's folder, relative to the user's staging folder
  const storage::JobFolder& staged_;
  const backend::YarnCluster& cluster_;
  const Clock& clock_;
  const std::unique_ptr<storage::JobFiles> files_;
  std::vector<Copy> copies_;
  std::vector<Remote> remote_;
  v1::YarnJob yarn_job_;
  v1::StagedFiles staged_files_;
};

}  // namespace

absl::StatusOr<backend::ApplicationRequest> StageOnCluster(
    const jobfile::LoadedJob& job, const std::string& job_id, const YarnJobKind& kind,
    const storage::JobFolder& staged, const backend::YarnCluster& cluster, const Clock& clock) {
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<storage::JobFiles> files, cluster.OpenStaging());
  ClusterStager stager(job, job_id, staged, cluster, clock, std::move(files));
  backend::ApplicationRequest request;
  TONY_ASSIGN_OR_RETURN(request.launch, stager.Stage(kind));
  const jobfile::YarnSettings& yarn = job.result.yarn;
  request.id = job_id;
  request.name = job.result.job.name;
  request.type = yarn.application_type;
  request.queue = yarn.queue;
  request.tags = yarn.tags;
  request.priority = yarn.priority;
  request.node_label = yarn.am_node_label;
  request.resources = job.result.job.am_resources;
  request.gpu_resource = yarn.gpu_resource;
  // YARN restarts a lost ApplicationMaster, so its attempts carry the limit of restarts.
  // The ResourceManager would cancel them at the job's end, and the step could not look at it.
  request.keeps_tokens = cluster.shares_hdfs_token();
  request.max_attempts = 1 + static_cast<int>(job.configuration.GetNumber("tony.am.max-restarts"));
  return request;
}

absl::Status RemoveFromCluster(const std::string& job_id, const backend::YarnCluster& cluster) {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::JobFiles> files, cluster.OpenStaging());
  return files->Remove(backend::JobFolderName(job_id));
}

}  // namespace tony::client
