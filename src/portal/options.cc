// The table of tony-portal's options.
#include "portal/options.h"

#include <chrono>
#include <cstdlib>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/command_line.h"
#include "common/option_store.h"
#include "common/port_number.h"
#include "common/status_macros.h"
#include "os/network/network_interface.h"
#include "portal/shared_use.h"

namespace tony::portal {
namespace {

constexpr char kUsage[] =
    "tony-portal is started by `tony portal`, with --location= for each folder of jobs and with "
    "--index=";

/// Of a call to a cluster.
constexpr std::chrono::seconds kDefaultTimeout{10};

/// An absolute path without a slash at its end, so that two spellings of one folder are equal.
absl::StatusOr<std::string> ParseFolder(const std::string& text) {
  if (!absl::StartsWith(text, "/")) {
    return absl::InvalidArgumentError("not an absolute path of this machine");
  }
  std::string folder = text;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

/// Reads a folder of this machine or of an HDFS.
absl::Status StoreLocation(const std::string& text, Options& options) {
  if (absl::StrContains(text, "://")) {
    TONY_ASSIGN_OR_RETURN(const HdfsLocation location, ParseHdfsLocation(text));
    options.hdfs_locations.push_back(location);
    return absl::OkStatus();
  }
  TONY_ASSIGN_OR_RETURN(options.locations.emplace_back(), ParseFolder(text));
  return absl::OkStatus();
}

/// Reads "10.0.0.7:8443" or "[::1]:8443".
absl::Status StoreListen(const std::string& text, SharedUse& shared) {
  const size_t colon = text.rfind(':');
  std::string address = text.substr(0, colon);
  if (absl::StartsWith(address, "[") && absl::EndsWith(address, "]")) {
    address = address.substr(1, address.size() - 2);
  }
  if (colon == std::string::npos || KindOf(address) == AddressKind::kNone) {
    return absl::InvalidArgumentError(
        "not a numeric address with a port, like 10.0.0.7:8443, 0.0.0.0:8443 or [::]:8443");
  }
  TONY_ASSIGN_OR_RETURN(shared.port,
                        ParseNumber<int>(text.substr(colon + 1), "a port", 1, kLargestPort));
  shared.address = address;
  return absl::OkStatus();
}

OptionTable TableOf(Options& options) {
  return {
      {.name = "location",
       .value = "FOLDER",
       .repeatable = true,
       .meaning = "a folder that holds `jobs`, like that of tony.local.dir, or its URL in an HDFS",
       .store = [&options](const std::string& text) { return StoreLocation(text, options); }},
      {.name = "tony-history",
       .value = "FOLDER",
       .repeatable = true,
       .meaning = "a folder of TonY's histories, its tony.history.location",
       .store = StoreItem(options.tony_histories, &ParseFolder)},
      {.name = "index",
       .value = "FOLDER",
       .meaning = "the folder for the index",
       .store = StoreParsed(options.index_folder, &ParseFolder)},
      {.name = "port",
       .value = "PORT",
       .meaning = "the port on 127.0.0.1; any free one unless given",
       .store = StoreNumber(options.port, "a port", 1, kLargestPort)},
      {.name = "json", .meaning = "print the address as JSON", .store = StoreFlag(options.json)},
      {.name = "metrics-token-file",
       .value = "FILE",
       .meaning = "the token with which a program such as Prometheus reads metrics",
       .store = StoreText(options.metrics_token_file)},
      {.name = "add-user",
       .value = "NAME:ROLE",
       .meaning = "print a line for --users, and end; ROLE is view, which looks at everything, or "
                  "control, which may also end jobs that run on this machine",
       .store = StoreText(options.add_user)},
      {.name = "log-level",
       .value = "LEVEL",
       .meaning = "the lowest level that is logged",
       .store = StoreParsed(options.log_level, &ParseLogLevel)},
  };
}

OptionTable ClusterTableOf(Options& options, std::chrono::milliseconds& timeout) {
  backend::YarnClusterOptions& cluster = options.cluster;
  return {
      {.name = "cluster",
       .meaning = "show the user's jobs on the cluster of --hadoop-conf, too",
       .store = StoreFlag(options.with_cluster)},
      {.name = "hadoop-conf",
       .value = "FOLDER",
       .meaning = "Hadoop's configuration, for --cluster and for locations in an HDFS",
       .store = StoreParsed(cluster.conf_dir, &ParseFolder)},
      {.name = "hadoop-staging",
       .value = "PLACE",
       .meaning = "tony.yarn.staging-dir",
       .store = StoreText(cluster.staging_dir)},
      {.name = "hadoop-user",
       .value = "NAME",
       .meaning = "the user there",
       .store = StoreText(cluster.user)},
      {.name = "hadoop-home",
       .value = "FOLDER",
       .meaning = "the user's home on this machine",
       .store = StoreText(cluster.home)},
      {.name = "hadoop-tokens",
       .value = "FILE",
       .meaning = "tokens to authenticate with",
       .store = StoreText(cluster.token_file)},
      {.name = "hadoop-timeout-ms",
       .value = "MILLISECONDS",
       .meaning = "for each call to the cluster",
       .store = StoreMilliseconds(timeout, 1)},
  };
}

OptionTable SharedTableOf(SharedUse& shared) {
  return {
      {.name = "listen",
       .value = "ADDRESS:PORT",
       .meaning = "serve several users at this address",
       .store = [&shared](const std::string& text) { return StoreListen(text, shared); }},
      {.name = "certificate",
       .value = "FILE",
       .meaning = "the server's certificate, and those that lead to its authority",
       .store = StoreText(shared.certificate)},
      {.name = "key",
       .value = "FILE",
       .meaning = "the certificate's private key",
       .store = StoreText(shared.key)},
      {.name = "users",
       .value = "FILE",
       .meaning = "the users, as --add-user prints them",
       .store = StoreText(shared.users)},
      {.name = "proxy-header",
       .value = "NAME",
       .meaning = "the header in which a proxy names the user",
       .store = StoreText(shared.proxy_header)},
      {.name = "proxy-from",
       .value = "ADDRESSES",
       .meaning = "the proxy's numeric addresses, with commas between them",
       .store = StoreList(shared.proxy_from, ',')},
      {.name = "proxy-user",
       .value = "USER",
       .meaning = "who runs a proxy on this machine",
       .store = StoreText(shared.proxy_user)},
      {.name = "proxy-control",
       .value = "USERS",
       .meaning = "the proxy's users with the role control, who may also end jobs that run on this "
                  "machine, with commas between them",
       .store = StoreList(shared.control, ',')},
      {.name = "name",
       .value = "NAME",
       .repeatable = true,
       .meaning = "a name under which browsers call the portal",
       .store =
           StoreItem(shared.names,
                     [](const std::string& text) -> absl::StatusOr<std::string> { return text; })},
  };
}

}  // namespace

std::optional<std::string> EnvironmentVariable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::make_optional<std::string>(value);
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  std::chrono::milliseconds timeout = kDefaultTimeout;
  OptionTable table = TableOf(options);
  const OptionTable shared = SharedTableOf(options.shared);
  table.insert(table.end(), shared.begin(), shared.end());
  const OptionTable cluster = ClusterTableOf(options, timeout);
  table.insert(table.end(), cluster.begin(), cluster.end());
  TONY_RETURN_IF_ERROR(
      tony::ParseOptions(table, {std::next(arguments.begin()), arguments.end()}, kUsage));
  options.cluster.timeout = timeout;
  if (!options.add_user.empty()) return options;
  const bool nothing = options.locations.empty() && options.hdfs_locations.empty();
  if (nothing || options.index_folder.empty()) return absl::InvalidArgumentError(kUsage);
  for (const HdfsLocation& location : options.hdfs_locations) {
    if (!location.authority.empty() || !options.cluster.conf_dir.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--location ", location.ToString(),
        ": nothing says which HDFS that is; write hdfs://HOST:PORT/PATH, or set HADOOP_CONF_DIR"));
  }
  TONY_RETURN_IF_ERROR(CheckSharedUse(options.shared, os::OwnAddresses()));
  return options;
}

}  // namespace tony::portal
