// Reads addresses and users from the Hadoop configuration and finds the folder of our files.
#include "backend/yarn/yarn_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backend/yarn/resource_url.h"
#include "backend/yarn/uri.h"
#include "common/status_macros.h"
#include "hadoop/rpc/protocols.h"
#include "hadoop/rpc/service_token.h"
#include "os/files/folder_trust.h"
#include "storage/hdfs_job_files.h"
#include "storage/local_job_files.h"

namespace tony::backend {
namespace {

constexpr char kFolder[] = ".tony";
constexpr int kOthersMayWrite = 0022;
constexpr char kDefaultFs[] = "fs.defaultFS";
constexpr char kContainerExecutor[] = "yarn.nodemanager.container-executor.class";
constexpr char kRuntimes[] = "yarn.nodemanager.runtime.linux.allowed-runtimes";

}  // namespace

absl::StatusOr<YarnCluster> YarnCluster::Find(const YarnClusterOptions& options,
                                              hadoop::Environment environment) {
  TONY_ASSIGN_OR_RETURN(
      const hadoop::Configuration configuration,
      hadoop::Configuration::Load(options.conf_dir, std::move(environment), options.given));
  YarnCluster cluster(options);
  TONY_RETURN_IF_ERROR(cluster.FindServers(configuration));
  TONY_RETURN_IF_ERROR(cluster.FindDocker(configuration));
  TONY_RETURN_IF_ERROR(cluster.FindPageProxy(configuration));
  TONY_RETURN_IF_ERROR(cluster.FindStaging(configuration));
  cluster.log_locations_ = FindLogLocations(configuration);
  return cluster;
}

// The client's configuration may lack settings of the nodes, or have another value. Only an
// explicit value counts against Docker.
absl::Status YarnCluster::FindDocker(const hadoop::Configuration& configuration) {
  const auto none = [&](const char* key, const std::string& value, const std::string& remedy) {
    return configuration.Complaint(
        absl::StatusCode::kFailedPrecondition, key,
        absl::StrCat(value, " runs no Docker containers, and tony.docker.enabled asks for them"),
        remedy);
  };
  TONY_ASSIGN_OR_RETURN(const std::string executor, configuration.Text(kContainerExecutor));
  if (!executor.empty() && !absl::StrContains(executor, "LinuxContainerExecutor")) {
    docker_ = none(kContainerExecutor, executor,
                   "ask the cluster's administrator for LinuxContainerExecutor, or set "
                   "tony.docker.enabled to false");
    return absl::OkStatus();
  }
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> runtimes, configuration.List(kRuntimes));
  if (!runtimes.empty() &&
      std::find(runtimes.begin(), runtimes.end(), "docker") == runtimes.end()) {
    docker_ =
        none(kRuntimes, absl::StrJoin(runtimes, ","),
             "ask the cluster's administrator for docker, or set tony.docker.enabled to false");
  }
  return absl::OkStatus();
}

absl::Status YarnCluster::FindServers(const hadoop::Configuration& configuration) {
  user_ = options_.user;
  TONY_ASSIGN_OR_RETURN(kerberos_, hadoop::WantsKerberos(configuration));
  TONY_ASSIGN_OR_RETURN(
      schedulers_,
      hadoop::ResourceManagers(configuration, hadoop::ResourceManagerService::kScheduler));
  application_client_.protocol = hadoop::kApplicationClient;
  TONY_ASSIGN_OR_RETURN(
      application_client_.servers,
      hadoop::ResourceManagers(configuration, hadoop::ResourceManagerService::kClient));
  TONY_ASSIGN_OR_RETURN(application_client_.identity,
                        hadoop::ResourceManagerIdentity(configuration, user_));
  TONY_RETURN_IF_ERROR(ReadTokens());
  renewer_ = absl::StrReplaceAll(application_client_.identity.server_principal,
                                 {{"_HOST", application_client_.servers.front().host}});
  return absl::OkStatus();
}

absl::Status YarnCluster::ReadTokens() {
  if (!kerberos_ || options_.token_file.empty()) return absl::OkStatus();
  absl::StatusOr<hadoop::TokenStore> tokens = hadoop::ReadTokenFile(options_.token_file);
  if (!tokens.ok()) return Annotate(tokens.status(), "HADOOP_TOKEN_FILE_LOCATION");
  tokens_ = *std::move(tokens);
  const hadoop::Token* const token = hadoop::FindServiceToken(
      tokens_, hadoop::kResourceManagerDelegationToken, application_client_.servers, "");
  if (token != nullptr) application_client_.identity.token = *token;
  return absl::OkStatus();
}

