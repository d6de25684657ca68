// Commands beside a program, through a real keeper; the tunnel to the client is the test's.
#include "executor/exec/exec_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/common/loop_driver.h"
#include "tests/os/process_support.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// A client at the other end of a tunnel that loses nothing and is always ready.
struct Client {
  std::vector<v1::TunnelFrame> unsent;  ///< frames for the command
  bool reading = false;                 ///< the session has asked for a frame
  std::string output, errors;
  std::optional<v1::ExecEnd> ended;
  bool over = false;  ///< the session has let go of the tunnel
  rpc::TunnelEnd::Callbacks callbacks;

  void Send(v1::TunnelFrame frame) {
    unsent.push_back(std::move(frame));
    Deliver();
  }
  void Deliver() {
    if (!reading || unsent.empty()) return;
    reading = false;
    const v1::TunnelFrame next = unsent.front();
    unsent.erase(unsent.begin());
    callbacks.on_frame(next);
  }
};

class FakeTunnelEnd : public rpc::TunnelEnd {
 public:
  FakeTunnelEnd(Client& client, LoopDriver& driver) : client_(client), driver_(driver) {}
  ~FakeTunnelEnd() override {
    client_.over = true;
    driver_.Changed();
  }
  void Read() override {
    client_.reading = true;
    client_.Deliver();
  }
  void Write(v1::TunnelFrame frame) override {
    client_.output += frame.data();
    client_.errors += frame.exec().error_output();
    if (frame.exec().has_ended()) client_.ended = frame.exec().ended();
    driver_.Changed();
    if (frame.has_end()) return client_.callbacks.on_closed(absl::OkStatus());
    client_.callbacks.on_written();
  }

 private:
  Client& client_;
  LoopDriver& driver_;
};

class ExecSessionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);  // as SetUpProcess() does
    os::LinePipe output;
    // A program that takes its time to end.
    ASSERT_TRUE(
        keeper_->Spawn(os::BashRequest("trap '' TERM; echo ready; sleep 600", output)).ok());
    const auto started = os::WaitFor<os::KeeperStarted>(*keeper_);
    ASSERT_TRUE(started.has_value());
    program_ = started->pid;
    ASSERT_TRUE(output.ReadLine().has_value());
    watch_ = driver_.loop().WatchReadable(keeper_->fd(), [this] {
      while (const auto event = keeper_->Next()) Take(*event);
      driver_.Changed();
    });
    sessions_.OnTaskStart({"worker:0",
                           {"PATH=/usr/local/bin:/usr/bin:/bin", "COLOUR=red"},
                           "/tmp",
                           milliseconds(100)});
  }

  void Take(const os::KeeperEvent& event) {
    if (const auto* started = std::get_if<os::KeeperExecStarted>(&event)) sessions_.On(*started);
    if (const auto* failed = std::get_if<os::KeeperExecFailed>(&event)) sessions_.On(*failed);
    if (const auto* exited = std::get_if<os::KeeperExecExited>(&event)) sessions_.On(*exited);
    if (std::holds_alternative<os::KeeperExited>(event)) sessions_.OnTaskEnded();
  }

  absl::Status Open(Client& client, const v1::ExecWish& wish) {
    return sessions_.Open(wish, [this, &client](rpc::TunnelEnd::Callbacks callbacks) {
      client.callbacks = std::move(callbacks);
      client.callbacks.on_written();  // the answer
      return std::make_unique<FakeTunnelEnd>(client, driver_);
    });
  }
  static v1::ExecWish Bash(const std::string& script) {
    v1::ExecWish wish;
    for (const std::string& word : {std::string("bash"), std::string("-c"), script}) {
      wish.add_arguments(word);
    }
    return wish;
  }
  void AwaitEnd(const Client& client) {
    ASSERT_TRUE(driver_.Await([&] { return client.ended && client.over; })) << client.output;
  }
  static v1::TunnelFrame Input(const std::string& bytes) {
    v1::TunnelFrame frame;
    frame.set_data(bytes);
    return frame;
  }
  static v1::TunnelFrame InputEnd() {
    v1::TunnelFrame frame;
    frame.mutable_exec()->mutable_input_end();
    return frame;
  }

  std::unique_ptr<os::Keeper> keeper_ =
      os::Keeper::Start(absl::StrCat("exec_sessions_test_", ::getpid()),
                        {.way = os::ContainmentWay::kProcessTree})
          .value();
  LoopDriver driver_;
  std::map<int, Client> clients_;  ///< clients that may go on to the end of a test
  ExecSessions sessions_{driver_.loop(), *keeper_};
  std::unique_ptr<EventLoop::Handle> watch_;
  pid_t program_ = 0;
};

TEST_F(ExecSessionsTest, ACommandHasTheProgramsEnvironmentAndFolder) {
  Client client;
  ASSERT_TRUE(Open(client, Bash("echo $COLOUR; pwd; echo oh >&2; exit 7")).ok());
  AwaitEnd(client);
  EXPECT_EQ(client.output, "red\n/tmp\n");
  EXPECT_EQ(client.errors, "oh\n");
  EXPECT_EQ(client.ended->code(), 7);
  EXPECT_EQ(client.ended->sentence(), "");
}

