// Definitions that the client and the ApplicationMaster of a job on YARN share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backend/yarn/launch_request.h"
#include "hadoop/auth/rpc_protection.h"
#include "hadoop/auth/token_file.h"
#include "hadoop/rpc/cluster_addresses.h"
#include "logs/container_logs.h"
#include "storage/archived_events.h"
#include "storage/job_files.h"
#include "tony/v1/yarn.pb.h"

namespace tony::backend {

// Names of secrets in the containers' token files.
/// A v1::YarnJob as JSON, for all containers. It is not secret: executors leave it to their
/// programs, because `tony-am --look-up` reads it. They remove the secrets that begin with "tony.".
inline constexpr char kYarnJobSecret[] = "tony-job";
inline constexpr char kCredentialsSecret[] = "tony.credentials";  ///< an executor's credentials
// Secrets that only the ApplicationMaster gets:
/// the job's certificate authority, with its key
inline constexpr char kAuthoritySecret[] = "tony.authority";
inline constexpr char kClientSecret[] = "tony.client";          ///< a client's credentials
inline constexpr char kConfigurationSecret[] = "tony.job.xml";  ///< job.xml; not secret, but small
inline constexpr char kStagedSecret[] = "tony.staged.json";  ///< staged.json; not secret, but small

/// Folder of all jobs, below the folder of all of a user's files.
inline constexpr char kJobsFolder[] = "jobs";
/// A job's folder, below the folder of all of a user's files: "jobs/application_1_0001".
std::string JobFolderName(const std::string& job_id);
/// Folder of files that later jobs use again, below the folder of all of a user's files.
inline constexpr char kCacheFolder[] = "cache";
/// Name, in kCacheFolder, of an archive with the given digest.
std::string CachedName(const std::string& digest);
/// Whether a file in kCacheFolder has a name that CachedName() makes, with or without an archive's
/// ending. Other files are not tony's: the user may have had the folder before.
bool IsCachedFile(const std::string& name);

// Names below YarnJob::folder().
/// Holds the cluster's name: a job that another cluster does not know may live on this one.
inline constexpr char kClusterFile[] = "cluster";
inline constexpr char kAddressFile[] = "am.address";
inline constexpr char kClientFile[] = "client.pem";  ///< a client's credentials
inline constexpr char kStagedFolder[] = "staged";    ///< files that nodes fetch
inline constexpr char kCheckpointFolder[] = "checkpoints";
/// Says what becomes of a job that is a step of a workflow; whoever makes it first decides: the
/// ApplicationMaster that begins, or a later attempt of the step that gives the job up.
inline constexpr char kStepClaim[] = "step.claim";
inline constexpr char kStepRuns[] = "runs";
inline constexpr char kStepGivenUp[] = "given up";
/// The files that are useless once the job is over, in the order of their removal. The address is
/// removed last, because executors look for it.
inline constexpr const char* kTransientFiles[] = {kClientFile, kStagedFolder, "journal",
                                                  storage::kUsageFile, kAddressFile};

// Names in the working folder of each container.
inline constexpr char kRuntimeLink[] = ".tony/runtime";
/// The ApplicationMaster's log among its container's logs. YARN quotes from files with such names
/// when a container fails.
inline constexpr const char* kMasterLog = logs::kMasterLogName;
/// Prefix of an archive's link; the archive's own name follows.
inline constexpr char kArchiveLinks[] = ".tony/archives/";

/// The URL at which a node with web pages at `node` ("host:port") shows the logs of a container of
/// `user`.
std::string ContainerLogUrl(const std::string& node, const std::string& container_id,
                            const std::string& user);

/// A secret in a container's token file. NotFound – the file has no such secret.
absl::StatusOr<std::string> FindSecret(const hadoop::TokenStore& tokens, const std::string& name);
/// Reads kYarnJobSecret. As FindSecret; InvalidArgument – the secret is not a YarnJob.
absl::StatusOr<v1::YarnJob> ReadYarnJob(const hadoop::TokenStore& tokens);

/// Opens the job's folder. `tokens`: the container's. FailedPrecondition – libcurl is missing.
absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenJobFolder(const v1::YarnJob& job,
                                                                 const hadoop::TokenStore& tokens);
/// Likewise the folder in which the user's jobs have theirs, for a reader that waits at most
/// `timeout` for an answer. FailedPrecondition – libcurl is missing.
absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenJobsFolder(const v1::YarnJob& job,
                                                                  const hadoop::TokenStore& tokens,
                                                                  Duration timeout);

hadoop::Endpoint EndpointOf(const v1::YarnJob::Endpoint& endpoint);
hadoop::NameService NameServiceOf(const v1::YarnJob::WebHdfs& hdfs);
/// The protection that connections to YARN's servers must at least have.
hadoop::RequiredProtection RequiredProtectionOf(const v1::YarnJob& job);
void SetProtection(const hadoop::RequiredProtection& protection, v1::YarnJob& job);
/// "hdfs://host:8020/user/ann/.tony/jobs/application_1_0001", or a path.
std::string UrlOfFolder(const v1::YarnJob& job);
/// The command that starts a program of the runtime bundle in a container.
std::vector<std::string> RuntimeCommand(const std::string& program);
/// The template by which executors are started, without their secrets.
LaunchTemplate ExecutorTemplate(const v1::YarnJob& job);

}  // namespace tony::backend
