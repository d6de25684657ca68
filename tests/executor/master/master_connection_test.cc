// When another stream is opened to an ApplicationMaster that is silent.
#include "executor/master/master_connection.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/job/job_input.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/services/job_service.h"
#include "rpc/services/master_server.h"
#include "tests/common/loop_driver.h"
#include "tests/executor/task/counting_service.h"
#include "tests/rpc/inbox.h"

namespace tony::executor {
namespace {

constexpr char kJobId[] = "job-1";
constexpr char kContainer[] = "job-1-c0001";

v1::MasterMessage Prepare(int epoch) {
  v1::MasterMessage message;
  message.mutable_prepare()->set_epoch(epoch);
  return message;
}

class MasterConnectionTest : public ::testing::Test {
 protected:
  // Until the first message has been heard.
  void Attach() {
    connection_.Open();
    ASSERT_TRUE(AwaitHello());
    Send(Prepare(0));
    ASSERT_TRUE(AwaitHeard(1));
  }
  bool AwaitHello() {
    return driver_.Await([this] {
      const auto next = inputs_.TryNext();
      return next && std::holds_alternative<core::input::ExecutorAttached>(*next);
    });
  }
  bool AwaitHeard(size_t messages) {
    return driver_.Await([&] { return heard_.size() >= messages; });
  }
  void Send(const v1::MasterMessage& message) {
    EXPECT_EQ(service_.Send(kContainer, message), absl::OkStatus());
  }

  LoopDriver driver_;
  rpc::CertificateAuthority authority_ = rpc::CertificateAuthority::Create(kJobId).value();
  rpc::EventLog log_;
  rpc::TunnelRelay tunnels_{[](const rpc::TunnelRelay::Wish&) {}};
  rpc::JobService job_service_{kJobId, log_, tunnels_, {}};
  rpc::Inbox<core::JobInput> inputs_;
  CountingService service_{kJobId, tunnels_, {[this](core::JobInput input) {
                             inputs_.Push(std::move(input));
                             driver_.Changed();
                           }}};
  std::unique_ptr<rpc::MasterServer> server_ =
      rpc::MasterServer::Start("127.0.0.1", rpc::Peers::kOwnUser,
                               authority_.Issue(rpc::ApplicationMasterRole(kJobId)).value(),
                               job_service_, service_)
          .value();
  std::vector<v1::MasterMessage> heard_;
  MasterConnection connection_{
      driver_.loop(),
      {.address = server_->address(),
       .credentials = authority_.Issue(rpc::ExecutorRole(kJobId, kContainer)).value(),
       .next = nullptr},
      {.hello =
           [] {
             v1::ExecutorMessage message;
             message.mutable_hello()->set_container_id(kContainer);
             return message;
           },
       .on_message =
           [this](const v1::MasterMessage& message) {
             heard_.push_back(message);
             driver_.Changed();
           },
       .on_lost = [](const std::string& why) { ADD_FAILURE() << why; },
       .on_closed = [] {}}};
};

TEST_F(MasterConnectionTest, OpensAnotherStreamWhenNothingComes) {
  connection_.set_patience({.sign = std::chrono::milliseconds(50)});
  Attach();
  connection_.AwaitSign();
  ASSERT_TRUE(AwaitHello());
  EXPECT_EQ(service_.streams, 2);
  Send(Prepare(1));  // the first that is said on it answers
  ASSERT_TRUE(AwaitHeard(2));
  EXPECT_EQ(heard_[1].prepare().epoch(), 1);
}

}  // namespace
}  // namespace tony::executor
