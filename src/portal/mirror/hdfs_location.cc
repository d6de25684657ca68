// The folder of a user below tony.yarn.staging-dir has the layout of a location, so its owner is
// checked here as backend/yarn/yarn_cluster.cc checks it, but nothing is made.
#include "portal/mirror/hdfs_location.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "hadoop/auth/token_file.h"
#include "hadoop/hdfs/webhdfs.h"
#include "hadoop/rpc/protocols.h"
#include "hadoop/rpc/service_token.h"
#include "os/files/files.h"
#include "portal/mirror/life_questions.h"
#include "storage/hdfs_job_files.h"

namespace tony::portal {
namespace {

constexpr absl::string_view kHdfs = "hdfs://";
constexpr absl::string_view kWeb = "webhdfs://";
constexpr char kDefaultFs[] = "fs.defaultFS";
constexpr int kNameNodeWebPort = 9870;
constexpr int kOthersMayWrite = 0022;

/// Letters of hosts, ports and name services. A user with a password has no place there.
bool IsAuthority(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return absl::ascii_isalnum(letter) || absl::StrContains("-._:[]", static_cast<char>(letter));
  });
}

bool IsPath(const std::string& path) {
  if (path.size() < 2 || ToUtf8(path) != path) return false;
  const auto is_control = [](unsigned char letter) { return absl::ascii_iscntrl(letter); };
  if (std::any_of(path.begin(), path.end(), is_control)) return false;
  for (const absl::string_view part : absl::StrSplit(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

absl::StatusOr<hadoop::NameService> FindService(const HdfsLocation& location,
                                                const hadoop::Configuration& configuration) {
  if (location.web) {
    TONY_ASSIGN_OR_RETURN(const hadoop::Endpoint server,
                          hadoop::ParseEndpoint(location.authority, kNameNodeWebPort));
    return hadoop::NameService{.authority = location.authority, .web = {server}};
  }
  if (!location.authority.empty()) {
    return hadoop::FindNameService(configuration, absl::StrCat(kHdfs, location.authority));
  }
  TONY_ASSIGN_OR_RETURN(const std::string url, configuration.Text(kDefaultFs));
  if (absl::StartsWith(url, kHdfs)) return hadoop::FindNameService(configuration, url);
  return configuration.Complaint(
      absl::StatusCode::kFailedPrecondition, kDefaultFs,
      absl::StrCat(location.ToString(), " is in the default file system, which is ", url),
      "write hdfs://HOST:PORT/PATH");
}

/// Who asks: by name, by a ticket, or by a token of a file.
struct Identity {
  bool kerberos = false;
  hadoop::TokenStore tokens;
};

absl::StatusOr<Identity> FindIdentity(const hadoop::Configuration& configuration,
                                      const std::string& token_file) {
  Identity identity;
  TONY_ASSIGN_OR_RETURN(identity.kerberos, hadoop::WantsKerberos(configuration));
  if (identity.kerberos && !token_file.empty()) {
    TONY_ASSIGN_OR_RETURN(identity.tokens, hadoop::ReadTokenFile(token_file));
  }
  return identity;
}

std::optional<hadoop::Token> TokenFor(const Identity& identity, const std::string& kind,
                                      const std::vector<hadoop::Endpoint>& servers,
                                      const std::string& name) {
  const hadoop::Token* const token = hadoop::FindServiceToken(identity.tokens, kind, servers, name);
  return token == nullptr ? std::nullopt : std::make_optional(*token);
}

/// The name that the cluster gives to who asks: the home folder of a ticket's owner ends with it.
absl::StatusOr<std::string> OwnName(hadoop::WebHdfs& hdfs, const std::string& user, bool kerberos) {
  if (!kerberos) return user;
  TONY_ASSIGN_OR_RETURN(const std::string home, hdfs.HomeFolder());
  return home.substr(home.rfind('/') + 1);
}

absl::Status CheckOwner(hadoop::WebHdfs& hdfs, const HdfsLocation& location,
                        const std::string& user) {
  absl::StatusOr<hadoop::HdfsFileStatus> status = hdfs.Status(location.path);
  if (absl::IsNotFound(status.status())) {
    return absl::NotFoundError(absl::StrCat("there is no folder ", location.path));
  }
  TONY_RETURN_IF_ERROR(status.status());
  if (!status->folder) {
    return absl::FailedPreconditionError(absl::StrCat(location.path, " is no folder"));
  }
  if (status->owner == user && (status->mode & kOthersMayWrite) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(location.path, " belongs to ", status->owner, " and has mode ",
                   absl::StrFormat("%o", status->mode & 0777), ", but what lies there is shown as ",
                   user, "'s own: it has to be ", user, "'s, with nobody else writing to it"));
}

/// The configured ResourceManager; none, if there is none.
absl::StatusOr<std::optional<ResourceManagerAccess>> FindManager(
    const hadoop::Configuration& configuration, const Identity& identity,
    const backend::YarnClusterOptions& hadoop, const std::stop_token& stop) {
  const absl::StatusOr<std::vector<hadoop::Endpoint>> servers =
      hadoop::ResourceManagers(configuration, hadoop::ResourceManagerService::kClient);
  if (absl::IsFailedPrecondition(servers.status())) return std::nullopt;
  TONY_RETURN_IF_ERROR(servers.status());
  ResourceManagerAccess manager{.cluster = backend::ClusterName(*servers),
                                .client = {.protocol = hadoop::kApplicationClient},
                                .timeout = hadoop.timeout,
                                .stop = stop};
  manager.client.servers = *servers;
  TONY_ASSIGN_OR_RETURN(manager.client.identity,
                        hadoop::ResourceManagerIdentity(configuration, hadoop.user));
  if (const std::optional<hadoop::Token> token =
          TokenFor(identity, hadoop::kResourceManagerDelegationToken, *servers, "")) {
    manager.client.identity.token = *token;
  }
  return std::make_optional(std::move(manager));
}

}  // namespace

std::string HdfsLocation::ToString() const {
  return absl::StrCat(web ? kWeb : kHdfs, authority, path);
}

absl::StatusOr<HdfsLocation> ParseHdfsLocation(const std::string& text) {
  HdfsLocation location;
  absl::string_view rest = text;
  location.web = absl::ConsumePrefix(&rest, kWeb);
  if (location.web || absl::ConsumePrefix(&rest, kHdfs)) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    location.authority = std::string(rest.substr(0, slash));
    location.path = std::string(rest.substr(slash));
    while (absl::EndsWith(location.path, "/")) location.path.pop_back();
    const bool named = !location.web || !location.authority.empty();
    if (named && IsAuthority(location.authority) && IsPath(location.path)) return location;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      os::Quoted(text),
      " is no folder of this machine or of an HDFS; write /PATH, hdfs://HOST:PORT/PATH, "
      "webhdfs://HOST:PORT/PATH or, for the default file system of HADOOP_CONF_DIR, hdfs:///PATH"));
}

