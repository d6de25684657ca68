// TCP connections on the event loop: bytes both ways, ends, slow readers, and who may still call.
#include "common/tcp_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/common/any_peer.h"
#include "tests/common/loop_driver.h"

namespace tony {
namespace {

/// Bytes with all bits turned over, at most 1,000 at a time, as they come from and go to a socket;
/// every second call wants to wait. It reads ahead, as TLS does.
class TurnedStream : public ByteStream {
 public:
  explicit TurnedStream(int fd) : fd_(fd) {}

  IoResult Read(char* data, size_t size) override {
    if (ahead_.empty()) {
      if (Waits()) return {IoResult::State::kWantsWrite};
      char bytes[4000];
      const ssize_t count = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (count == 0) return {IoResult::State::kEnd};
      if (count < 0) {
        return {errno == EAGAIN ? IoResult::State::kWantsRead : IoResult::State::kBroken};
      }
      ahead_.assign(bytes, static_cast<size_t>(count));
    }
    const size_t count = std::min({size, ahead_.size(), size_t{1000}});
    Turn(ahead_.data(), data, count);
    ahead_.erase(0, count);
    return {IoResult::State::kMoved, count};
  }
  IoResult Write(const char* data, size_t size) override {
    if (Waits()) return {IoResult::State::kWantsWrite};
    char bytes[1000];
    size = std::min(size, sizeof bytes);
    Turn(data, bytes, size);
    const ssize_t count = ::send(fd_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return {IoResult::State::kMoved, static_cast<size_t>(count)};
    return {errno == EAGAIN ? IoResult::State::kWantsWrite : IoResult::State::kBroken};
  }
  void EndWriting() override { ::shutdown(fd_, SHUT_WR); }
  bool buffered() const override { return !ahead_.empty(); }
  int fd() const override { return fd_; }

 private:
  bool Waits() { return (waits_ = !waits_); }
  static void Turn(const char* from, char* to, size_t size) {
    std::transform(from, from + size, to, [](char byte) { return static_cast<char>(~byte); });
  }

  const int fd_;
  std::string ahead_;
  bool waits_ = false;
};

std::string Turned(std::string text) {
  for (char& byte : text) byte = static_cast<char>(~byte);
  return text;
}

class TcpSocketTest : public ::testing::Test {
 protected:
  /// Two connected sockets.
  void Connect(const std::string& address = "127.0.0.1", TcpListener::Wrap wrap = nullptr) {
    auto listener = TcpListener::Listen(
        driver_.loop(), address, 0, PeerFilter("a test", AnyPeer()),
        [this](auto socket) {
          server_ = std::move(socket);
          driver_.Changed();
        },
        std::move(wrap));
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    attempt_ =
        TcpSocket::Connect(driver_.loop(), address, listener_->port(), [this](auto connected) {
          ASSERT_TRUE(connected.ok()) << connected.status();
          client_ = *std::move(connected);
          driver_.Changed();
        });
    ASSERT_TRUE(driver_.Await([this] { return server_ && client_; }));
  }

  /// Reads `socket` until its end, or until it is lost.
  void ReadAll(TcpSocket& socket, std::string& bytes, std::optional<absl::Status>& end) {
    socket.Read([this, &socket, &bytes, &end](absl::StatusOr<std::string> read) {
      if (read.ok() && !read->empty()) {
        bytes += *read;
        return ReadAll(socket, bytes, end);
      }
      end = read.status();
      driver_.Changed();
    });
  }