TEST_F(ExecSessionsTest, InputPassesAndEnds) {
  Client client;
  const std::string bytes(300'000, 'x');
  ASSERT_TRUE(Open(client, Bash("cat; echo end")).ok());
  client.Send(Input(bytes));
  client.Send(Input("and more"));
  client.Send(InputEnd());
  AwaitEnd(client);
  EXPECT_TRUE(client.output == bytes + "and moreend\n");
}

TEST_F(ExecSessionsTest, ACommandThatTakesNoInputEndsAllTheSame) {
  Client client;
  ASSERT_TRUE(Open(client, Bash("exec 0<&-")).ok());
  for (int i = 0; i < 10; ++i) client.Send(Input(std::string(100'000, 'x')));
  AwaitEnd(client);
  EXPECT_EQ(client.ended->code(), 0);
}

TEST_F(ExecSessionsTest, ATerminalTakesKeysAndSizes) {
  Client client;
  v1::ExecWish wish = Bash("stty size; echo $TERM; read word; stty size; echo up; exec cat");
  wish.mutable_terminal()->set_rows(30);
  wish.mutable_terminal()->set_columns(100);
  wish.set_terminal_type("vt100");
  ASSERT_TRUE(Open(client, wish).ok());
  ASSERT_TRUE(driver_.Await([&] { return client.output.find("vt100") != std::string::npos; }));
  EXPECT_THAT(client.output, HasSubstr("30 100\r\n"));
  v1::TunnelFrame size;
  size.mutable_exec()->mutable_size()->set_rows(50);
  size.mutable_exec()->mutable_size()->set_columns(120);
  client.Send(size);
  client.Send(Input("\r"));
  ASSERT_TRUE(driver_.Await([&] { return client.output.find("up\r\n") != std::string::npos; }));
  EXPECT_THAT(client.output, HasSubstr("50 120\r\n"));
  client.Send(Input("\x03"));
  AwaitEnd(client);
  EXPECT_EQ(client.ended->signal(), SIGINT);
}

TEST_F(ExecSessionsTest, WhatCannotBeStartedEndsAsInAShell) {
  Client client;
  v1::ExecWish wish;
  wish.add_arguments("no-such-program");
  ASSERT_TRUE(Open(client, wish).ok());
  AwaitEnd(client);
  EXPECT_EQ(client.ended->code(), 127);
  EXPECT_THAT(client.ended->sentence(), HasSubstr("'no-such-program' is not found"));
  Client other;
  wish.set_arguments(0, "/etc/passwd");
  ASSERT_TRUE(Open(other, wish).ok());
  AwaitEnd(other);
  EXPECT_EQ(other.ended->code(), 126);
}

TEST_F(ExecSessionsTest, ABrokenTunnelEndsTheCommand) {
  Client client;
  ASSERT_TRUE(Open(client, Bash("trap '' HUP TERM; echo $$; while :; do sleep 1; done")).ok());
  ASSERT_TRUE(driver_.Await([&] { return !client.output.empty(); }));
  const pid_t command = std::stoi(client.output);
  client.callbacks.on_closed(absl::UnavailableError("gone"));
  ASSERT_TRUE(driver_.Await([&] { return client.over; }));
  bool finished = false;
  sessions_.Finish([&] { finished = true; });
  ASSERT_TRUE(driver_.Await([&] { return finished; }));
  EXPECT_FALSE(os::IsAlive(command));
}

TEST_F(ExecSessionsTest, TheProgramsEndIsToldAndTheCommandHungUp) {
  Client client;
  ASSERT_TRUE(Open(client, Bash("echo on; sleep 600")).ok());
  ASSERT_TRUE(driver_.Await([&] { return !client.output.empty(); }));
  ASSERT_EQ(::kill(program_, SIGKILL), 0);
  AwaitEnd(client);
  EXPECT_NE(client.ended->signal(), 0);
  EXPECT_EQ(client.ended->sentence(), "worker:0 has ended, and the command with it");
}

TEST_F(ExecSessionsTest, ACommandThatEndsBeforeAProgramThatIsBeingEndedIsToldWhy) {
  Client client;
  ASSERT_TRUE(Open(client, Bash("echo on; sleep 600")).ok());
  ASSERT_TRUE(driver_.Await([&] { return !client.output.empty(); }));
  ASSERT_TRUE(keeper_->Kill(std::chrono::minutes(1)).ok());
  AwaitEnd(client);
  EXPECT_EQ(client.ended->signal(), SIGTERM);
  EXPECT_EQ(client.ended->sentence(), "worker:0 is being ended, and the command with it");
}

TEST_F(ExecSessionsTest, TheirNumberIsLimited) {
  for (size_t i = 0; i < ExecSessions::kMostCommands; ++i) {
    ASSERT_TRUE(Open(clients_[static_cast<int>(i)], Bash("read word")).ok());
  }
  Client late;
  const absl::Status refused = Open(late, Bash("true"));
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  clients_[3].Send(InputEnd());
  AwaitEnd(clients_[3]);
  ASSERT_TRUE(driver_.Await([&] {
    driver_.Changed();
    return Open(late, Bash("true")).ok();
  }));
  AwaitEnd(late);
}

}  // namespace
}  // namespace tony::executor