absl::StatusOr<JobMirror::Cluster> OpenHdfsLocation(const HdfsLocation& location,
                                                    const backend::YarnClusterOptions& hadoop,
                                                    const hadoop::Environment& environment,
                                                    const std::stop_token& stop) {
  hadoop::Configuration configuration;
  if (!hadoop.conf_dir.empty()) {
    TONY_ASSIGN_OR_RETURN(configuration,
                          hadoop::Configuration::Load(hadoop.conf_dir, environment, hadoop.given));
  }
  TONY_ASSIGN_OR_RETURN(const Identity identity, FindIdentity(configuration, hadoop.token_file));
  hadoop::WebHdfsOptions options;
  TONY_ASSIGN_OR_RETURN(options.name_service, FindService(location, configuration));
  const hadoop::NameService& service = options.name_service;
  options.user = hadoop.user;
  options.kerberos = identity.kerberos;
  // A token goes where the configuration leads, not to any web address that somebody has written.
  if (!location.web) {
    options.token =
        TokenFor(identity, hadoop::kHdfsDelegationToken, service.rpc,
                 service.highly_available ? absl::StrCat("ha-hdfs:", service.authority) : "");
  }
  options.timeout = hadoop.timeout;
  options.stop = stop;
  TONY_ASSIGN_OR_RETURN(hadoop::WebHdfs hdfs, hadoop::WebHdfs::Create(options));
  TONY_ASSIGN_OR_RETURN(const std::string user, OwnName(hdfs, hadoop.user, identity.kerberos));
  TONY_RETURN_IF_ERROR(CheckOwner(hdfs, location, user));
  TONY_ASSIGN_OR_RETURN(std::optional<ResourceManagerAccess> manager,
                        FindManager(configuration, identity, hadoop, stop));
  JobMirror::Cluster opened;
  // The folder may be given away, or opened to others, while the portal runs.
  TONY_ASSIGN_OR_RETURN(hadoop::WebHdfs asking, hadoop::WebHdfs::Create(options));
  opened.check_owner = [hdfs = std::make_shared<hadoop::WebHdfs>(std::move(asking)), location,
                        user] { return CheckOwner(*hdfs, location, user); };
  opened.files = std::make_unique<storage::HdfsJobFiles>(std::move(hdfs), location.path);
  const auto questions = std::make_shared<LifeQuestions>(*opened.files, std::move(manager));
  opened.is_over = [questions](const std::string& id) { return questions->IsOver(id); };
  return opened;
}

}  // namespace tony::portal