  LoopDriver driver_;
  std::unique_ptr<TcpListener> listener_;
  std::unique_ptr<EventLoop::Handle> attempt_;
  std::unique_ptr<TcpSocket> server_;
  std::unique_ptr<TcpSocket> client_;
};

TEST_F(TcpSocketTest, BothSidesKnowEachOther) {
  Connect();
  EXPECT_EQ(server_->peer_address(), "127.0.0.1");
  EXPECT_EQ(server_->peer_port(), client_->local_port());
  EXPECT_EQ(client_->peer_port(), listener_->port());
}

TEST_F(TcpSocketTest, AStreamCarriesTheBytesInItsForm) {
  Connect("127.0.0.1", [](int fd) { return std::make_unique<TurnedStream>(fd); });
  const std::string there(100'001, 't'), back(3'000'000, 'b');
  std::string at_server, at_client;
  std::optional<absl::Status> server_end, client_end;
  bool written = false;
  client_->Write(there, [&](const absl::Status&) { client_->EndWriting(); });
  std::vector<TcpSocket::Piece> pieces = {
      {"", nullptr}, {"<", std::make_shared<const std::string>(back)}, {">", nullptr}};
  server_->WritePieces(std::move(pieces), [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    written = true;
    server_->EndWriting();
  });
  EXPECT_FALSE(written) << "never from within the call";
  ReadAll(*server_, at_server, server_end);
  ReadAll(*client_, at_client, client_end);
  ASSERT_TRUE(driver_.Await([&] { return server_end && client_end; }));
  EXPECT_TRUE(server_end->ok() && client_end->ok()) << *server_end << *client_end;
  EXPECT_TRUE(Turned(at_server) == there);
  EXPECT_TRUE(Turned(at_client) == "<" + back + ">");
}

TEST_F(TcpSocketTest, ACallbackMayDestroyASocketWithAStream) {
  Connect("127.0.0.1", [](int fd) { return std::make_unique<TurnedStream>(fd); });
  bool read = false;
  server_->Read([&](const absl::StatusOr<std::string>& bytes) {
    read = bytes.ok();
    server_.reset();
    driver_.Changed();
  });
  server_->Write(std::string(10'000'000, 'x'), [](const absl::Status&) { ADD_FAILURE(); });
  client_->Write("x", [](const absl::Status&) {});
  EXPECT_TRUE(driver_.Await([&] { return read; }));
}

TEST_F(TcpSocketTest, PiecesArriveInTheirOrder) {
  Connect();
  const auto shared = std::make_shared<const std::string>(300'000, 's');
  const auto nothing = std::make_shared<const std::string>();
  std::vector<TcpSocket::Piece> pieces = {{"", nullptr}, {"", nothing}};
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    pieces.push_back({absl::StrCat("<", i, ">"), i % 7 == 0 ? shared : nullptr});
    expected += absl::StrCat("<", i, ">", i % 7 == 0 ? *shared : "");
  }
  std::string received;
  std::optional<absl::Status> end;
  server_->WritePieces(std::move(pieces), [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(shared.use_count(), 1) << "it is kept when it is written";
    server_->EndWriting();
  });
  ReadAll(*client_, received, end);
  ASSERT_TRUE(driver_.Await([&] { return end.has_value(); }));
  EXPECT_TRUE(received == expected);
}

TEST_F(TcpSocketTest, ALargeWriteArrivesWholeAndEachDirectionEndsByItself) {
  Connect();
  std::string sent(8 << 20, 'x');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 + i / 251);
  std::string received;
  std::optional<absl::Status> end;
  client_->Write(sent, [this](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    client_->EndWriting();
  });
  ReadAll(*server_, received, end);
  ASSERT_TRUE(driver_.Await([&] { return end.has_value(); }));
  EXPECT_TRUE(end->ok()) << *end;
  EXPECT_TRUE(received == sent);

  std::string answer;
  std::optional<absl::Status> answer_end;
  server_->Write("bye", [this](const absl::Status&) { server_->EndWriting(); });
  ReadAll(*client_, answer, answer_end);
  ASSERT_TRUE(driver_.Await([&] { return answer_end.has_value(); }));
  EXPECT_TRUE(answer_end->ok());
  EXPECT_EQ(answer, "bye");
}

TEST_F(TcpSocketTest, NothingIsReadBeforeItIsAskedFor) {
  Connect();
  bool written = false;
  client_->Write(std::string(64 << 20, 'x'), [&](const absl::Status&) {
    written = true;
    driver_.Changed();
  });
  bool read = false;
  server_->Read([&](const auto&) {
    read = true;
    driver_.Changed();
  });
  ASSERT_TRUE(driver_.Await([&] { return read; }));
  EXPECT_FALSE(written) << "no kernel takes so much";
  std::string received;
  std::optional<absl::Status> end;
  ReadAll(*server_, received, end);
  ASSERT_TRUE(driver_.Await([&] { return written; }));
}

TEST_F(TcpSocketTest, ABrokenConnectionIsNoEnd) {
  Connect();
  std::string received;
  std::optional<absl::Status> end;
  ReadAll(*server_, received, end);
  client_->Break();
  ASSERT_TRUE(driver_.Await([&] { return end.has_value(); }));
  EXPECT_TRUE(absl::IsUnavailable(*end)) << *end;
}

TEST_F(TcpSocketTest, ADestroyedSocketCallsNobody) {
  Connect();
  client_->Read([](const auto&) { ADD_FAILURE() << "called after destruction"; });
  client_.reset();
  std::string received;
  std::optional<absl::Status> end;
  ReadAll(*server_, received, end);
  ASSERT_TRUE(driver_.Await([&] { return end.has_value(); }));
  EXPECT_TRUE(end->ok());
}

TEST_F(TcpSocketTest, NobodyThere) {
  Connect();
  const int port = listener_->port();
  listener_.reset();
  std::optional<absl::Status> status;
  const auto attempt =
      TcpSocket::Connect(driver_.loop(), "127.0.0.1", port, [&](const auto& connected) {
        status = connected.status();
        driver_.Changed();
      });
  ASSERT_TRUE(driver_.Await([&] { return status.has_value(); }));
  EXPECT_TRUE(absl::IsUnavailable(*status)) << *status;
}

TEST_F(TcpSocketTest, NamesAreNoAddresses) {
  const auto listener =
      TcpListener::Listen(driver_.loop(), "localhost", 0, [](std::unique_ptr<TcpSocket>) {});
  EXPECT_TRUE(absl::IsInvalidArgument(listener.status())) << listener.status();
  std::optional<absl::Status> status;
  const auto attempt =
      TcpSocket::Connect(driver_.loop(), "localhost", 1, [&](const auto& connected) {
        status = connected.status();
        driver_.Changed();
      });
  EXPECT_FALSE(status.has_value()) << "called from within the call";
  ASSERT_TRUE(driver_.Await([&] { return status.has_value(); }));
  EXPECT_TRUE(absl::IsInvalidArgument(*status)) << *status;
}

TEST_F(TcpSocketTest, APortThatIsTakenCannotBeListenedOn) {
  Connect();
  const auto second = TcpListener::Listen(driver_.loop(), "127.0.0.1", listener_->port(),
                                          [](std::unique_ptr<TcpSocket>) {});
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
}

TEST_F(TcpSocketTest, ABoundSocketIsListenedOn) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  auto listener = TcpListener::Adopt(driver_.loop(), socket, PeerFilter("a test", AnyPeer()),
                                     [this](auto accepted) {
                                       server_ = std::move(accepted);
                                       driver_.Changed();
                                     });
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(::fcntl(socket, F_GETFD), FD_CLOEXEC);
  attempt_ = TcpSocket::Connect(driver_.loop(), "127.0.0.1", (*listener)->port(),
                                [](const auto& connected) { ASSERT_TRUE(connected.ok()); });
  EXPECT_TRUE(driver_.Await([this] { return server_ != nullptr; }));
}

TEST_F(TcpSocketTest, WhatIsNoSocketCannotBeListenedOn) {
  const int file = ::open("/dev/null", O_RDONLY);
  const auto listener = TcpListener::Adopt(driver_.loop(), file, PeerFilter("a test", AnyPeer()),
                                           [](std::unique_ptr<TcpSocket>) {});
  EXPECT_TRUE(absl::IsUnavailable(listener.status())) << listener.status();
  ::close(file);
}

}  // namespace
}  // namespace tony
