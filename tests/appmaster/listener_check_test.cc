// An ApplicationMaster hears when its own port takes in nobody.
#include "appmaster/listener_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace tony::appmaster {
namespace {

constexpr std::chrono::seconds kDeadline{30};
constexpr ListenerCheck::Timing kQuick{std::chrono::milliseconds(1), std::chrono::milliseconds(20)};

class ListenerCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto acceptor = rpc::ConnectionAcceptor::Listen("127.0.0.1", rpc::Peers::kOwnUser, {});
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
  }

  EventLoop loop_;
  std::unique_ptr<rpc::ConnectionAcceptor> acceptor_;
  std::string why_;
  std::unique_ptr<EventLoop::Handle> deadline_ = loop_.After(kDeadline, [this] { loop_.Stop(); });
};

TEST_F(ListenerCheckTest, APortThatTakesInNobodyIsTold) {
  // It listens, so the kernel completes connections; but nobody accepts them.
  const ListenerCheck check(loop_, *acceptor_, kQuick, [this](const std::string& why) {
    why_ = why;
    loop_.Stop();
  });
  loop_.Run();
  EXPECT_EQ(why_, absl::StrCat("nobody can connect to port ", acceptor_->port(),
                               " of this ApplicationMaster any more"));
}

TEST_F(ListenerCheckTest, APortThatWorksIsAskedAgainAndAgain) {
  int connections = 0;
  // A round needs a sign of life before its patience ends; on a loaded machine that takes a while.
  constexpr ListenerCheck::Timing kRounds{std::chrono::milliseconds(1),
                                          std::chrono::milliseconds(300)};
  ASSERT_TRUE(acceptor_
                  ->Start([&](int, int fd) {
                    ::close(fd);
                    loop_.Post([&] {
                      if (++connections == 4) loop_.Stop();
                    });
                  })
                  .ok());
  const ListenerCheck check(loop_, *acceptor_, kRounds,
                            [this](const std::string& why) { why_ = why; });
  loop_.Run();
  EXPECT_EQ(connections, 4);
  EXPECT_EQ(why_, "");
  acceptor_->Stop();
}

}  // namespace
}  // namespace tony::appmaster
