// A client of a whole cluster: submits an application and follows it to its end.
//
//   yarn_submit CONFIGURATION_FOLDER USER COMMAND [FILE_IN_HDFS]
//
// COMMAND runs as the ApplicationMaster. FILE_IN_HDFS is written, looked at in all ways that
// hadoop/hdfs/webhdfs.h has, and localized as "input" for COMMAND. On a cluster with Kerberos USER
// is of no meaning, and only the first calls use the ticket; then delegation tokens do. Prints
// "application ID", then "end STATE FINAL DIAGNOSTICS"; exits with 0 when it has succeeded.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "hadoop/auth/token_file.h"
#include "hadoop/config/configuration.h"
#include "hadoop/hdfs/webhdfs.h"
#include "hadoop/rpc/blocking_rpc.h"
#include "hadoop/rpc/cluster_addresses.h"
#include "hadoop/rpc/delegation_tokens.h"
#include "hadoop/rpc/protocols.h"
#include "hadoop/yarn/client_protocol.pb.h"

namespace tony::hadoop {
namespace {

namespace yarn = ::hadoop::yarn;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTimeout = seconds(60);  // a ResourceManager may be restarted
constexpr int kPolls = 1200;
constexpr size_t kFileBytes = 3'000'000;

absl::Status Expect(bool condition, const std::string& what) {
  return condition ? absl::OkStatus() : absl::InternalError(absl::StrCat("not so: ", what));
}

/// The common data of all steps. A plain value.
struct Cluster {
  Configuration configuration;
  std::string user;
  RpcIdentity identity;
};

absl::StatusOr<Cluster> FindCluster(const std::string& folder, const std::string& user) {
  TONY_ASSIGN_OR_RETURN(
      Configuration configuration, Configuration::Load(folder, [](const std::string& name) {
        const char* const value = std::getenv(name.c_str());
        return value == nullptr ? std::optional<std::string>() : std::optional<std::string>(value);
      }));
  TONY_ASSIGN_OR_RETURN(RpcIdentity identity, ResourceManagerIdentity(configuration, user));
  return Cluster{
      .configuration = std::move(configuration), .user = user, .identity = std::move(identity)};
}

absl::StatusOr<RpcClientOptions> ResourceManagerOptions(const Cluster& cluster) {
  TONY_ASSIGN_OR_RETURN(auto servers,
                        ResourceManagers(cluster.configuration, ResourceManagerService::kClient));
  return RpcClientOptions{
      .protocol = kApplicationClient, .servers = std::move(servers), .identity = cluster.identity};
}

// A token that speaks for the user who has a ticket; and the life of another one, which the user
// may renew.
absl::StatusOr<Token> TryTokens(const Cluster& cluster, const RpcClientOptions& options) {
  BlockingRpcClient client(options);
  TONY_ASSIGN_OR_RETURN(
      Token token, GetResourceManagerToken(client, cluster.identity.server_principal, kTimeout));
  TONY_RETURN_IF_ERROR(Expect(token.kind == kResourceManagerDelegationToken, "the token's kind"));
  TONY_RETURN_IF_ERROR(
      Expect(!RenewResourceManagerToken(client, token, kTimeout).ok(), "only the renewer renews"));
  TONY_ASSIGN_OR_RETURN(const Token own, GetResourceManagerToken(client, "alice", kTimeout));
  TONY_ASSIGN_OR_RETURN(const int64_t end, RenewResourceManagerToken(client, own, kTimeout));
  TONY_RETURN_IF_ERROR(Expect(end > SystemClock().UnixMillis(), "it ends later"));
  TONY_RETURN_IF_ERROR(CancelResourceManagerToken(client, own, kTimeout));
  RpcClientOptions cancelled = options;
  cancelled.identity.token = own;
  BlockingRpcClient stranger(cancelled);
  const auto refused = stranger.Call<yarn::GetNewApplicationResponseProto>(
      "getNewApplication", yarn::GetNewApplicationRequestProto(), kTimeout);
  TONY_RETURN_IF_ERROR(Expect(absl::IsUnauthenticated(refused.status()), "a cancelled token"));
  return token;
}

// A file by SPNEGO, and the life of a token; the one returned is the ResourceManager's to renew.
absl::StatusOr<Token> TryHdfsTokens(const Cluster& cluster, const WebHdfsOptions& options,
                                    const std::string& path) {
  TONY_ASSIGN_OR_RETURN(WebHdfs hdfs, WebHdfs::Create(options));
  TONY_RETURN_IF_ERROR(hdfs.Write(path, 0600, true, "with a ticket"));
  TONY_ASSIGN_OR_RETURN(const std::string read, hdfs.Read(path, kFileBytes));
  TONY_RETURN_IF_ERROR(Expect(read == "with a ticket", "what is read was written"));
  TONY_ASSIGN_OR_RETURN(const bool deleted, hdfs.Delete(path, false));
  TONY_RETURN_IF_ERROR(Expect(deleted, "it was there"));
  TONY_ASSIGN_OR_RETURN(const Token own, hdfs.GetDelegationToken("alice"));
  TONY_ASSIGN_OR_RETURN(const int64_t end, hdfs.RenewDelegationToken(own));
  TONY_RETURN_IF_ERROR(Expect(end > SystemClock().UnixMillis(), "it ends later"));
  TONY_RETURN_IF_ERROR(hdfs.CancelDelegationToken(own));
  TONY_RETURN_IF_ERROR(Expect(!hdfs.RenewDelegationToken(own).ok(), "a cancelled token"));
  return hdfs.GetDelegationToken(cluster.identity.server_principal);
}

// The file's whole life but for its end. What is written is read back by another name.
absl::StatusOr<HdfsFileStatus> TryFiles(WebHdfs& hdfs, const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::string odd = folder + "/other name+%.txt";
  const std::string contents(kFileBytes, 'x');
  TONY_RETURN_IF_ERROR(hdfs.MakeFolders(folder, 0700));
  TONY_RETURN_IF_ERROR(hdfs.Write(odd, 0600, false, contents));
  TONY_RETURN_IF_ERROR(Expect(absl::IsAlreadyExists(hdfs.Write(odd, 0600, false, "")),
                              "what is there is not written over"));
  TONY_ASSIGN_OR_RETURN(const std::string read, hdfs.Read(odd, kFileBytes));
  TONY_RETURN_IF_ERROR(Expect(read == contents, "what is read was written"));
  TONY_RETURN_IF_ERROR(Expect(absl::IsResourceExhausted(hdfs.Read(odd, 10).status()), "a limit"));
  TONY_ASSIGN_OR_RETURN(const auto list, hdfs.List(folder));
  TONY_RETURN_IF_ERROR(Expect(list.size() == 1 && list[0].name == "other name+%.txt", "the list"));
  TONY_RETURN_IF_ERROR(hdfs.Write(path, 0600, true, "replaced"));
  TONY_RETURN_IF_ERROR(hdfs.Rename(odd, path));
  TONY_RETURN_IF_ERROR(Expect(absl::IsNotFound(hdfs.Status(odd).status()), "it has moved"));
  TONY_RETURN_IF_ERROR(hdfs.Write(path, 0600, true, "from HDFS\n"));
  TONY_RETURN_IF_ERROR(
      Expect(absl::IsNotFound(hdfs.Read(folder + "/none", 1).status()), "nothing is not found"));
  TONY_ASSIGN_OR_RETURN(HdfsFileStatus status, hdfs.Status(path));
  TONY_RETURN_IF_ERROR(
      Expect(status.bytes == 10 && status.mode == 0600 && !status.folder, "the status"));
  return status;
}

absl::Status AddInput(const Cluster& cluster, const std::string& path,
                      yarn::ContainerLaunchContextProto* context) {
  TONY_ASSIGN_OR_RETURN(const std::string url, cluster.configuration.Required("fs.defaultFS"));
  TONY_ASSIGN_OR_RETURN(const NameService service, FindNameService(cluster.configuration, url));
  WebHdfsOptions options{
      .name_service = service, .user = cluster.user, .kerberos = cluster.identity.kerberos};
  if (cluster.identity.kerberos) {
    TONY_ASSIGN_OR_RETURN(options.token, TryHdfsTokens(cluster, options, path));
    TokenStore store;
    store.Add(*options.token);
    context->set_tokens(FormatTokens(store, TokenFormat::kWritable));
  }
  TONY_ASSIGN_OR_RETURN(WebHdfs hdfs, WebHdfs::Create(options));
  TONY_ASSIGN_OR_RETURN(const HdfsFileStatus status, TryFiles(hdfs, path));
  auto* const input = context->add_localresources();
  input->set_key("input");
  input->mutable_value()->mutable_resource()->set_scheme("hdfs");
  input->mutable_value()->mutable_resource()->set_host(service.rpc.front().host);
  input->mutable_value()->mutable_resource()->set_port(service.rpc.front().port);
  input->mutable_value()->mutable_resource()->set_file(path);
  input->mutable_value()->set_size(status.bytes);
  input->mutable_value()->set_timestamp(status.modified_millis);
  input->mutable_value()->set_type(yarn::FILE);
  input->mutable_value()->set_visibility(yarn::APPLICATION);
  return absl::OkStatus();
}

absl::StatusOr<yarn::ApplicationIdProto> Submit(BlockingRpcClient& client,
                                                yarn::ContainerLaunchContextProto launch) {
  TONY_ASSIGN_OR_RETURN(const auto made,
                        client.Call<yarn::GetNewApplicationResponseProto>(
                            "getNewApplication", yarn::GetNewApplicationRequestProto(), kTimeout));
  yarn::SubmitApplicationRequestProto request;
  auto* const context = request.mutable_application_submission_context();
  *context->mutable_application_id() = made.application_id();
  context->set_application_name("hadoop_test");
  context->set_applicationtype("TONY");
  context->set_maxappattempts(1);
  context->mutable_resource()->set_memory(256);
  context->mutable_resource()->set_virtual_cores(1);
  *context->mutable_am_container_spec() = std::move(launch);
  TONY_ASSIGN_OR_RETURN(const auto submitted, client.Call<yarn::SubmitApplicationResponseProto>(
                                                  "submitApplication", request, kTimeout));
  return made.application_id();
}

absl::StatusOr<yarn::ApplicationReportProto> Follow(BlockingRpcClient& client,
                                                    const yarn::ApplicationIdProto& id) {
  yarn::GetApplicationReportRequestProto request;
  *request.mutable_application_id() = id;
  // The ResourceManager tells nobody of an end who does not ask.
  for (int poll = 0; poll < kPolls; ++poll) {
    TONY_ASSIGN_OR_RETURN(const auto response, client.Call<yarn::GetApplicationReportResponseProto>(
                                                   "getApplicationReport", request, kTimeout));
    const auto& report = response.application_report();
    if (report.yarn_application_state() >= yarn::FINISHED) return report;
    std::this_thread::sleep_for(milliseconds(50));
  }
  return absl::DeadlineExceededError("the application does not end");
}

absl::StatusOr<int> Run(int count, char** arguments) {
  TONY_ASSIGN_OR_RETURN(const Cluster cluster, FindCluster(arguments[1], arguments[2]));
  yarn::ContainerLaunchContextProto launch;
  launch.add_command(arguments[3]);
  TONY_ASSIGN_OR_RETURN(RpcClientOptions options, ResourceManagerOptions(cluster));
  if (cluster.identity.kerberos) {
    TONY_ASSIGN_OR_RETURN(options.identity.token, TryTokens(cluster, options));
  }
  if (count > 4) TONY_RETURN_IF_ERROR(AddInput(cluster, arguments[4], &launch));
  BlockingRpcClient client(options);
  TONY_ASSIGN_OR_RETURN(const auto id, Submit(client, std::move(launch)));
  std::printf("application application_%lld_%04d\n", static_cast<long long>(id.cluster_timestamp()),
              id.id());
  std::fflush(stdout);
  TONY_ASSIGN_OR_RETURN(const auto report, Follow(client, id));
  std::printf("end %s %s %s\n",
              yarn::YarnApplicationStateProto_Name(report.yarn_application_state()).c_str(),
              yarn::FinalApplicationStatusProto_Name(report.final_application_status()).c_str(),
              report.diagnostics().c_str());
  return report.final_application_status() == yarn::APP_SUCCEEDED ? 0 : 1;
}

}  // namespace
}  // namespace tony::hadoop

int main(int count, char** arguments) {
  tony::SetUpProcess();
  if (count < 4) return 2;
  const auto result = tony::hadoop::Run(count, arguments);
  if (result.ok()) return *result;
  std::fprintf(stderr, "yarn_submit: %s\n", result.status().ToString().c_str());
  return 3;
}
