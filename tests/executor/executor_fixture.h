// A real executor on the test's loop, attached to a real ApplicationMaster's server that the test
// speaks for.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/executor.h"
#include "rpc/convert/convert.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/services/job_service.h"
#include "rpc/services/master_server.h"
#include "tests/common/loop_driver.h"
#include "tests/executor/ready_pipe.h"
#include "tests/executor/task/counting_service.h"
#include "tests/os/temporary_folder.h"
#include "tests/rpc/inbox.h"

namespace tony::executor {

/// The keeper is forked first: the server's threads come later.
class ExecutorFixture : public ::testing::Test {
 protected:
  static constexpr char kJobId[] = "job-1";

  void SetUp() override {
    Serve(job_service_, service_);
    std::filesystem::create_directories(working_);
  }

  /// Starts a server, in place of any before.
  void Serve(rpc::JobService& jobs, CountingService& executors) {
    auto server = rpc::MasterServer::Start(
        "127.0.0.1", rpc::Peers::kOwnUser,
        authority_.Issue(rpc::ApplicationMasterRole(kJobId)).value(), jobs, executors);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  void StartExecutor(std::chrono::milliseconds registry_timeout = {}) {
    Options options;
    options.container_id = container_;
    options.master_address = server_->address();
    options.address_file = address_file_;
    options.registry_timeout = registry_timeout;
    executor_ =
        std::make_unique<Executor>(driver_.loop(), *keeper_, options, working_,
                                   std::vector<std::string>{"PATH=/usr/local/bin:/usr/bin:/bin",
                                                            absl::StrCat("READY=", ready_.path())});
    executor_->Start(authority_.Issue(rpc::ExecutorRole(kJobId, container_)).value());
  }

  v1::Assignment AssignmentOf(const std::string& command) const {
    v1::Assignment assignment;
    assignment.mutable_task()->set_type("worker");
    assignment.set_job_id(kJobId);
    assignment.set_framework("standalone");
    assignment.set_command(command);
    assignment.set_log_folder(folder_ / "logs");
    assignment.set_cache_folder(folder_ / "cache");
    assignment.set_heartbeat_interval_ms(20);
    assignment.set_metrics_interval_ms(60'000);
    assignment.set_kill_grace_ms(200);
    assignment.set_tail_lines(20);
    return assignment;
  }

  void Send(const v1::MasterMessage& message) {
    EXPECT_EQ(service_.Send(container_, message), absl::OkStatus());
  }
  void SendAssignment(const v1::Assignment& assignment) {
    v1::MasterMessage message;
    *message.mutable_assignment() = assignment;
    Send(message);
  }
  void SendPrepare(int epoch, int attempt) {
    v1::MasterMessage message;
    message.mutable_prepare()->set_epoch(epoch);
    message.mutable_prepare()->set_attempt(attempt);
    Send(message);
  }
  void SendStart(int epoch, const std::string& cluster_spec = "") {
    v1::MasterMessage message;
    message.mutable_start()->set_epoch(epoch);
    message.mutable_start()->set_cluster_spec(cluster_spec);
    Send(message);
  }
  void SendShutdown() {
    v1::MasterMessage message;
    message.mutable_shutdown()->set_reason("the job is over");
    Send(message);
  }

  /// Asks the executor, as the ApplicationMaster does.
  void OnWish(const rpc::TunnelRelay::Wish& wish) {
    tunnels_.Expect(wish.tunnel, container_);
    v1::MasterMessage message;
    message.mutable_open_tunnel()->set_tunnel(wish.tunnel);
    message.mutable_open_tunnel()->set_port(wish.port);
    if (wish.logs) *message.mutable_open_tunnel()->mutable_logs() = *wish.logs;
    Send(message);
  }

  /// A sign of life that Next() has left out.
  virtual void OnHeartbeat(const core::input::Heartbeat& /*heartbeat*/) {}

  /// The executor's next message except heartbeats; it must be of type `Kind`.
  template <typename Kind>
  Kind Next() {
    std::optional<core::JobInput> input;
    const auto said = [&] {
      while (!input && (input = inputs_.TryNext())) {
        const auto* heartbeat = std::get_if<core::input::Heartbeat>(&*input);
        if (heartbeat == nullptr) break;
        OnHeartbeat(*heartbeat);
        input.reset();
      }
      return input.has_value();
    };
    EXPECT_TRUE(driver_.Await(said)) << "the executor says nothing";
    if (!input) return Kind{};
    EXPECT_TRUE(std::holds_alternative<Kind>(*input)) << "it says kind " << input->index();
    return std::holds_alternative<Kind>(*input) ? std::get<Kind>(*input) : Kind{};
  }

  /// Attaches, is assigned `assignment` and registers for `epoch`.
  core::input::ExecutorRegistered Register(const v1::Assignment& assignment, int epoch = 1) {
    StartExecutor();
    EXPECT_EQ(Next<core::input::ExecutorAttached>().container_id, container_);
    SendAssignment(assignment);
    SendPrepare(epoch, epoch);
    return Next<core::input::ExecutorRegistered>();
  }
  /// The same, and starts the program; returns its process.
  pid_t RunTask(const v1::Assignment& assignment, int epoch = 1) {
    Register(assignment, epoch);
    SendStart(epoch);
    return static_cast<pid_t>(Next<core::input::TaskStarted>().pid);
  }
  /// Runs the loop until the executor stops it.
  int ExitCode() {
    EXPECT_TRUE(driver_.AwaitStop()) << "the executor does not leave";
    return executor_->exit_code();
  }

  const std::string container_ = absl::StrCat("job-1-c", ::getpid());
  std::unique_ptr<os::Keeper> keeper_ =
      os::Keeper::Start(container_, {.way = os::ContainmentWay::kProcessTree}).value();
  os::TemporaryFolder folder_;
  const std::string working_ = folder_ / "working folder";
  LoopDriver driver_;
  ReadyPipe ready_{driver_, folder_ / "ready"};
  rpc::CertificateAuthority authority_ = rpc::CertificateAuthority::Create(kJobId).value();
  rpc::EventLog log_;
  rpc::TunnelRelay tunnels_{[this](const rpc::TunnelRelay::Wish& wish) {
    driver_.loop().Post([this, wish] { OnWish(wish); });
  }};
  rpc::JobService job_service_{kJobId, log_, tunnels_, {}};
  rpc::Inbox<core::JobInput> inputs_;
  CountingService service_{kJobId, tunnels_, {[this](core::JobInput input) {
                             inputs_.Push(std::move(input));
                             driver_.Changed();
                           }}};
  std::unique_ptr<rpc::MasterServer> server_;
  std::string address_file_;  ///< where the executor finds the next server; empty: nowhere
  std::unique_ptr<Executor> executor_;
};

}  // namespace tony::executor
