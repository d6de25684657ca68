// A YARN cluster as a client's Hadoop configuration describes it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backend/yarn/launch_request.h"
#include "backend/yarn/log_places.h"
#include "common/clock.h"
#include "hadoop/auth/token.h"
#include "hadoop/config/configuration.h"
#include "hadoop/hdfs/file_store.h"
#include "hadoop/hdfs/webhdfs.h"
#include "hadoop/rpc/cluster_addresses.h"
#include "hadoop/rpc/rpc_client.h"
#include "storage/job_files.h"

namespace tony::backend {

/// What is to be known before anything is asked of a cluster.
struct YarnClusterOptions {
  std::string conf_dir;  ///< with core-site.xml, …
  /// A path or URI, of a folder with one for each user; empty: ".tony" in the user's own there.
  std::string staging_dir;
  std::string user;     ///< who is believed to be calling where there is no Kerberos
  std::string home;     ///< the user's folder on this machine
  Duration timeout{0};  ///< of each call
};

/// Through whom applications' pages are looked at, and by whom. A plain value.
struct PageProxy {
  std::vector<hadoop::Endpoint> servers;  ///< of its web pages
  bool https = false;
  bool lists_apply = false;    ///< who may see an application is looked up
  std::string administrators;  ///< who may see all: "users groups", each with commas
};

/// Where its servers are, who we are there, and where our files lie. Thread safe (immutable).
class YarnCluster {
 public:
  /// Asks the NameNode where the user's folder is, unless `options.staging_dir` says it all.
  /// FailedPrecondition, NotFound, InvalidArgument – what is configured, or is not, named with file
  /// and line; otherwise the codes of hadoop::WebHdfs.
  static absl::StatusOr<YarnCluster> Find(const YarnClusterOptions& options,
                                          hadoop::Environment environment);

  const std::string& user() const { return user_; }
  /// Its ResourceManagers' addresses, which tell it from others that share its file system.
  std::string Name() const;
  bool kerberos() const { return kerberos_; }
  /// Of the ResourceManagers, for ApplicationMasters.
  const std::vector<hadoop::Endpoint>& schedulers() const { return schedulers_; }
  /// For ApplicationClient and ApplicationWatch.
  const hadoop::RpcClientOptions& application_client() const { return application_client_; }
  /// FailedPrecondition – by the configuration its nodes run no Docker containers. Where that says
  /// nothing about it OK.
  const absl::Status& docker() const { return docker_; }
  const PageProxy& page_proxy() const { return page_proxy_; }
  Duration timeout() const { return options_.timeout; }
  /// The same cluster, for calls that may take so long.
  YarnCluster WithTimeout(Duration timeout) const;

  /// Where staging() lies: an HDFS, or nothing for a disk that all nodes have.
  const std::optional<hadoop::NameService>& hdfs() const { return hdfs_; }
  /// The path of our files there.
  const std::string& staging() const { return staging_; }
  /// All below staging(). FailedPrecondition – libcurl is missing; PermissionDenied – it is not the
  /// user's, or others may write there: what they leave would be run.
  absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenStaging() const;
  /// How a node finds `name` below staging(), with its size and time. As JobFiles::Describe.
  absl::StatusOr<LocalResource> ResourceAt(storage::JobFiles& staging,
                                           const std::string& name) const;
  /// The same for a file that is somewhere else: of our HDFS, also by a webhdfs: URL, with its size
  /// and time; of another scheme as it is, for the node to find. InvalidArgument – it is no URL,
  /// has a query, or is a folder's; FailedPrecondition – another HDFS; the codes of
  /// hadoop::WebHdfs::Status.
  absl::StatusOr<LocalResource> ResourceAt(const std::string& url) const;

  /// Where the logs of applications that have ended may be. The codes of FindLogPlaces.
  const absl::StatusOr<std::vector<LogPlace>>& log_places() const { return log_places_; }
  /// The files there. FailedPrecondition – libcurl is missing.
  absl::StatusOr<std::unique_ptr<hadoop::FileStore>> OpenLogs(const LogPlace& place) const;

  /// For the ApplicationMaster and the nodes, which the ResourceManager renews; nothing where the
  /// cluster has no Kerberos. The codes of hadoop::WebHdfs.
  absl::StatusOr<std::optional<hadoop::Token>> GetHdfsToken() const;

 private:
  explicit YarnCluster(YarnClusterOptions options) : options_(std::move(options)) {}
  absl::Status FindServers(const hadoop::Configuration& configuration);
  absl::Status FindDocker(const hadoop::Configuration& configuration);
  absl::Status FindPageProxy(const hadoop::Configuration& configuration);
  absl::Status FindStaging(const hadoop::Configuration& configuration);
  absl::StatusOr<hadoop::WebHdfs> OpenHdfs(const hadoop::NameService& hdfs) const;
  /// The address of our HDFS.
  absl::Status SetHdfs(LocalResource& resource) const;
  absl::Status CheckOwner(const std::string& owner, int mode) const;

  YarnClusterOptions options_;
  std::string user_;
  bool kerberos_ = false;
  std::string renewer_;  ///< the ResourceManager's principal
  std::vector<hadoop::Endpoint> schedulers_;
  hadoop::RpcClientOptions application_client_;
  absl::Status docker_;
  PageProxy page_proxy_;
  std::optional<hadoop::NameService> hdfs_;
  std::string staging_;
  absl::StatusOr<std::vector<LogPlace>> log_places_;  ///< of use only to who wants logs
};

}  // namespace tony::backend
