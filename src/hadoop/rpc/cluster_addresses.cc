// Hadoop's rules for which configuration key holds a server's address, with Hadoop's default ports.
#include "hadoop/rpc/cluster_addresses.h"

#include <netdb.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

constexpr char kHaEnabled[] = "yarn.resourcemanager.ha.enabled";
constexpr char kHaIds[] = "yarn.resourcemanager.ha.rm-ids";
constexpr char kHostname[] = "yarn.resourcemanager.hostname";
constexpr char kHdfsScheme[] = "hdfs://";
constexpr int kNameNodePort = 8020;

struct ServiceKey {
  std::string name;
  int port;
};

absl::StatusOr<ServiceKey> KeyOf(const Configuration& configuration,
                                 ResourceManagerService service) {
  switch (service) {
    case ResourceManagerService::kClient:
      return ServiceKey{"yarn.resourcemanager.address", 8032};
    case ResourceManagerService::kScheduler:
      return ServiceKey{"yarn.resourcemanager.scheduler.address", 8030};
    case ResourceManagerService::kWeb:
      break;
  }
  TONY_ASSIGN_OR_RETURN(const std::string policy, configuration.Text("yarn.http.policy"));
  if (policy == "HTTPS_ONLY") return ServiceKey{"yarn.resourcemanager.webapp.https.address", 8090};
  return ServiceKey{"yarn.resourcemanager.webapp.address", 8088};
}

absl::StatusOr<Endpoint> EndpointAt(const Configuration& configuration, const std::string& key,
                                    int default_port) {
  TONY_ASSIGN_OR_RETURN(const std::string text, configuration.Required(key));
  const absl::StatusOr<Endpoint> endpoint = ParseEndpoint(text, default_port);
  if (endpoint.ok()) return endpoint;
  return configuration.Complaint(absl::StatusCode::kInvalidArgument, key,
                                 std::string(endpoint.status().message()), "write host:port");
}

// The address of the ResourceManager `id` of a highly available group: the value of
// "<service key>.<id>", or the service's default port at "yarn.resourcemanager.hostname.<id>".
absl::StatusOr<Endpoint> EndpointOfId(const Configuration& configuration, const ServiceKey& key,
                                      const std::string& id) {
  const std::string own = absl::StrCat(key.name, ".", id);
  if (configuration.IsSet(own)) return EndpointAt(configuration, own, key.port);
  TONY_ASSIGN_OR_RETURN(const std::string host,
                        configuration.Required(absl::StrCat(kHostname, ".", id)));
  return Endpoint{.host = host, .port = key.port};
}

absl::StatusOr<NameService> OneNameNode(const Configuration& configuration,
                                        const std::string& authority, bool https,
                                        const std::string& web_key) {
  const absl::StatusOr<Endpoint> rpc = ParseEndpoint(authority, kNameNodePort);
  if (!rpc.ok()) {
    return configuration.Complaint(absl::StatusCode::kInvalidArgument, "fs.defaultFS",
                                   std::string(rpc.status().message()), "write hdfs://host:port");
  }
  TONY_ASSIGN_OR_RETURN(Endpoint web, EndpointAt(configuration, web_key, https ? 9871 : 9870));
  // The default web address is 0.0.0.0, which tells the server where to listen. A client takes the
  // host from the file system's URL instead.
  if (web.host == "0.0.0.0" || web.host == "::") web.host = rpc->host;
  return NameService{.authority = authority, .rpc = {*rpc}, .web = {web}, .https = https};
}

absl::StatusOr<NameService> NamedService(const Configuration& configuration,
                                         const std::string& name, bool https,
                                         const std::string& web_key) {
  NameService service{.authority = name, .https = https, .highly_available = true};
  const std::string ids_key = absl::StrCat("dfs.ha.namenodes.", name);
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> suffixes, configuration.List(ids_key));
  for (std::string& suffix : suffixes) suffix = absl::StrCat(".", name, ".", suffix);
  if (suffixes.empty()) suffixes.push_back(absl::StrCat(".", name));
  for (const std::string& suffix : suffixes) {
    TONY_ASSIGN_OR_RETURN(
        service.rpc.emplace_back(),
        EndpointAt(configuration, "dfs.namenode.rpc-address" + suffix, kNameNodePort));
    TONY_ASSIGN_OR_RETURN(service.web.emplace_back(),
                          EndpointAt(configuration, web_key + suffix, https ? 9871 : 9870));
  }
  return service;
}

}  // namespace