std::optional<hadoop::Token> YarnCluster::HdfsToken(const hadoop::NameService& hdfs) const {
  const std::string name =
      hdfs.highly_available ? absl::StrCat("ha-hdfs:", hdfs.authority) : std::string();
  const hadoop::Token* const token =
      hadoop::FindServiceToken(tokens_, hadoop::kHdfsDelegationToken, hdfs.rpc, name);
  return token == nullptr ? std::nullopt : std::optional<hadoop::Token>(*token);
}

absl::Status YarnCluster::FindPageProxy(const hadoop::Configuration& configuration) {
  TONY_ASSIGN_OR_RETURN(
      page_proxy_.servers,
      hadoop::ResourceManagers(configuration, hadoop::ResourceManagerService::kWeb));
  // A proxy that runs by itself, outside the ResourceManager, comes first.
  TONY_ASSIGN_OR_RETURN(const std::string own, configuration.Text("yarn.web-proxy.address"));
  if (!own.empty()) {
    TONY_ASSIGN_OR_RETURN(const hadoop::Endpoint endpoint, hadoop::ParseEndpoint(own, 0));
    page_proxy_.servers.insert(page_proxy_.servers.begin(), endpoint);
  }
  TONY_ASSIGN_OR_RETURN(const std::string policy, configuration.Text("yarn.http.policy"));
  page_proxy_.https = policy == "HTTPS_ONLY";
  TONY_ASSIGN_OR_RETURN(page_proxy_.lists_apply, configuration.Boolean("yarn.acl.enable", false));
  TONY_ASSIGN_OR_RETURN(page_proxy_.administrators, configuration.Text("yarn.admin.acl"));
  return absl::OkStatus();
}

absl::Status YarnCluster::FindStaging(const hadoop::Configuration& configuration) {
  std::string uri = options_.staging_dir;
  if (!IsUri(uri)) {
    TONY_ASSIGN_OR_RETURN(uri, configuration.Text(kDefaultFs));
  }
  const std::string path = PathOfUri(options_.staging_dir);
  if (absl::StartsWith(uri, "hdfs://")) {
    TONY_ASSIGN_OR_RETURN(hdfs_, hadoop::FindNameService(configuration, uri));
    if (!path.empty() && !kerberos_) {
      staging_ = absl::StrCat(path, "/", user_);
      return absl::OkStatus();
    }
    TONY_ASSIGN_OR_RETURN(hadoop::WebHdfs hdfs, OpenHdfs(*hdfs_));
    TONY_ASSIGN_OR_RETURN(const std::string home, hdfs.HomeFolder());
    // With Kerberos the home folder ends with the name that the cluster gives to the ticket's
    // owner.
    if (kerberos_) user_ = home.substr(home.rfind('/') + 1);
    staging_ = path.empty() ? absl::StrCat(home, "/", kFolder) : absl::StrCat(path, "/", user_);
    return absl::OkStatus();
  }
  if (absl::StartsWith(uri, "file:")) {
    staging_ = path.empty() ? absl::StrCat(options_.home, "/", kFolder, "/yarn")
                            : absl::StrCat(path, "/", user_);
    return absl::OkStatus();
  }
  return configuration.Complaint(
      absl::StatusCode::kFailedPrecondition, kDefaultFs,
      absl::StrCat("tony cannot keep its files in ", uri),
      "set tony.yarn.staging-dir to a folder of an HDFS, hdfs://HOST:PORT/PATH, or to one that all "
      "nodes have, file:///PATH");
}

absl::StatusOr<hadoop::WebHdfs> YarnCluster::OpenHdfs(const hadoop::NameService& hdfs) const {
  hadoop::WebHdfsOptions options;
  options.name_service = hdfs;
  options.user = user_;
  options.kerberos = kerberos_;
  options.token = HdfsToken(hdfs);
  options.timeout = options_.timeout;
  options.stop = options_.stop;
  return hadoop::WebHdfs::Create(std::move(options));
}

absl::Status YarnCluster::CheckOwner(const std::string& owner, int mode) const {
  if (owner == user_ && (mode & kOthersMayWrite) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      staging_, " belongs to ", owner, " and has mode ", absl::StrFormat("%o", mode & 0777),
      ", but what is kept there is run: it has to be ", user_,
      "'s, with nobody else writing to it; remove it, change it, or set tony.yarn.staging-dir"));
}

std::string ClusterName(const std::vector<hadoop::Endpoint>& resource_managers) {
  return absl::StrJoin(resource_managers, ",",
                       [](std::string* text, const hadoop::Endpoint& server) {
                         absl::StrAppend(text, hadoop::ToString(server));
                       });
}

