// Replicas over real connections, and strangers at the acceptor.
#include "driver/replica_acceptor.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/big_endian.h"
#include "common/frame_reader.h"
#include "rpc/convert/convert_rendezvous.h"
#include "tests/common/loop_driver.h"

namespace tony::driver {
namespace {

core::Blob Bytes(const std::string& text) { return std::make_shared<const std::string>(text); }

/// The peer at the other end of the tunnel.
class Peer {
 public:
  Peer(LoopDriver& loop, int port) : loop_(loop) {
    attempt_ = TcpSocket::Connect(loop.loop(), "127.0.0.1", port, [this](auto socket) {
      socket_ = *std::move(socket);
      Read();
      loop_.Changed();
    });
    EXPECT_TRUE(loop.Await([this] { return socket_ != nullptr; }));
  }

  void Send(const std::string& bytes) {
    socket_->Write(bytes, [](const absl::Status&) {});
  }
  /// The next frame, which must be of type `Kind`.
  template <typename Kind>
  std::optional<Kind> Next() {
    std::optional<std::string> frame;
    EXPECT_TRUE(loop_.Await([&] {
      auto next = frames_.Next();
      EXPECT_TRUE(next.ok()) << next.status();
      if (next.ok() && next->has_value()) frame = **next;
      return frame.has_value() || over_;
    }));
    if (!frame) return std::nullopt;
    const auto message = rpc::ReplicaMessageIn(*frame);
    EXPECT_TRUE(message.ok()) << message.status();
    EXPECT_TRUE(std::holds_alternative<Kind>(*message)) << message->index();
    return std::get<Kind>(*message);
  }
  bool AwaitEnd() {
    return loop_.Await([this] { return over_; });
  }
  void Close() { socket_.reset(); }

 private:
  void Read() {
    socket_->Read([this](absl::StatusOr<std::string> bytes) {
      over_ = !bytes.ok() || bytes->empty();
      if (!over_) {
        frames_.Append(bytes->data(), bytes->size());
        Read();
      }
      loop_.Changed();
    });
  }

  LoopDriver& loop_;
  std::unique_ptr<EventLoop::Handle> attempt_;
  std::unique_ptr<TcpSocket> socket_;
  FrameReader frames_{rpc::kMostRendezvousFrameBytes, "frames"};
  bool over_ = false;
};

class ReplicaAcceptorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Any free port, which nobody else takes meanwhile.
    auto listener = TcpListener::Listen(loop_.loop(), "127.0.0.1", 0, [](auto) {});
    port_ = (*listener)->port();
    listener->reset();
    auto acceptor = ReplicaAcceptor::Open(loop_.loop(), store_, port_);
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
    store_.Begin(core::PlanSlots({{"a", 2}}, 2).value());
  }
  /// The snapshot of a store that has nothing but its plan.
  static void SkipSnapshot(Peer& peer) {
    EXPECT_EQ(peer.Next<core::SnapshotMark>(), core::SnapshotMark::kBegin);
    EXPECT_TRUE(peer.Next<core::StoreOperation>().has_value());
    EXPECT_EQ(peer.Next<core::SnapshotMark>(), core::SnapshotMark::kEnd);
  }

  LoopDriver loop_;
  rendezvous::LocalStore store_{loop_.loop(), core::StoreLimits::For(2)};
  int port_ = 0;
  std::unique_ptr<ReplicaAcceptor> acceptor_;
};

TEST_F(ReplicaAcceptorTest, AChangeIsToldToAllBeforeItIsDone) {
  Peer one(loop_, port_), other(loop_, port_);
  SkipSnapshot(one);
  SkipSnapshot(other);
  one.Send(rpc::ToFrame(core::ChangeRequest{5, core::PutValue{"global", "0", Bytes("here")}}));
  for (Peer* peer : {&one, &other}) {
    const auto operation = peer->Next<core::StoreOperation>();
    ASSERT_TRUE(operation.has_value());
    EXPECT_EQ(*std::get<core::PutValue>(*operation).value, "here");
  }
  const auto done = one.Next<core::ChangeDone>();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->id, 5U);
  EXPECT_TRUE(done->status.ok()) << done->status;
  EXPECT_EQ(*store_.Get("global", "0"), "here");
}

TEST_F(ReplicaAcceptorTest, FramesMayComeInPieces) {
  Peer peer(loop_, port_);
  SkipSnapshot(peer);
  const std::string frame =
      rpc::SignOfLife() + rpc::ToFrame(core::ChangeRequest{1, core::RemoveValue{"global", "1"}});
  peer.Send(frame);
  EXPECT_EQ(peer.Next<core::StoreOperation>().has_value(), true);
  EXPECT_EQ(peer.Next<core::ChangeDone>()->id, 1U);
}

TEST_F(ReplicaAcceptorTest, MegabytesArriveWhole) {
  Peer peer(loop_, port_);
  SkipSnapshot(peer);
  std::string large(1 << 20, 'x');
  large[777'777] = 'y';
  ASSERT_TRUE(loop_.Await([] { return true; }));
  store_.Put("runfunc", "func", Bytes(large),
             [](const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; });
  const auto operation = peer.Next<core::StoreOperation>();
  ASSERT_TRUE(operation.has_value());
  EXPECT_TRUE(*std::get<core::PutValue>(*operation).value == large);
}

TEST_F(ReplicaAcceptorTest, WhoMakesNoSenseIsSentAway) {
  const std::string cases[] = {"GET /global/0 HTTP/1.1\r\n\r\n", std::string("\xff\xff\xff\xff"),
                               BigEndian(2) + "\xff\xff"};
  for (const std::string& nonsense : cases) {
    Peer peer(loop_, port_);
    SkipSnapshot(peer);
    peer.Send(nonsense);
    EXPECT_TRUE(peer.AwaitEnd()) << nonsense;
  }
  Peer peer(loop_, port_);
  SkipSnapshot(peer);
}

TEST_F(ReplicaAcceptorTest, OneThatGoesIsForgotten) {
  {
    Peer peer(loop_, port_);
    SkipSnapshot(peer);
    EXPECT_EQ(acceptor_->replicas(), 1U);
  }
  Peer next(loop_, port_);
  SkipSnapshot(next);
  store_.Put("global", "0", Bytes("x"), [](const absl::Status&) {});
  EXPECT_TRUE(next.Next<core::StoreOperation>().has_value());
  EXPECT_EQ(acceptor_->replicas(), 1U);
}

}  // namespace
}  // namespace tony::driver
