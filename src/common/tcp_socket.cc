// Boost.Asio's sockets. Pending handlers keep the state alive; its flag `open` tells them whether
// the owner still exists.
#include "common/tcp_socket.h"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/lifetime.h"
#include "common/port_number.h"

namespace tony {
namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

namespace {

// Pause after a failed accept, for example for lack of descriptors.
constexpr std::chrono::milliseconds kAcceptPause{100};

// The most bytes of one system call. Asio's own limit of 64 KiB makes a large write many of them.
constexpr size_t kMostWriteBytes = size_t{1} << 20;

// The most bytes that a stream is asked for at once: those of one record of TLS.
constexpr size_t kMostRecordBytes = size_t{16} * 1024;

std::string AddressText(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return address.to_string();
}

absl::StatusOr<Tcp::endpoint> MakeEndpoint(const std::string& address, int port) {
  error_code error;
  const asio::ip::address number = asio::ip::make_address(address, error);
  if (error || port < 0 || port > kLargestPort) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", address, "' with port ", port, " is no address of a socket"));
  }
  return Tcp::endpoint(number, static_cast<unsigned short>(port));
}

/// Programs started by this process must not inherit the descriptor.
void KeepFromChildren(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

absl::Status Lost(const std::string& why) {
  return absl::UnavailableError(absl::StrCat("the connection is lost: ", why));
}

absl::Status Lost(const error_code& error) { return Lost(error.message()); }

}  // namespace

struct TcpSocket::State : std::enable_shared_from_this<State> {
  explicit State(Tcp::socket connected) : socket(std::move(connected)) {
    KeepFromChildren(socket.native_handle());
    error_code error;
    const Tcp::endpoint peer = socket.remote_endpoint(error);
    if (!error) {
      peer_address = AddressText(peer.address());
      peer_port = peer.port();
    }
    const Tcp::endpoint local = socket.local_endpoint(error);
    if (!error) local_port = local.port();
    socket.set_option(Tcp::no_delay(true), error);
    socket.set_option(asio::socket_base::keep_alive(true), error);
    socket.non_blocking(true, error);
  }

  void Close() {
    open = false;
    stream.reset();  // uses the descriptor, so it goes first
    error_code ignored;
    socket.close(ignored);
  }

  /// Waits until there is something to read, and only then uses a buffer: an idle connection costs
  /// none.
  void AwaitInput(OnRead on_read, size_t most) {
    socket.async_wait(Tcp::socket::wait_read,
                      [self = shared_from_this(), on_read = std::move(on_read),
                       most](const error_code& error) mutable {
                        if (self->open) self->ReadInput(error, std::move(on_read), most);
                      });
  }

  void ReadInput(error_code error, OnRead on_read, size_t most) {
    std::string bytes;
    if (!error) {
      error_code unknown;
      const size_t available = socket.available(unknown);
      bytes.resize(std::clamp(available, size_t{1}, most));
      bytes.resize(socket.read_some(asio::buffer(bytes), error));
    }
    if (error == asio::error::would_block) return AwaitInput(std::move(on_read), most);
    if (error && error != asio::error::eof) return on_read(Lost(error));
    on_read(std::move(bytes));
  }

  /// Calls `then` once the socket is ready for `direction`, unless it is closed before.
  void AwaitStream(Tcp::socket::wait_type direction, std::function<void()> then) {
    socket.async_wait(direction,
                      [self = shared_from_this(), then = std::move(then)](const error_code&) {
                        if (self->open) then();  // the stream finds out what is wrong
                      });
  }

  // A stream may hold decrypted bytes, of which the kernel knows nothing.
  void ReadStreamLater(OnRead on_read, size_t most) {
    auto read = [this, on_read = std::move(on_read), most]() mutable {
      ReadStream(std::move(on_read), most);
    };
    if (!stream->buffered()) return AwaitStream(Tcp::socket::wait_read, std::move(read));
    asio::post(socket.get_executor(), [self = shared_from_this(), read]() mutable {
      if (self->open) read();
    });
  }

  void ReadStream(OnRead on_read, size_t most) {
    std::string bytes(std::min(most, kMostRecordBytes), '\0');
    const IoResult result = stream->Read(bytes.data(), bytes.size());
    switch (result.state) {
      case IoResult::State::kMoved:
        bytes.resize(result.bytes);
        return on_read(std::move(bytes));
      case IoResult::State::kEnd:
        return on_read(std::string());
      case IoResult::State::kBroken:
        return on_read(Lost("the peer broke it off"));
      case IoResult::State::kWantsRead:
      case IoResult::State::kWantsWrite:
        return AwaitStream(result.state == IoResult::State::kWantsRead ? Tcp::socket::wait_read
                                                                       : Tcp::socket::wait_write,
                           [this, on_read = std::move(on_read), most]() mutable {
                             ReadStream(std::move(on_read), most);
                           });
    }
  }

