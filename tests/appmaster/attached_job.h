// A job whose executors the test plays over real connections.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/job/job_machine.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/services/event_log.h"
#include "rpc/services/executor_service.h"
#include "rpc/services/executor_session.h"
#include "rpc/services/job_service.h"
#include "rpc/services/master_server.h"
#include "tests/common/loop_driver.h"

namespace tony::appmaster {

inline constexpr char kJobId[] = "job-1";
inline constexpr int kWorkers = 3;

/// A job of kWorkers workers, which have containers; Run() attaches their executors.
class AttachedJobTest : public ::testing::Test {
 protected:
  /// What the executor of a worker does with a message; called on gRPC's threads.
  using Obey = std::function<void(int worker, const v1::MasterMessage& message)>;

  explicit AttachedJobTest(rpc::ExecutorService::Sinks sinks,
                           const rpc::JobService::Callbacks& callbacks = {})
      : job_service_(kJobId, log_, tunnels_, callbacks),
        executors_(kJobId, tunnels_, WithAttachments(std::move(sinks))) {
    core::JobDescription job;
    job.types.resize(1);
    job.types[0].name = "worker";
    job.types[0].instances = kWorkers;
    machine_ = std::make_unique<core::JobMachine>(job);
    Apply(core::input::Start{1, ""});
    for (int i = 0; i < kWorkers; ++i) {
      core::Container container;
      container.id = Id(i);
      container.type = "worker";
      container.host = container.host_id = "node7";
      Apply(core::input::ContainerGranted{container});
    }
  }
  void SetUp() override {
    auto server = rpc::MasterServer::Start(
        "127.0.0.1", rpc::Peers::kOwnUser,
        authority_.Issue(rpc::ApplicationMasterRole(kJobId)).value(), job_service_, executors_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void TearDown() override {
    sessions_.clear();
    server_->Shutdown(std::chrono::seconds(0));
  }

  static std::string Id(int worker) { return "c" + std::to_string(worker); }
  void Apply(const core::JobInput& input) { (void)machine_->Apply(input, clock_.Now()); }

  /// Attaches all executors, and their programs run.
  void RunAll(const Obey& obey) {
    for (int i = 0; i < kWorkers; ++i) {
      sessions_.push_back(std::make_unique<rpc::ExecutorSession>(
          server_->address(), authority_.Issue(rpc::ExecutorRole(kJobId, Id(i))).value(),
          rpc::ExecutorSession::Callbacks{
              [i, obey](const v1::MasterMessage& message) { obey(i, message); },
              [](const absl::Status&) {}}));
      v1::ExecutorMessage hello;
      hello.mutable_hello()->set_container_id(Id(i));
      sessions_.back()->Send(hello);
    }
    ASSERT_TRUE(driver_.Await([this] { return attached_ == kWorkers; }));
    for (int i = 0; i < kWorkers; ++i) {
      Apply(core::input::ExecutorAttached{Id(i)});
      Apply(core::input::ExecutorRegistered{Id(i), 0, 1, 2222, 0});
    }
    for (int i = 0; i < kWorkers; ++i) Apply(core::input::TaskStarted{Id(i), 0, 1, 1000});
    ASSERT_EQ(machine_->tasks().count(core::TaskState::kRunning), kWorkers);
  }

  LoopDriver driver_;
  SystemClock clock_;
  rpc::CertificateAuthority authority_ = rpc::CertificateAuthority::Create(kJobId).value();
  rpc::EventLog log_;
  rpc::TunnelRelay tunnels_{[](const rpc::TunnelRelay::Wish&) {}};
  std::unique_ptr<core::JobMachine> machine_;
  int attached_ = 0;
  rpc::JobService job_service_;
  rpc::ExecutorService executors_;
  std::unique_ptr<rpc::MasterServer> server_;
  std::vector<std::unique_ptr<rpc::ExecutorSession>> sessions_;

 private:
  rpc::ExecutorService::Sinks WithAttachments(rpc::ExecutorService::Sinks sinks) {
    sinks.inputs = [this](const core::JobInput& input) {
      if (!std::holds_alternative<core::input::ExecutorAttached>(input)) return;
      driver_.loop().Post([this] { ++attached_; });
      driver_.Changed();
    };
    return sinks;
  }
};

}  // namespace tony::appmaster
