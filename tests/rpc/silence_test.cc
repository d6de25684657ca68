// A follower whose ApplicationMaster's machine vanishes: nothing comes, and no connection is
// closed.
#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/tcp_socket.h"
#include "rpc/convert/convert.h"
#include "rpc/services/job_client.h"
#include "tests/rpc/master_fixture.h"

namespace tony::rpc {
namespace {

/// A busy machine answers a ping in less time.
constexpr std::chrono::milliseconds kSilenceLimit{1000};

/// Forwards one connection to a port of this machine until it is told to do no more. Thread safe.
class Wire {
 public:
  explicit Wire(int port) : port_(port) {
    auto listener = TcpListener::Listen(loop_, "127.0.0.1", 0, [this](auto near) {
      near_ = std::move(near);
      connecting_ = TcpSocket::Connect(loop_, "127.0.0.1", port_, [this](auto far) {
        far_ = *std::move(far);
        Forward(*near_, *far_, &sent_);
        Forward(*far_, *near_, nullptr);
      });
    });
    listener_ = *std::move(listener);
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~Wire() {
    loop_.Stop();
    thread_.join();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", listener_->port()); }
  /// The size of each piece that the client has sent.
  Inbox<size_t>& sent() { return sent_; }
  void Cut() { cut_ = true; }

 private:
  void Forward(TcpSocket& from, TcpSocket& to, Inbox<size_t>* pieces) {
    from.Read([this, &from, &to, pieces](const absl::StatusOr<std::string>& bytes) {
      if (cut_ || !bytes.ok() || bytes->empty()) return;
      if (pieces != nullptr) pieces->Push(bytes->size());
      to.Write(*bytes, [this, &from, &to, pieces](const absl::Status& written) {
        if (written.ok()) Forward(from, to, pieces);
      });
    });
  }

  const int port_;
  std::atomic<bool> cut_ = false;
  Inbox<size_t> sent_;
  EventLoop loop_;
  std::unique_ptr<TcpListener> listener_;
  std::unique_ptr<EventLoop::Handle> connecting_;
  std::unique_ptr<TcpSocket> near_;
  std::unique_ptr<TcpSocket> far_;
  std::thread thread_;
};

class SilenceTest : public MasterFixture {
 protected:
  int port() const {
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address().substr(address().rfind(':') + 1), &port));
    return port;
  }
  void Append(int64_t sequence) {
    log_.Append(ToProto(core::JobEvent{sequence, 0, core::JobNote{"note"}}));
  }
  void Follow(JobClient& client, int64_t after_sequence) {
    client.Follow(after_sequence, /*owner=*/true,
                  {.on_event = [this](core::JobEvent event) { sequences_.Push(event.sequence); },
                   .on_closed = [this](absl::Status status) { closed_.Push(status); },
                   .on_open = [this] { opened_.Push(true); }});
  }

  Inbox<int64_t> sequences_;
  Inbox<bool> opened_;
  Inbox<absl::Status> closed_;
};

TEST_F(SilenceTest, AStreamWithoutEventsStaysOpen) {
  Wire wire(port());
  JobClient client(wire.address(), ClientCredentials(), kSilenceLimit);
  Follow(client, 0);
  ASSERT_TRUE(opened_.Next().has_value());
  // More pings than a server of gRPC lets pass that come too often; they are a second apart.
  while (wire.sent().TryNext()) {
  }
  EXPECT_EQ(wire.sent().Take(6).size(), 6u);
  EXPECT_TRUE(closed_.empty());
  Append(1);
  EXPECT_EQ(sequences_.Next(), 1);
}

TEST_F(SilenceTest, AVanishedMachineIsNoticedAndAnotherStreamGoesOn) {
  Wire wire(port());
  auto client = std::make_unique<JobClient>(wire.address(), ClientCredentials(), kSilenceLimit);
  Follow(*client, 0);
  Append(1);
  EXPECT_EQ(sequences_.Next(), 1);
  wire.Cut();
  Append(2);
  const auto closed = closed_.Next();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->code(), absl::StatusCode::kUnavailable) << *closed;
  client = std::make_unique<JobClient>(address(), ClientCredentials(), kSilenceLimit);
  Follow(*client, 1);
  EXPECT_EQ(sequences_.Next(), 2);
}

TEST_F(SilenceTest, OneThatCannotBeReachedHasNotOpened) {
  server_->Shutdown(Duration::zero());
  JobClient client(address(), ClientCredentials(), kSilenceLimit);
  Follow(client, 0);
  const auto closed = closed_.Next();
  ASSERT_TRUE(closed.has_value());
  EXPECT_EQ(closed->code(), absl::StatusCode::kUnavailable) << *closed;
  EXPECT_TRUE(opened_.empty());
}

}  // namespace
}  // namespace tony::rpc