YarnCluster YarnCluster::WithTimeout(Duration timeout) const {
  YarnCluster cluster = *this;
  cluster.options_.timeout = timeout;
  return cluster;
}

absl::StatusOr<std::unique_ptr<storage::JobFiles>> YarnCluster::OpenStaging() const {
  // Only the user may look into the folder, which also protects everything created in it.
  if (!hdfs_) {
    TONY_RETURN_IF_ERROR(
        Annotate(os::OpenOrMakeOwnFolder(staging_).status(), "tony.yarn.staging-dir"));
    return std::make_unique<storage::LocalJobFiles>(staging_);
  }
  TONY_ASSIGN_OR_RETURN(hadoop::WebHdfs hdfs, OpenHdfs(*hdfs_));
  // If nothing can be written, e.g. in safe mode, this call reports it before a job's first file
  // does.
  TONY_RETURN_IF_ERROR(hdfs.MakeFolders(staging_, 0700));
  TONY_ASSIGN_OR_RETURN(const hadoop::HdfsFileStatus status, hdfs.Status(staging_));
  TONY_RETURN_IF_ERROR(CheckOwner(status.owner, status.mode));
  return std::make_unique<storage::HdfsJobFiles>(std::move(hdfs), staging_);
}

absl::Status YarnCluster::SetHdfs(LocalResource& resource) const {
  resource.scheme = "hdfs";
  resource.host = hdfs_->authority;
  // A name service has no port.
  if (resource.host.rfind(':') == std::string::npos) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(hadoop::Endpoint endpoint, hadoop::ParseEndpoint(hdfs_->authority, 0));
  resource.host = std::move(endpoint.host);
  resource.port = endpoint.port;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<hadoop::FileStore>> YarnCluster::OpenLogs(
    const LogLocation& location) const {
  if (!location.hdfs) return std::make_unique<hadoop::DiskStore>();
  TONY_ASSIGN_OR_RETURN(hadoop::WebHdfs hdfs, OpenHdfs(*location.hdfs));
  return std::make_unique<hadoop::HdfsStore>(std::move(hdfs));
}

absl::StatusOr<LocalResource> YarnCluster::ResourceAt(storage::JobFiles& staging,
                                                      const std::string& name) const {
  TONY_ASSIGN_OR_RETURN(const storage::StoredFile file, staging.Describe(name));
  LocalResource resource;
  resource.scheme = "file";
  if (hdfs_) TONY_RETURN_IF_ERROR(SetHdfs(resource));
  resource.path = absl::StrCat(staging_, "/", name);
  resource.bytes = file.bytes;
  resource.modified_millis = file.modified_millis;
  return resource;
}

absl::StatusOr<LocalResource> YarnCluster::ResourceAt(const std::string& url) const {
  TONY_ASSIGN_OR_RETURN(const ResourceUrl parsed, ParseResourceUrl(url));
  if (parsed.scheme != "hdfs" && parsed.scheme != "webhdfs") return parsed.AsItIs();
  if (!hdfs_ || !parsed.IsOf(*hdfs_)) {
    return absl::FailedPreconditionError(
        absl::StrCat(url, " is not in the file system of the job's own files",
                     hdfs_ ? absl::StrCat(", hdfs://", hdfs_->authority) : "",
                     "; copy it there, or set tony.yarn.staging-dir to a folder in the file system "
                     "where it is"));
  }
  TONY_ASSIGN_OR_RETURN(hadoop::WebHdfs hdfs, OpenHdfs(*hdfs_));
  TONY_ASSIGN_OR_RETURN(const hadoop::HdfsFileStatus file, hdfs.Status(parsed.path));
  if (file.folder) {
    return absl::InvalidArgumentError(absl::StrCat(
        url, " is a folder, and nodes fetch files only; pack it and mark it #archive"));
  }
  LocalResource resource;
  TONY_RETURN_IF_ERROR(SetHdfs(resource));
  resource.path = parsed.path;
  resource.bytes = file.bytes;
  resource.modified_millis = file.modified_millis;
  resource.visibility = LocalResource::Visibility::kPrivate;
  return resource;
}

absl::StatusOr<std::optional<hadoop::Token>> YarnCluster::GetHdfsToken() const {
  if (!kerberos_ || !hdfs_) return std::optional<hadoop::Token>();
  if (std::optional<hadoop::Token> given = HdfsToken(*hdfs_)) return given;
  TONY_ASSIGN_OR_RETURN(hadoop::WebHdfs hdfs, OpenHdfs(*hdfs_));
  TONY_ASSIGN_OR_RETURN(hadoop::Token token, hdfs.GetDelegationToken(renewer_));
  return std::optional<hadoop::Token>(std::move(token));
}

}  // namespace tony::backend
