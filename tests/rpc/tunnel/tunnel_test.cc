// Tunnels through a real server: bytes, ends and breaks in both directions, who may have one, and
// what a slow one holds up.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "rpc/security/grpc_credentials.h"
#include "rpc/services/executor_session.h"
#include "rpc/tunnel/tunnel_pump.h"
#include "tests/common/loop_driver.h"
#include "tests/rpc/master_fixture.h"

namespace tony::rpc {
namespace {

using std::chrono::milliseconds;

const core::TaskId kTask{"worker", 1};

/// Bytes that are nowhere the same for long.
std::string Pattern(size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  unsigned state = seed;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

/// Two connected sockets, the first of which a tunnel's end has.
struct Joined {
  std::unique_ptr<TcpSocket> inside;
  std::unique_ptr<TcpSocket> outside;
  std::unique_ptr<TunnelPump> pump;
  std::optional<absl::Status> done;  ///< of the pump
  std::string received;              ///< by the outside
  std::optional<absl::Status> end;   ///< of what the outside received
};

class TunnelTest : public MasterFixture {
 protected:
  void SetUp() override {
    MasterFixture::SetUp();
    client_.emplace(address(), ClientCredentials());
    executor_.emplace(address(), ExecutorCredentials());
  }

  void Connect(Joined& joined) {
    const auto listener = TcpListener::Listen(driver_.loop(), "127.0.0.1", 0, [&](auto socket) {
      joined.inside = std::move(socket);
      driver_.Changed();
    });
    const auto attempt =
        TcpSocket::Connect(driver_.loop(), "127.0.0.1", (*listener)->port(), [&](auto socket) {
          joined.outside = *std::move(socket);
          driver_.Changed();
        });
    ASSERT_TRUE(driver_.Await([&] { return joined.inside && joined.outside; }));
  }

  void Pump(Joined& joined, const TunnelPump::Dial& dial,
            Duration silence = TunnelPump::kLongestSilence) {
    Connect(joined);
    joined.pump = std::make_unique<TunnelPump>(
        driver_.loop(), std::move(joined.inside), dial,
        [&](const absl::Status& status) {
          joined.done = status;
          driver_.Changed();
        },
        silence);
  }

  TunnelPump::Dial Open() {
    return [this](auto callbacks) { return client_->Open(kTask, 80, std::move(callbacks)); };
  }
  TunnelPump::Dial Answer(int64_t tunnel, const absl::Status& refusal = {}) {
    return [this, tunnel, refusal](auto callbacks) {
      return executor_->Answer(tunnel, refusal, std::move(callbacks));
    };
  }

  /// A whole tunnel: `near` is the client's end of it, `far` the task's.
  void OpenTunnel(Joined& near, Joined& far, Duration silence = TunnelPump::kLongestSilence) {
    Pump(near, Open(), silence);
    const auto wish = wishes_.Next();
    ASSERT_TRUE(wish.has_value());
    tunnels_.Expect(wish->tunnel, kContainer);
    Pump(far, Answer(wish->tunnel));
  }

  void ReadAll(Joined& joined) {
    joined.outside->Read([this, &joined](absl::StatusOr<std::string> bytes) {
      if (bytes.ok() && !bytes->empty()) {
        joined.received += *bytes;
        return ReadAll(joined);
      }
      joined.end = bytes.status();
      driver_.Changed();
    });
  }
  static void WriteAndEnd(Joined& joined, const std::string& bytes) {
    joined.outside->Write(bytes, [&joined](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      joined.outside->EndWriting();
    });
  }

  /// A tunnel that works, as long as others are not in its way.
  void ExpectRoundTrip(const std::string& question) {
    Joined near, far;
    OpenTunnel(near, far);
    ExpectAnswer(near, far, question);
  }
  void ExpectAnswer(Joined& near, Joined& far, const std::string& question = "question") {
    ReadAll(near);
    ReadAll(far);
    WriteAndEnd(near, question);
    WriteAndEnd(far, "answer");
    ASSERT_TRUE(driver_.Await([&] { return near.done && far.done && near.end && far.end; }));
    EXPECT_TRUE(near.done->ok()) << *near.done;
    EXPECT_EQ(near.received, "answer");
    EXPECT_TRUE(far.received == question);
  }

  /// One end of a tunnel without a socket.
  struct Bare {
    std::vector<v1::TunnelFrame> frames;
    int written = 0;
    std::optional<absl::Status> closed;
    std::unique_ptr<TunnelEnd> end;
  };
  TunnelEnd::Callbacks Into(Bare& bare) {
    const auto tell = [this](std::function<void()> change) {
      driver_.loop().Post([this, change = std::move(change)] {
        change();
        driver_.Changed();
      });
    };
    return {[tell, &bare](const v1::TunnelFrame& frame) {
              tell([&bare, frame] { bare.frames.push_back(frame); });
            },
            [tell, &bare] { tell([&bare] { ++bare.written; }); },
            [tell, &bare](const absl::Status& status) {
              tell([&bare, status] { bare.closed = status; });
            }};
  }
  /// A whole tunnel to a port.
  void OpenBare(Bare& near, Bare& far) {
    near.end = client_->Open(kTask, 80, Into(near));
    const auto asked = wishes_.Next();
    ASSERT_TRUE(asked.has_value());
    EXPECT_FALSE(asked->exec.has_value());
    tunnels_.Expect(asked->tunnel, kContainer);
    far.end = executor_->Answer(asked->tunnel, absl::OkStatus(), Into(far));
    ASSERT_TRUE(driver_.Await([&] { return near.written == 1 && far.written == 1; }));
  }
  /// Sends a frame, and waits until it has arrived.
  void Carry(Bare& from, Bare& to, const v1::TunnelFrame& frame) {
    const size_t before = to.frames.size();
    const int written = from.written;
    to.end->Read();
    from.end->Write(frame);
    ASSERT_TRUE(driver_.Await([&] { return to.frames.size() > before && from.written > written; }));
    EXPECT_EQ(to.frames.back().SerializeAsString(), frame.SerializeAsString());
  }

  LoopDriver driver_;
  std::optional<TunnelDialer> client_;
  std::optional<TunnelDialer> executor_;
};

TEST_F(TunnelTest, FiftyMegabytesBothWaysAtOnceArriveAsTheyWere) {
  const std::string there = Pattern(50 << 20, 1), back = Pattern(50 << 20, 2);
  Joined near, far;
  OpenTunnel(near, far);
  ReadAll(near);
  ReadAll(far);
  WriteAndEnd(near, there);
  WriteAndEnd(far, back);
  ASSERT_TRUE(driver_.Await([&] { return near.done && far.done && near.end && far.end; }));
  EXPECT_TRUE(near.done->ok()) << *near.done;
  EXPECT_TRUE(far.done->ok()) << *far.done;
  EXPECT_TRUE(near.end->ok()) << *near.end;
  EXPECT_TRUE(far.end->ok()) << *far.end;
  EXPECT_TRUE(near.received == back);
  EXPECT_TRUE(far.received == there);
}

TEST_F(TunnelTest, ACommandsFramesPassBothWays) {
  v1::ExecWish wish;
  wish.add_arguments("ls");
  wish.set_who("alice@host");
  Bare near, far;
  near.end = client_->OpenExec(kTask, wish, Into(near));
  const auto asked = wishes_.Next();
  ASSERT_TRUE(asked.has_value() && asked->exec.has_value());
  EXPECT_EQ(asked->task, kTask);
  EXPECT_EQ(asked->exec->who(), "alice@host");
  tunnels_.Expect(asked->tunnel, kContainer);
  far.end = executor_->Answer(asked->tunnel, absl::OkStatus(), Into(far));
  ASSERT_TRUE(driver_.Await([&] { return near.written == 1 && far.written == 1; }));
  v1::TunnelFrame frame;
  frame.mutable_exec()->mutable_size()->set_rows(50);
  Carry(near, far, frame);
  frame.set_data("typed");
  Carry(near, far, frame);
  frame.mutable_exec()->set_error_output("oh");
  Carry(far, near, frame);
  frame.mutable_exec()->mutable_ended()->set_code(3);
  Carry(far, near, frame);
  // The client has heard all and goes away, as it does at any other time.
  near.end.reset();
  far.end->Read();
  ASSERT_TRUE(driver_.Await([&] { return far.closed.has_value(); }));
  EXPECT_TRUE(absl::IsUnavailable(*far.closed)) << *far.closed;
}

TEST_F(TunnelTest, OnlyCommandsHaveTheirFrames) {
  Bare near, far;
  OpenBare(near, far);
  v1::TunnelFrame frame;
  frame.mutable_exec()->set_signal(9);
  near.end->Read();
  near.end->Write(frame);
  ASSERT_TRUE(driver_.Await([&] { return near.closed.has_value(); }));
  EXPECT_TRUE(absl::IsInvalidArgument(*near.closed)) << *near.closed;
}

TEST_F(TunnelTest, AFrameThatIsTooLongEndsTheTunnel) {
  Bare near, far;
  OpenBare(near, far);
  v1::TunnelFrame frame;
  frame.set_data(Pattern(TunnelRelay::kMostFrameBytes, 6));
  Carry(near, far, frame);
  frame.set_data(Pattern(2 * TunnelRelay::kMostFrameBytes, 7));
  near.end->Read();
  near.end->Write(frame);
  ASSERT_TRUE(driver_.Await([&] { return near.closed.has_value(); }));
  EXPECT_TRUE(absl::IsInvalidArgument(*near.closed)) << *near.closed;
}

TEST_F(TunnelTest, TheWishNamesTaskAndPort) {
  Joined near;
  Pump(near, Open());
  const auto wish = wishes_.Next();
  ASSERT_TRUE(wish.has_value());
  EXPECT_EQ(wish->task, kTask);
  EXPECT_EQ(wish->port, 80);
}

TEST_F(TunnelTest, AnExecutorReachesTheDriver) {
  Joined near, far;
  const TunnelDialer worker(address(), ExecutorCredentials("job-1-c0002"));
  Pump(near, [&](auto callbacks) { return worker.Reach(std::move(callbacks)); });
  const auto wish = wishes_.Next();
  ASSERT_TRUE(wish.has_value());
  EXPECT_TRUE(wish->by_executor);
  EXPECT_EQ(wish->task, (core::TaskId{"driver", 0}));
  EXPECT_EQ(wish->port, 0);
  tunnels_.Expect(wish->tunnel, kContainer);
  Pump(far, Answer(wish->tunnel));
  ExpectAnswer(near, far);
}

TEST_F(TunnelTest, AClientDoesNotReachTheDriverAsAnExecutor) {
  const TunnelDialer client(address(), ClientCredentials());
  Joined near;
  Pump(near, [&](auto callbacks) { return client.Reach(std::move(callbacks)); });
  ASSERT_TRUE(driver_.Await([&] { return near.done.has_value(); }));
  EXPECT_TRUE(absl::IsPermissionDenied(*near.done)) << *near.done;
}

TEST_F(TunnelTest, OneDirectionGoesOnWhenTheOtherHasEnded) {
  Joined near, far;
  OpenTunnel(near, far);
  ReadAll(near);
  ReadAll(far);
  WriteAndEnd(near, "all that there is");
  ASSERT_TRUE(driver_.Await([&] { return far.end.has_value(); }));
  EXPECT_TRUE(far.end->ok()) << *far.end;
  EXPECT_FALSE(near.end.has_value());
  WriteAndEnd(far, Pattern(1 << 20, 3));
  ASSERT_TRUE(driver_.Await([&] { return near.done && far.done && near.end; }));
  EXPECT_TRUE(near.received == Pattern(1 << 20, 3));
  EXPECT_TRUE(near.done->ok()) << *near.done;
}

TEST_F(TunnelTest, ATunnelThatNobodyReadsHoldsUpNeitherOthersNorHeartbeats) {
  Joined near, far;
  OpenTunnel(near, far);
  bool written = false;
  near.outside->Write(Pattern(50 << 20, 4), [&](const absl::Status&) { written = true; });
  ExpectRoundTrip(Pattern(50 << 20, 5));  // as much passes by, so there is time to take it in
  ExecutorSession session(address(), ExecutorCredentials(),
                          {[](const v1::MasterMessage&) {}, [](const absl::Status&) {}});
  v1::ExecutorMessage beat;
  beat.mutable_heartbeat();
  session.Send(beat);
  EXPECT_TRUE(inputs_.Next().has_value());
  EXPECT_FALSE(written) << "somebody has taken 50 MB in";
}

TEST_F(TunnelTest, ManyAtOnce) {
  constexpr int kCount = 16;
  std::vector<Joined> near(kCount), far(kCount);
  for (int i = 0; i < kCount; ++i) {
    OpenTunnel(near[i], far[i]);
    ReadAll(near[i]);
    ReadAll(far[i]);
  }
  for (int i = 0; i < kCount; ++i) {
    WriteAndEnd(near[i], Pattern(1 << 20, 2 * i));
    WriteAndEnd(far[i], Pattern(1 << 20, 2 * i + 1));
  }
  for (int i = 0; i < kCount; ++i) {
    ASSERT_TRUE(driver_.Await([&] { return near[i].done && near[i].end && far[i].end; }));
    EXPECT_TRUE(near[i].received == Pattern(1 << 20, 2 * i + 1));
    EXPECT_TRUE(far[i].received == Pattern(1 << 20, 2 * i));
  }
}

TEST_F(TunnelTest, WhereNobodyListensTheClientHearsWhy) {
  Joined near;
  Pump(near, Open());
  const auto wish = wishes_.Next();
  tunnels_.Expect(wish->tunnel, kContainer);
  Joined far;
  Pump(far, Answer(wish->tunnel, absl::UnavailableError("nobody listens on port 80")));
  ASSERT_TRUE(driver_.Await([&] { return near.done && far.done; }));
  EXPECT_TRUE(absl::IsUnavailable(*near.done)) << *near.done;
  EXPECT_EQ(near.done->message(), "nobody listens on port 80");
}

// Whether it is of use to ask again is to be seen by the code.
TEST_F(TunnelTest, TheExecutorsRefusalKeepsItsCode) {
  Joined near;
  Pump(near, Open());
  const auto wish = wishes_.Next();
  tunnels_.Expect(wish->tunnel, kContainer);
  Joined far;
  Pump(far, Answer(wish->tunnel, absl::PermissionDeniedError("none of its ports")));
  ASSERT_TRUE(driver_.Await([&] { return near.done && far.done; }));
  EXPECT_EQ(*near.done, absl::PermissionDeniedError("none of its ports"));
}

TEST_F(TunnelTest, TheOwnerRefuses) {
  Joined near;
  Pump(near, Open());
  const auto wish = wishes_.Next();
  tunnels_.Refuse(wish->tunnel, absl::NotFoundError("no task worker:1"));
  ASSERT_TRUE(driver_.Await([&] { return near.done.has_value(); }));
  EXPECT_TRUE(absl::IsNotFound(*near.done)) << *near.done;
  ReadAll(near);
  ASSERT_TRUE(driver_.Await([&] { return near.end.has_value(); }));
  EXPECT_FALSE(near.end->ok()) << "a tunnel that was refused looks like an empty answer";
}

TEST_F(TunnelTest, ATunnelThatWasAnsweredIsNotRefused) {
  Joined near, far;
  OpenTunnel(near, far);
  ReadAll(far);
  near.outside->Write("x", [](const absl::Status&) {});
  ASSERT_TRUE(driver_.Await([&] {
    if (far.received.empty()) driver_.Changed();
    return !far.received.empty();
  }));
  tunnels_.Refuse(1, absl::DeadlineExceededError("late"));
  WriteAndEnd(near, "y");
  WriteAndEnd(far, "");
  ReadAll(near);
  ASSERT_TRUE(driver_.Await([&] { return near.done && far.end; }));
  EXPECT_TRUE(near.done->ok()) << *near.done;
  EXPECT_EQ(far.received, "xy");
}

TEST_F(TunnelTest, WhenTheTasksEndDiesTheClientsConnectionBreaks) {
  Joined near, far;
  OpenTunnel(near, far);
  ReadAll(near);
  ReadAll(far);
  near.outside->Write("x", [](const absl::Status&) {});
  ASSERT_TRUE(driver_.Await([&] {
    if (far.received.empty()) driver_.Changed();
    return !far.received.empty();
  }));
  far.pump.reset();
  ASSERT_TRUE(driver_.Await([&] { return near.done && near.end; }));
  EXPECT_TRUE(absl::IsUnavailable(*near.done)) << *near.done;
  EXPECT_FALSE(near.end->ok()) << "what is cut short must not look whole";
}

TEST_F(TunnelTest, WhenTheClientDiesTheTasksConnectionBreaks) {
  Joined near, far;
  OpenTunnel(near, far);
  ReadAll(far);
  near.outside->Write("x", [](const absl::Status&) {});
  ASSERT_TRUE(driver_.Await([&] {
    if (far.received.empty()) driver_.Changed();
    return !far.received.empty();
  }));
  near.pump.reset();
  ASSERT_TRUE(driver_.Await([&] { return far.done && far.end; }));
  EXPECT_FALSE(far.end->ok());
}

TEST_F(TunnelTest, WhenTheBrowserBreaksOffTheTasksConnectionBreaks) {
  Joined near, far;
  OpenTunnel(near, far);
  ReadAll(far);
  near.outside->Break();
  ASSERT_TRUE(driver_.Await([&] { return near.done && far.done && far.end; }));
  EXPECT_TRUE(absl::IsUnavailable(*near.done)) << *near.done;
  EXPECT_FALSE(far.end->ok());
}

TEST_F(TunnelTest, WhenTheRelayClosesAllEnds) {
  Joined near, far;
  OpenTunnel(near, far);
  ReadAll(near);
  tunnels_.Close("the job is over");
  ASSERT_TRUE(driver_.Await([&] { return near.done && near.end; }));
  EXPECT_EQ(near.done->message(), "the job is over");
  Joined late;
  Pump(late, Open());
  ASSERT_TRUE(driver_.Await([&] { return late.done.has_value(); }));
  EXPECT_EQ(late.done->message(), "the job is over");
}

TEST_F(TunnelTest, SilenceEndsIt) {
  Joined near, far;
  OpenTunnel(near, far, milliseconds(50));
  ASSERT_TRUE(driver_.Await([&] { return near.done && far.done; }));
  EXPECT_TRUE(absl::IsDeadlineExceeded(*near.done)) << *near.done;
}

TEST_F(TunnelTest, OnlyTheExecutorThatIsExpectedMayAnswer) {
  Joined near;
  Pump(near, Open());
  const auto wish = wishes_.Next();
  tunnels_.Expect(wish->tunnel, kContainer);
  const TunnelDialer stranger(address(), ExecutorCredentials("job-1-c0002"));
  Joined other;
  Pump(other,
       [&](auto callbacks) { return stranger.Answer(wish->tunnel, {}, std::move(callbacks)); });
  ASSERT_TRUE(driver_.Await([&] { return other.done.has_value(); }));
  EXPECT_TRUE(absl::IsNotFound(*other.done)) << *other.done;
  EXPECT_FALSE(near.done.has_value());
}

TEST_F(TunnelTest, RolesAreKept) {
  Joined opens;
  Pump(opens, [&](auto callbacks) { return executor_->Open(kTask, 80, std::move(callbacks)); });
  Joined answers;
  Pump(answers, [&](auto callbacks) { return client_->Answer(1, {}, std::move(callbacks)); });
  ASSERT_TRUE(driver_.Await([&] { return opens.done && answers.done; }));
  EXPECT_TRUE(absl::IsPermissionDenied(*opens.done)) << *opens.done;
  EXPECT_TRUE(absl::IsPermissionDenied(*answers.done)) << *answers.done;
  EXPECT_TRUE(wishes_.empty());
}

TEST_F(TunnelTest, ThereIsALimit) {
  std::vector<Joined> near(TunnelRelay::kMostTunnels);
  for (Joined& joined : near) {
    Pump(joined, Open());
    ASSERT_TRUE(wishes_.Next().has_value());
  }
  Joined late;
  Pump(late, Open());
  ASSERT_TRUE(driver_.Await([&] { return late.done.has_value(); }));
  EXPECT_TRUE(absl::IsResourceExhausted(*late.done)) << *late.done;
}

TEST_F(TunnelTest, AFirstFrameOfBytesIsNoTunnel) {
  const auto stub = v1::JobService::NewStub(MakeMasterChannel(address(), ClientCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Tunnel(&context);
  v1::TunnelFrame frame;
  frame.set_data("GET /");
  stream->Write(frame);
  EXPECT_FALSE(stream->Read(&frame));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tony::rpc
