// The names, URLs, secrets and commands on which client and ApplicationMaster agree.
#include "backend/yarn/yarn_job.h"

#include <google/protobuf/util/json_util.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "storage/hdfs_job_files.h"
#include "storage/local_job_files.h"

namespace tony::backend {

std::string JobFolderName(const std::string& job_id) {
  return absl::StrCat(kJobsFolder, "/", job_id);
}

std::string CachedName(const std::string& digest) {
  return absl::StrCat(kCacheFolder, "/", digest);
}

bool IsCachedFile(const std::string& name) {
  constexpr size_t kDigits = 64;  // hexadecimal digits of SHA-256
  const std::string digest = name.substr(0, kDigits);
  const std::string ending = name.substr(digest.size());
  const bool hexadecimal = std::all_of(digest.begin(), digest.end(), [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
  });
  return digest.size() == kDigits && hexadecimal && (ending.empty() || ending == ".tar.gz");
}

std::string ContainerLogUrl(const std::string& node, const std::string& container_id,
                            const std::string& user) {
  return absl::StrCat("http://", node, "/node/containerlogs/", container_id, "/", user);
}

absl::StatusOr<std::string> FindSecret(const hadoop::TokenStore& tokens, const std::string& name) {
  for (const auto& [own, secret] : tokens.secrets) {
    if (own == name) return secret;
  }
  return absl::NotFoundError(absl::StrCat("the container's token file has no secret ", name));
}

absl::StatusOr<v1::YarnJob> ReadYarnJob(const hadoop::TokenStore& tokens) {
  TONY_ASSIGN_OR_RETURN(const std::string text, FindSecret(tokens, kYarnJobSecret));
  v1::YarnJob job;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &job);
  if (status.ok()) return job;
  return absl::InvalidArgumentError(absl::StrCat(kYarnJobSecret, ": ", status.ToString()));
}

namespace {

absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenFolder(const v1::YarnJob& job,
                                                              const std::string& folder,
                                                              const hadoop::TokenStore& tokens,
                                                              std::optional<Duration> timeout) {
  if (!job.has_hdfs()) return std::make_unique<storage::LocalJobFiles>(folder);
  hadoop::WebHdfsOptions options{.name_service = NameServiceOf(job.hdfs()), .user = job.user()};
  const hadoop::Token* const token = tokens.Find(hadoop::kHdfsDelegationToken);
  if (token != nullptr) options.token = *token;
  if (timeout) options.timeout = *timeout;
  TONY_ASSIGN_OR_RETURN(hadoop::WebHdfs hdfs, hadoop::WebHdfs::Create(std::move(options)));
  return std::make_unique<storage::HdfsJobFiles>(std::move(hdfs), folder);
}

}  // namespace

absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenJobFolder(const v1::YarnJob& job,
                                                                 const hadoop::TokenStore& tokens) {
  return OpenFolder(job, job.folder(), tokens, std::nullopt);
}

absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenJobsFolder(const v1::YarnJob& job,
                                                                  const hadoop::TokenStore& tokens,
                                                                  Duration timeout) {
  return OpenFolder(job, job.folder().substr(0, job.folder().rfind('/')), tokens, timeout);
}

hadoop::Endpoint EndpointOf(const v1::YarnJob::Endpoint& endpoint) {
  return {endpoint.host(), endpoint.port()};
}

hadoop::NameService NameServiceOf(const v1::YarnJob::WebHdfs& hdfs) {
  hadoop::NameService service{.authority = hdfs.authority(),
                              .https = hdfs.https(),
                              .highly_available = hdfs.highly_available()};
  for (const v1::YarnJob::Endpoint& server : hdfs.name_nodes()) {
    service.rpc.push_back(EndpointOf(server));
  }
  for (const v1::YarnJob::Endpoint& server : hdfs.web()) service.web.push_back(EndpointOf(server));
  return service;
}

hadoop::RequiredProtection RequiredProtectionOf(const v1::YarnJob& job) {
  hadoop::RequiredProtection protection{.demand = job.protection().demand()};
  switch (job.protection().minimum()) {
    case v1::YarnJob::Protection::AUTHENTICATION:
      protection.minimum = hadoop::Protection::kAuthentication;
      break;
    case v1::YarnJob::Protection::INTEGRITY:
      protection.minimum = hadoop::Protection::kIntegrity;
      break;
    default:
      protection.minimum = hadoop::Protection::kPrivacy;
  }
  return protection;
}

void SetProtection(const hadoop::RequiredProtection& protection, v1::YarnJob& job) {
  v1::YarnJob::Protection& proto = *job.mutable_protection();
  proto.set_demand(protection.demand);
  switch (protection.minimum) {
    case hadoop::Protection::kAuthentication:
      return proto.set_minimum(v1::YarnJob::Protection::AUTHENTICATION);
    case hadoop::Protection::kIntegrity:
      return proto.set_minimum(v1::YarnJob::Protection::INTEGRITY);
    case hadoop::Protection::kPrivacy:
      return proto.set_minimum(v1::YarnJob::Protection::PRIVACY);
  }
}

std::string UrlOfFolder(const v1::YarnJob& job) {
  if (!job.has_hdfs()) return job.folder();
  return absl::StrCat("hdfs://", job.hdfs().authority(), job.folder());
}

std::vector<std::string> RuntimeCommand(const std::string& program) {
  return {absl::StrCat("./", kRuntimeLink, "/tony-runtime/bin/start"), program};
}

LaunchTemplate ExecutorTemplate(const v1::YarnJob& job) {
  LaunchTemplate launch;
  launch.command = RuntimeCommand("tony-executor");
  for (const v1::YarnJob::Resource& resource : job.resources()) {
    launch.resources.push_back(
        {.name = resource.name(),
         .scheme = resource.scheme(),
         .host = resource.host(),
         .port = resource.port(),
         .path = resource.path(),
         .bytes = resource.bytes(),
         .modified_millis = resource.modified_millis(),
         .type = resource.unpacked() ? LocalResource::Type::kArchive : LocalResource::Type::kFile,
         .visibility = resource.kept() ? LocalResource::Visibility::kPrivate
                                       : LocalResource::Visibility::kApplication});
  }
  launch.view_acl = job.view_acl();
  launch.modify_acl = job.modify_acl();
  return launch;
}

}  // namespace tony::backend