  // After each kMostWriteBytes the loop's other work has its turn, however fast the peer reads.
  void WriteStream(OnWritten on_written) {
    size_t written = 0;
    while (!unsent.empty()) {
      asio::const_buffer& next = unsent.front();
      if (next.size() == 0) {
        unsent.pop_front();
        continue;
      }
      if (written >= kMostWriteBytes) return WriteStreamLater(std::move(on_written));
      const IoResult result = stream->Write(static_cast<const char*>(next.data()), next.size());
      if (result.state == IoResult::State::kMoved) {
        next += result.bytes;
        written += result.bytes;
        continue;
      }
      if (result.state == IoResult::State::kWantsRead ||
          result.state == IoResult::State::kWantsWrite) {
        return AwaitStream(result.state == IoResult::State::kWantsRead ? Tcp::socket::wait_read
                                                                       : Tcp::socket::wait_write,
                           [this, on_written = std::move(on_written)]() mutable {
                             WriteStream(std::move(on_written));
                           });
      }
      unsent.clear();
      output.clear();
      return on_written(Lost("the peer broke it off"));
    }
    output.clear();
    on_written(absl::OkStatus());
  }

  void WriteStreamLater(OnWritten on_written) {
    asio::post(socket.get_executor(),
               [self = shared_from_this(), on_written = std::move(on_written)]() mutable {
                 if (self->open) self->WriteStream(std::move(on_written));
               });
  }

  Tcp::socket socket;
  std::unique_ptr<ByteStream> stream;  ///< null: bytes are sent as they are
  std::string peer_address;
  int peer_port = 0;
  int local_port = 0;
  std::vector<Piece> output;
  std::deque<asio::const_buffer> unsent;  ///< of `output`, what the stream has not taken yet
  bool open = true;
};

TcpSocket::TcpSocket(std::shared_ptr<State> state) : state_(std::move(state)) {}

TcpSocket::~TcpSocket() { state_->Close(); }

void TcpSocket::Read(OnRead on_read, size_t most) {
  if (state_->stream != nullptr) return state_->ReadStreamLater(std::move(on_read), most);
  state_->AwaitInput(std::move(on_read), most);
}

void TcpSocket::Write(std::string bytes, OnWritten on_written) {
  std::vector<Piece> pieces;
  pieces.push_back({std::move(bytes), nullptr});
  WritePieces(std::move(pieces), std::move(on_written));
}

void TcpSocket::WritePieces(std::vector<Piece> pieces, OnWritten on_written) {
  // The state owns the bytes until they are sent, because async_write() refers to them.
  state_->output = std::move(pieces);
  std::vector<asio::const_buffer> buffers;
  for (const Piece& piece : state_->output) {
    buffers.push_back(asio::buffer(piece.own));
    if (piece.shared != nullptr) buffers.push_back(asio::buffer(*piece.shared));
  }
  if (state_->stream != nullptr) {
    state_->unsent.assign(buffers.begin(), buffers.end());
    return state_->WriteStreamLater(std::move(on_written));
  }
  asio::async_write(
      state_->socket, buffers,
      [](const error_code& error, size_t) { return error ? 0 : kMostWriteBytes; },
      [state = state_, on_written = std::move(on_written)](const error_code& error, size_t) {
        if (!state->open) return;
        state->output.clear();
        on_written(error ? Lost(error) : absl::OkStatus());
      });
}

void TcpSocket::EndWriting() {
  if (state_->stream != nullptr) return state_->stream->EndWriting();
  error_code ignored;  // the reader learns that the peer is gone
  state_->socket.shutdown(Tcp::socket::shutdown_send, ignored);
}

void TcpSocket::Break() {
  // A linger time of 0 makes close() send a reset instead of an orderly end.
  error_code ignored;
  state_->socket.set_option(asio::socket_base::linger(true, 0), ignored);
  state_->Close();
}

const std::string& TcpSocket::peer_address() const { return state_->peer_address; }
int TcpSocket::peer_port() const { return state_->peer_port; }
int TcpSocket::local_port() const { return state_->local_port; }

std::unique_ptr<EventLoop::Handle> TcpSocket::Connect(EventLoop& loop, const std::string& address,
                                                      int port, OnConnected on_connected) {
  /// Destroying the attempt ends it.
  struct Attempt : EventLoop::Handle {
    explicit Attempt(asio::io_context& context) : socket(std::make_shared<Tcp::socket>(context)) {}
    ~Attempt() override {
      error_code ignored;
      socket->close(ignored);
    }
    std::shared_ptr<Tcp::socket> socket;
    Lifetime lifetime;
  };
  auto attempt = std::make_unique<Attempt>(loop.context());
  const absl::StatusOr<Tcp::endpoint> endpoint = MakeEndpoint(address, port);
  if (!endpoint.ok()) {
    // An error is posted, since callbacks never come from within a call.
    loop.Post(attempt->lifetime.Guard(
        [status = endpoint.status(), on_connected = std::move(on_connected)] {
          on_connected(status);
        }));
    return attempt;
  }
  attempt->socket->async_connect(
      *endpoint,
      attempt->lifetime.Guard([socket = attempt->socket, where = *endpoint,
                               on_connected = std::move(on_connected)](const error_code& error) {
        if (error) {
          return on_connected(absl::UnavailableError(
              absl::StrCat(where.address().to_string(), ":", where.port(), ": ", error.message())));
        }
        on_connected(
            std::unique_ptr<TcpSocket>(new TcpSocket(std::make_shared<State>(std::move(*socket)))));
      }));
  return attempt;
}

struct TcpListener::State : std::enable_shared_from_this<State> {
  State(EventLoop& loop, std::optional<PeerFilter> filter, OnAccepted callback, Wrap wrap_with)
      : acceptor(loop.context()),
        pause(loop.context()),
        peers(std::move(filter)),
        on_accepted(std::move(callback)),
        wrap(std::move(wrap_with)) {}

