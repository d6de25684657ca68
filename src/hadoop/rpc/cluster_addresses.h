// The addresses of a cluster's servers and the identity to use with them, from its configuration.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hadoop/auth/rpc_identity.h"
#include "hadoop/config/configuration.h"
#include "hadoop/rpc/tcp_stream.h"

namespace tony::hadoop {

enum class ResourceManagerService {
  kClient,     ///< yarn.resourcemanager.address
  kScheduler,  ///< yarn.resourcemanager.scheduler.address
  kWeb,        ///< yarn.resourcemanager.webapp.address, or …https.address
};

/// The ResourceManagers' addresses: one, or as many as yarn.resourcemanager.ha.rm-ids names.
/// FailedPrecondition – none is configured; InvalidArgument – the configured value is no address.
/// Both messages name file, line and key.
absl::StatusOr<std::vector<Endpoint>> ResourceManagers(const Configuration& configuration,
                                                       ResourceManagerService service);

/// Whether the cluster wants Kerberos (hadoop.security.authentication). InvalidArgument – the value
/// is neither "kerberos" nor "simple".
absl::StatusOr<bool> WantsKerberos(const Configuration& configuration);

/// The identity to use with the ResourceManagers: the Kerberos ticket if the cluster wants
/// Kerberos, otherwise the name `user`. The codes of WantsKerberos and ReadRequiredProtection;
/// FailedPrecondition – the ResourceManagers' principal is not configured.
absl::StatusOr<RpcIdentity> ResourceManagerIdentity(const Configuration& configuration,
                                                    const std::string& user);

/// The numeric IP addresses of the host named `host`. Blocks on the resolver. NotFound – the name
/// has no address.
absl::StatusOr<std::vector<std::string>> NumericAddresses(const std::string& host);

/// One HDFS and the addresses of its NameNodes. A plain value.
struct NameService {
  std::string authority;          ///< authority of its URLs: "host:8020", or a service's name
  std::vector<Endpoint> rpc;      ///< RPC addresses of its NameNodes
  std::vector<Endpoint> web;      ///< web addresses of its NameNodes, in the same order
  bool https = false;             ///< the web addresses speak TLS
  bool highly_available = false;  ///< `authority` is a service's name; NameNodes may be several

  /// The value of Token::service in tokens for this HDFS: "ha-hdfs:NAME" if it is highly available,
  /// otherwise the first NameNode's "IP:port". The latter looks the host's name up, and blocks.
  /// NotFound – the host has no address.
  absl::StatusOr<std::string> TokenService() const;
};

/// The HDFS that contains `url`; `url` may be the value of fs.defaultFS. InvalidArgument – `url` is
/// not of the form hdfs://AUTHORITY…, or a configured value is no address; FailedPrecondition – no
/// address is configured.
absl::StatusOr<NameService> FindNameService(const Configuration& configuration,
                                            const std::string& url);

}  // namespace tony::hadoop
