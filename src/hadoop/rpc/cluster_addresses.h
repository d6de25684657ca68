// Where a cluster's servers are and how they know us, out of its configuration.
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
/// FailedPrecondition – none is configured; InvalidArgument – what is configured is no address.
/// Both name file, line and key.
absl::StatusOr<std::vector<Endpoint>> ResourceManagers(const Configuration& configuration,
                                                       ResourceManagerService service);

/// Whether the cluster wants Kerberos (hadoop.security.authentication). InvalidArgument – it wants
/// something else.
absl::StatusOr<bool> WantsKerberos(const Configuration& configuration);

/// As whom to speak with the ResourceManagers: with a ticket where the cluster wants Kerberos, else
/// as `user`. As WantsKerberos and ReadRequiredProtection, and FailedPrecondition – their principal
/// is not configured.
absl::StatusOr<RpcIdentity> ResourceManagerIdentity(const Configuration& configuration,
                                                    const std::string& user);

/// What a host's name means, as numbers. Blocks. NotFound – nothing.
absl::StatusOr<std::vector<std::string>> NumericAddresses(const std::string& host);

/// An HDFS. A plain value.
struct NameService {
  std::string authority;          ///< of its URLs: "host:8020", or the name of a service
  std::vector<Endpoint> rpc;      ///< of its NameNodes
  std::vector<Endpoint> web;      ///< in the same order
  bool https = false;             ///< the web addresses speak TLS
  bool highly_available = false;  ///< `authority` is a name, and there may be several NameNodes

  /// What tokens for it have in Token::service: "ha-hdfs:NAME", or the first NameNode's "IP:port",
  /// for which its name is looked up. NotFound – it has no address.
  absl::StatusOr<std::string> TokenService() const;
};

/// The HDFS that `url` lies in, e.g. the value of fs.defaultFS. InvalidArgument – not of the form
/// hdfs://AUTHORITY…, or what is configured for it is no address; FailedPrecondition – nothing is.
absl::StatusOr<NameService> FindNameService(const Configuration& configuration,
                                            const std::string& url);

}  // namespace tony::hadoop