absl::StatusOr<std::vector<Endpoint>> ResourceManagers(const Configuration& configuration,
                                                       ResourceManagerService service) {
  TONY_ASSIGN_OR_RETURN(const ServiceKey key, KeyOf(configuration, service));
  TONY_ASSIGN_OR_RETURN(const bool several, configuration.Boolean(kHaEnabled, false));
  std::vector<Endpoint> servers;
  if (several) {
    TONY_ASSIGN_OR_RETURN(const auto ids, configuration.List(kHaIds));
    for (const std::string& id : ids) {
      TONY_ASSIGN_OR_RETURN(servers.emplace_back(), EndpointOfId(configuration, key, id));
    }
    if (!servers.empty()) return servers;
    return configuration.Complaint(
        absl::StatusCode::kFailedPrecondition, kHaIds, "has no value",
        absl::StrCat("name the ResourceManagers, or turn ", kHaEnabled, " off"));
  }
  if (!configuration.IsSet(key.name) && !configuration.IsSet(kHostname)) {
    return configuration.Complaint(
        absl::StatusCode::kFailedPrecondition, kHostname, "no ResourceManager is configured",
        "set it, or point HADOOP_CONF_DIR at the cluster's configuration");
  }
  TONY_ASSIGN_OR_RETURN(servers.emplace_back(), EndpointAt(configuration, key.name, key.port));
  return servers;
}

absl::StatusOr<bool> WantsKerberos(const Configuration& configuration) {
  constexpr char kKey[] = "hadoop.security.authentication";
  TONY_ASSIGN_OR_RETURN(const std::string kind, configuration.Text(kKey));
  if (kind == "kerberos" || kind == "simple") return kind == "kerberos";
  return configuration.Complaint(absl::StatusCode::kInvalidArgument, kKey,
                                 absl::StrCat("'", kind, "' is not known here"),
                                 "write simple or kerberos");
}

absl::StatusOr<RpcIdentity> ResourceManagerIdentity(const Configuration& configuration,
                                                    const std::string& user) {
  TONY_ASSIGN_OR_RETURN(const bool kerberos, WantsKerberos(configuration));
  TONY_ASSIGN_OR_RETURN(RequiredProtection protection, ReadRequiredProtection(configuration));
  if (!kerberos) return RpcIdentity{.user = user, .protection = std::move(protection)};
  TONY_ASSIGN_OR_RETURN(std::string principal,
                        configuration.Required("yarn.resourcemanager.principal"));
  return RpcIdentity{.kerberos = true,
                     .server_principal = std::move(principal),
                     .protection = std::move(protection)};
}

absl::StatusOr<NameService> FindNameService(const Configuration& configuration,
                                            const std::string& url) {
  const std::string authority =
      absl::StartsWith(url, kHdfsScheme)
          ? url.substr(sizeof(kHdfsScheme) - 1)
                .substr(0, url.find('/', sizeof(kHdfsScheme) - 1) - (sizeof(kHdfsScheme) - 1))
          : "";
  if (authority.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", url, "' is no URL of HDFS; write hdfs://host:port/path"));
  }
  TONY_ASSIGN_OR_RETURN(const std::string policy, configuration.Text("dfs.http.policy"));
  const bool https = policy == "HTTPS_ONLY";
  const std::string web_key = https ? "dfs.namenode.https-address" : "dfs.namenode.http-address";
  TONY_ASSIGN_OR_RETURN(const auto names, configuration.List("dfs.nameservices"));
  return std::find(names.begin(), names.end(), authority) == names.end()
             ? OneNameNode(configuration, authority, https, web_key)
             : NamedService(configuration, authority, https, web_key);
}

absl::StatusOr<std::vector<std::string>> NumericAddresses(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  if (error != 0) {
    return absl::NotFoundError(
        absl::StrCat("the host ", host, " has no address: ", gai_strerror(error)));
  }
  std::vector<std::string> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    char address[NI_MAXHOST];
    if (getnameinfo(one->ai_addr, one->ai_addrlen, address, sizeof(address), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      addresses.emplace_back(address);
    }
  }
  if (addresses.empty()) return absl::NotFoundError(absl::StrCat(host, " has no address"));
  return addresses;
}

absl::StatusOr<std::string> NameService::TokenService() const {
  if (highly_available) return absl::StrCat("ha-hdfs:", authority);
  const Endpoint& server = rpc.front();
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> addresses, NumericAddresses(server.host));
  return absl::StrCat(addresses.front(), ":", server.port);
}

}  // namespace tony::hadoop
