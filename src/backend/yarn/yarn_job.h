// What client and ApplicationMaster of a job on YARN know in common.
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

// Secrets in the containers' token files.
/// A v1::YarnJob as JSON, for all, and no secret: executors leave it to their programs, since it is
/// what `tony-am --look-up` reads. Those that begin with "tony." they take away.
inline constexpr char kYarnJobSecret[] = "tony-job";
inline constexpr char kCredentialsSecret[] = "tony.credentials";  ///< an executor's
// The ApplicationMaster's alone.
inline constexpr char kAuthoritySecret[] = "tony.authority";  ///< of the job, with its key
inline constexpr char kClientSecret[] = "tony.client";        ///< what clients prove themselves by
inline constexpr char kConfigurationSecret[] = "tony.job.xml";  ///< no secret, but small
inline constexpr char kStagedSecret[] = "tony.staged.json";     ///< likewise

/// Of all jobs, below the folder of all of a user's files.
inline constexpr char kJobsFolder[] = "jobs";
/// Of a job, below the folder of all of a user's files: "jobs/application_1_0001".
std::string JobFolderName(const std::string& job_id);
/// Of what further jobs need again, likewise.
inline constexpr char kCacheFolder[] = "cache";
/// Of an archive that is known by its digest, in kCacheFolder.
std::string CachedName(const std::string& digest);
/// Whether a file in kCacheFolder is called as CachedName() has it, maybe with an archive's ending.
/// Others are not tony's: the folder may be one that the user had before.
bool IsCachedFile(const std::string& name);

// Names below YarnJob::folder().
/// The cluster's name: what another cluster does not know of may live on this one.
inline constexpr char kClusterFile[] = "cluster";
inline constexpr char kAddressFile[] = "am.address";
inline constexpr char kClientFile[] = "client.pem";  ///< what clients prove themselves by
inline constexpr char kStagedFolder[] = "staged";    ///< what nodes fetch
inline constexpr char kCheckpointFolder[] = "checkpoints";
/// Of no use once the job is over. The address is the last: executors look for it.
inline constexpr const char* kTransientFiles[] = {kClientFile, kStagedFolder, "journal",
                                                  storage::kUsageFile, kAddressFile};

// Names in the working folder of each container.
inline constexpr char kRuntimeLink[] = ".tony/runtime";
/// Of the ApplicationMaster, among its container's logs. YARN quotes from files of such names when
/// a container fails.
inline constexpr const char* kMasterLog = logs::kMasterLogName;
/// Followed by the archive's own name.
inline constexpr char kArchiveLinks[] = ".tony/archives/";

/// Where a node whose web pages are at `node` ("host:port") shows the logs of a container of
/// `user`'s.
std::string ContainerLogUrl(const std::string& node, const std::string& container_id,
                            const std::string& user);

/// A secret in a container's token file. NotFound – it is not there.
absl::StatusOr<std::string> FindSecret(const hadoop::TokenStore& tokens, const std::string& name);
/// kYarnJobSecret. As FindSecret; InvalidArgument – it is not a YarnJob.
absl::StatusOr<v1::YarnJob> ReadYarnJob(const hadoop::TokenStore& tokens);

/// The job's folder. `tokens`: the container's. FailedPrecondition – libcurl is missing.
absl::StatusOr<std::unique_ptr<storage::JobFiles>> OpenJobFolder(const v1::YarnJob& job,
                                                                 const hadoop::TokenStore& tokens);

hadoop::Endpoint EndpointOf(const v1::YarnJob::Endpoint& endpoint);
hadoop::NameService NameServiceOf(const v1::YarnJob::WebHdfs& hdfs);
/// What connections to YARN's servers have at least.
hadoop::RequiredProtection RequiredProtectionOf(const v1::YarnJob& job);
void SetProtection(const hadoop::RequiredProtection& protection, v1::YarnJob& job);
/// "hdfs://host:8020/user/ann/.tony/jobs/application_1_0001", or a path.
std::string UrlOfFolder(const v1::YarnJob& job);
/// The command that starts a program of the runtime bundle in a container.
std::vector<std::string> RuntimeCommand(const std::string& program);
/// How executors are started, but for their secrets.
LaunchTemplate ExecutorTemplate(const v1::YarnJob& job);

}  // namespace tony::backend
