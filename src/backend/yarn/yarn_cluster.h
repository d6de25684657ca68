// A YARN cluster as described by a client's Hadoop configuration.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backend/yarn/launch_request.h"
#include "backend/yarn/log_locations.h"
#include "common/clock.h"
#include "hadoop/auth/token.h"
#include "hadoop/auth/token_file.h"
#include "hadoop/config/configuration.h"
#include "hadoop/hdfs/file_store.h"
#include "hadoop/hdfs/webhdfs.h"
#include "hadoop/rpc/cluster_addresses.h"
#include "hadoop/rpc/rpc_client.h"
#include "storage/job_files.h"

namespace tony::backend {

/// The parameters without which the cluster cannot be asked anything.
struct YarnClusterOptions {
  std::string conf_dir;  ///< the folder with core-site.xml and the other files
  /// Path or URI of a folder that has a folder for each user; empty: ".tony" in the user's home
  /// there.
  std::string staging_dir;
  std::string user;  ///< the user that a cluster without Kerberos takes for the caller
  std::string home;  ///< the user's home on this machine
  /// Stronger than the files in `conf_dir`.
  std::vector<hadoop::GivenValue> given;
  /// A file of tokens, with which the client authenticates where the cluster has Kerberos; a
  /// service without a token there gets the user's ticket. Empty: none.
  std::string token_file;
  Duration timeout{0};        ///< of each call
  std::stop_token stop = {};  ///< ends each call to HDFS: Cancelled
};

/// The proxy through which users look at applications' pages, and who may. A plain value.
struct PageProxy {
  std::vector<hadoop::Endpoint> servers;  ///< the servers of the proxy's web pages
  bool https = false;
  bool lists_apply = false;  ///< whether YARN checks who may see an application
  /// Users who may see all applications: "users groups", each separated by commas.
  std::string administrators;
};

/// Returns the name that tells a cluster from others that share its file system: its
/// ResourceManagers' addresses.
std::string ClusterName(const std::vector<hadoop::Endpoint>& resource_managers);

/// The cluster's servers, the user's identity there, and the place of our files. Thread safe
/// (immutable).
class YarnCluster {
 public:
  /// Reads the configuration; asks the NameNode for the user's home unless `options.staging_dir` is
  /// enough. FailedPrecondition, NotFound, InvalidArgument – a setting is wrong or missing; the
  /// message names file and line. Otherwise the codes of hadoop::WebHdfs.
  static absl::StatusOr<YarnCluster> Find(const YarnClusterOptions& options,
                                          hadoop::Environment environment);

  const std::string& user() const { return user_; }
  std::string Name() const { return ClusterName(application_client_.servers); }
  bool kerberos() const { return kerberos_; }
  /// The ResourceManagers' addresses for ApplicationMasters.
  const std::vector<hadoop::Endpoint>& schedulers() const { return schedulers_; }
  /// Options for ApplicationClient and ApplicationWatch.
  const hadoop::RpcClientOptions& application_client() const { return application_client_; }
  /// FailedPrecondition – the configuration says that nodes run no Docker containers. OK also if it
  /// says nothing about that.
  const absl::Status& docker() const { return docker_; }
  const PageProxy& page_proxy() const { return page_proxy_; }
  Duration timeout() const { return options_.timeout; }
  /// The same cluster with another timeout for each call.
  YarnCluster WithTimeout(Duration timeout) const;

  /// The HDFS that holds staging(); nullopt: a disk that all nodes share.
  const std::optional<hadoop::NameService>& hdfs() const { return hdfs_; }
  /// Path of our files there.
  const std::string& staging() const { return staging_; }
  /// The files below staging(). FailedPrecondition – libcurl is missing. PermissionDenied – another
  /// user owns the folder or may write there, and files in it are executed.
  absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenStaging() const;
  /// Where and with which size and time a node finds `name` below staging(). Codes of
  /// JobFiles::Describe.
  absl::StatusOr<LocalResource> ResourceAt(storage::JobFiles& staging,
                                           const std::string& name) const;
  /// The same for a file elsewhere. A file of our HDFS, also given as a webhdfs: URL, gets its size
  /// and time. A URL of another scheme is passed on unchanged, for the node to find.
  /// InvalidArgument – not a URL, a URL with a query, or a folder's URL. FailedPrecondition –
  /// another HDFS. Otherwise the codes of hadoop::WebHdfs::Status.
  absl::StatusOr<LocalResource> ResourceAt(const std::string& url) const;

  /// The places that may hold the logs of ended applications. The codes of FindLogLocations.
  const absl::StatusOr<std::vector<LogLocation>>& log_locations() const { return log_locations_; }
  /// The files in `place`. FailedPrecondition – libcurl is missing.
  absl::StatusOr<std::unique_ptr<hadoop::FileStore>> OpenLogs(const LogLocation& location) const;

  /// An HDFS token for the ApplicationMaster and the nodes, which the ResourceManager renews;
  /// nullopt if the cluster has no Kerberos. It is that of the token file if there is one, because
  /// HDFS gives no token to a user who has shown a token. The codes of hadoop::WebHdfs.
  absl::StatusOr<std::optional<hadoop::Token>> GetHdfsToken() const;
  /// Whether GetHdfsToken() gives the token file's.
  bool shares_hdfs_token() const { return hdfs_ && HdfsToken(*hdfs_).has_value(); }

 private:
  explicit YarnCluster(YarnClusterOptions options) : options_(std::move(options)) {}
  absl::Status FindServers(const hadoop::Configuration& configuration);
  absl::Status ReadTokens();
  absl::Status FindDocker(const hadoop::Configuration& configuration);
  absl::Status FindPageProxy(const hadoop::Configuration& configuration);
  absl::Status FindStaging(const hadoop::Configuration& configuration);
  absl::StatusOr<hadoop::WebHdfs> OpenHdfs(const hadoop::NameService& hdfs) const;
  /// The token file's token for `hdfs`.
  std::optional<hadoop::Token> HdfsToken(const hadoop::NameService& hdfs) const;
  /// Sets the address of our HDFS.
  absl::Status SetHdfs(LocalResource& resource) const;
  absl::Status CheckOwner(const std::string& owner, int mode) const;

  YarnClusterOptions options_;
  std::string user_;
  bool kerberos_ = false;
  hadoop::TokenStore tokens_;  ///< of the token file; empty without Kerberos
  std::string renewer_;        ///< the ResourceManager's principal
  std::vector<hadoop::Endpoint> schedulers_;
  hadoop::RpcClientOptions application_client_;
  absl::Status docker_;
  PageProxy page_proxy_;
  std::optional<hadoop::NameService> hdfs_;
  std::string staging_;
  /// An error matters only to callers that want logs.
  absl::StatusOr<std::vector<LogLocation>> log_locations_;
};

}  // namespace tony::backend
