// An ApplicationMaster that starts a command in each of some containers, waits for their ends, and
// finishes.
//
//   yarn_master HOST:PORT CONTAINERS MEMORY_MB COMMAND
//
// HOST:PORT is the ResourceManager's scheduler, which may be killed and started again meanwhile.
// Succeeds when all containers have exited with 0.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "hadoop/auth/token_file.h"
#include "hadoop/auth/token_message.h"
#include "hadoop/rpc/protocols.h"
#include "hadoop/rpc/remote_exception.h"
#include "hadoop/rpc/rpc_client.h"
#include "hadoop/yarn/container_protocol.pb.h"
#include "hadoop/yarn/master_protocol.pb.h"

namespace tony::hadoop {
namespace {

namespace yarn = ::hadoop::yarn;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTimeout = seconds(60);
constexpr Duration kHeartbeat = milliseconds(50);
constexpr char kNotRegistered[] = "ApplicationMasterNotRegisteredException";

/// Drives itself by the answers that come. Not thread safe: owned by the event loop.
class Master {
 public:
  Master(EventLoop& loop, const Endpoint& scheduler, Token token, int containers, int memory_mb,
         std::string command)
      : loop_(loop),
        scheduler_(loop, {.protocol = kApplicationMaster,
                          .servers = {scheduler},
                          .identity = {.token = std::move(token)}}),
        containers_(containers),
        memory_mb_(memory_mb),
        command_(std::move(command)) {}

  void Start() {
    yarn::RegisterApplicationMasterRequestProto request;
    request.set_host("localhost");
    request.set_rpc_port(0);
    request.set_tracking_url("");
    scheduler_.Call<yarn::RegisterApplicationMasterResponseProto>(
        "registerApplicationMaster", request, kTimeout, Retry::kUntilDeadline,
        [this](const auto& response) {
          if (!Check(response.status())) return;
          std::printf("registered in queue %s\n", response->queue().c_str());
          response_id_ = 0;
          Ask();
        });
  }

  absl::Status result() const { return result_; }

 private:
  void Ask() {
    yarn::AllocateRequestProto request;
    auto* const ask = request.add_ask();
    ask->mutable_priority()->set_priority(1);
    ask->set_resource_name("*");
    ask->mutable_capability()->set_memory(memory_mb_);
    ask->mutable_capability()->set_virtual_cores(1);
    ask->set_num_containers(containers_ - allocated_);
    Allocate(std::move(request));
  }

  void Allocate(yarn::AllocateRequestProto request) {
    request.set_response_id(response_id_);
    scheduler_.Call<yarn::AllocateResponseProto>(
        "allocate", request, kTimeout, Retry::kUntilDeadline, [this](const auto& response) {
          // A ResourceManager that was restarted knows nothing of this attempt.
          if (RemoteExceptionName(response.status()) == kNotRegistered) return Start();
          if (!Check(response.status())) return;
          response_id_ = response->response_id();
          for (const auto& token : response->nm_tokens()) {
            tokens_[Node(token.nodeid())] = TokenOf(token.token());
          }
          for (const auto& container : response->allocated_containers()) StartContainer(container);
          for (const auto& ended : response->completed_container_statuses()) End(ended);
          if (ended_ == containers_) return Finish();
          heartbeat_ = loop_.After(kHeartbeat, [this] { Allocate({}); });
        });
  }

  static std::string Node(const yarn::NodeIdProto& node) {
    return absl::StrCat(node.host(), ":", node.port());
  }

  void StartContainer(const yarn::ContainerProto& container) {
    ++allocated_;
    const std::string node = Node(container.nodeid());
    std::unique_ptr<RpcClient>& client = nodes_[node];
    if (client == nullptr) {
      client = std::make_unique<RpcClient>(
          loop_,
          RpcClientOptions{.protocol = kContainerManagement,
                           .servers = {{container.nodeid().host(), container.nodeid().port()}},
                           .identity = {.token = tokens_[node]}});
    }
    yarn::StartContainersRequestProto request;
    auto* const start = request.add_start_container_request();
    *start->mutable_container_token() = container.container_token();
    start->mutable_container_launch_context()->add_command(command_);
    client->Call<yarn::StartContainersResponseProto>(
        "startContainers", request, kTimeout, Retry::kUntilDeadline,
        [this, node](const auto& response) {
          if (!Check(response.status())) return;
          for (const auto& failed : response->failed_requests()) {
            Check(absl::InternalError(failed.exception().message()));
          }
          std::printf("started on %s\n", node.c_str());
        });
  }

  void End(const yarn::ContainerStatusProto& container) {
    ++ended_;
    if (container.exit_status() == 0) return;
    Check(absl::InternalError(
        absl::StrCat("exit ", container.exit_status(), ": ", container.diagnostics())));
  }

  void Finish() {
    yarn::FinishApplicationMasterRequestProto request;
    request.set_final_application_status(yarn::APP_SUCCEEDED);
    scheduler_.Call<yarn::FinishApplicationMasterResponseProto>(
        "finishApplicationMaster", request, kTimeout, Retry::kUntilDeadline,
        [this](const auto& response) {
          if (!Check(response.status())) return;
          if (response->isunregistered()) return loop_.Stop();
          heartbeat_ = loop_.After(kHeartbeat, [this] { Finish(); });
        });
  }

  bool Check(const absl::Status& status) {
    if (status.ok()) return true;
    result_.Update(status);
    loop_.Stop();
    return false;
  }

  EventLoop& loop_;
  RpcClient scheduler_;
  const int containers_;
  const int memory_mb_;
  const std::string command_;
  int response_id_ = 0;
  int allocated_ = 0;
  int ended_ = 0;
  std::map<std::string, Token> tokens_;
  std::map<std::string, std::unique_ptr<RpcClient>> nodes_;
  std::unique_ptr<EventLoop::Handle> heartbeat_;
  absl::Status result_;
};

absl::Status Run(char** arguments) {
  TONY_ASSIGN_OR_RETURN(const Endpoint scheduler, ParseEndpoint(arguments[1], 8030));
  const char* const path = std::getenv("HADOOP_TOKEN_FILE_LOCATION");
  if (path == nullptr) return absl::FailedPreconditionError("no HADOOP_TOKEN_FILE_LOCATION");
  TONY_ASSIGN_OR_RETURN(const TokenStore store, ReadTokenFile(path));
  const Token* const token = store.Find(kAmRmToken);
  if (token == nullptr) return absl::NotFoundError("no AMRMToken");
  EventLoop loop;
  Master master(loop, scheduler, *token, std::atoi(arguments[2]), std::atoi(arguments[3]),
                arguments[4]);
  master.Start();
  loop.Run();
  return master.result();
}

}  // namespace
}  // namespace tony::hadoop

int main(int count, char** arguments) {
  tony::SetUpProcess();
  if (count != 5) return 2;
  // Line buffering, because the test reads the output before the program has ended.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const absl::Status status = tony::hadoop::Run(arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "yarn_master: %s\n", status.ToString().c_str());
  return 1;
}