  static absl::StatusOr<std::shared_ptr<State>> Open(EventLoop& loop, const std::string& address,
                                                     int port, std::optional<PeerFilter> peers,
                                                     OnAccepted on_accepted, Wrap wrap);

  /// Makes the bound acceptor listen, and begins to accept.
  error_code Listen() {
    error_code error;
    acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port = acceptor.local_endpoint(error).port();
    if (!error) Accept();
    return error;
  }

  void Accept() {
    acceptor.async_accept([self = shared_from_this()](const error_code& error, Tcp::socket socket) {
      if (!self->open) return;
      // A failed accept leaves the connection in the queue, so accepting again at once would spin.
      if (error) return self->AcceptLater();
      self->OnConnection(std::move(socket));
      if (self->open) self->Accept();
    });
  }

  void OnConnection(Tcp::socket socket) {
    if (peers && !peers->Admits(socket.native_handle())) return;  // the destructor closes it
    auto accepted = std::make_shared<TcpSocket::State>(std::move(socket));
    if (wrap) {
      accepted->stream = wrap(accepted->socket.native_handle());
      if (accepted->stream == nullptr) return;
    }
    on_accepted(std::unique_ptr<TcpSocket>(new TcpSocket(std::move(accepted))));
  }

  void AcceptLater() {
    pause.expires_after(kAcceptPause);
    pause.async_wait([self = shared_from_this()](const error_code&) {
      if (self->open) self->Accept();
    });
  }

  Tcp::acceptor acceptor;
  asio::steady_timer pause;
  std::optional<PeerFilter> peers;  ///< nothing: the caller checks peers itself
  const OnAccepted on_accepted;
  const Wrap wrap;
  int port = 0;
  bool open = true;
};

TcpListener::TcpListener(std::shared_ptr<State> state) : state_(std::move(state)) {}

TcpListener::~TcpListener() {
  state_->open = false;
  error_code ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
}

int TcpListener::port() const { return state_->port; }

absl::StatusOr<std::shared_ptr<TcpListener::State>> TcpListener::State::Open(
    EventLoop& loop, const std::string& address, int port, std::optional<PeerFilter> peers,
    OnAccepted on_accepted, Wrap wrap) {
  const absl::StatusOr<Tcp::endpoint> endpoint = MakeEndpoint(address, port);
  if (!endpoint.ok()) return endpoint.status();
  auto state =
      std::make_shared<State>(loop, std::move(peers), std::move(on_accepted), std::move(wrap));
  error_code error;
  state->acceptor.open(endpoint->protocol(), error);
  if (!error) KeepFromChildren(state->acceptor.native_handle());
  // Without this option a port that was in use a moment ago could not be bound again for a minute.
  if (!error) state->acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) state->acceptor.bind(*endpoint, error);
  if (!error) error = state->Listen();
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ", port ", port, ": ", error.message()));
  }
  return state;
}

absl::StatusOr<std::unique_ptr<TcpListener>> TcpListener::Listen(EventLoop& loop,
                                                                 const std::string& address,
                                                                 int port, PeerFilter peers,
                                                                 OnAccepted on_accepted,
                                                                 Wrap wrap) {
  auto state =
      State::Open(loop, address, port, std::move(peers), std::move(on_accepted), std::move(wrap));
  if (!state.ok()) return state.status();
  return std::unique_ptr<TcpListener>(new TcpListener(*std::move(state)));
}

absl::StatusOr<std::unique_ptr<TcpListener>> TcpListener::Listen(EventLoop& loop,
                                                                 const std::string& address,
                                                                 int port, OnAccepted on_accepted) {
  auto state = State::Open(loop, address, port, std::nullopt, std::move(on_accepted), nullptr);
  if (!state.ok()) return state.status();
  return std::unique_ptr<TcpListener>(new TcpListener(*std::move(state)));
}

absl::StatusOr<std::unique_ptr<TcpListener>> TcpListener::Adopt(EventLoop& loop, int socket,
                                                                PeerFilter peers,
                                                                OnAccepted on_accepted) {
  auto state = std::make_shared<State>(loop, std::move(peers), std::move(on_accepted), nullptr);
  KeepFromChildren(socket);
  error_code error;
  state->acceptor.assign(Tcp::v4(), socket, error);
  if (!error) error = state->Listen();
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen with an inherited socket: ", error.message()));
  }
  return std::unique_ptr<TcpListener>(new TcpListener(std::move(state)));
}

}  // namespace tony
