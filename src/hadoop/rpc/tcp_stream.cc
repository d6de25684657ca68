// Boost.Asio's socket. Asynchronous handlers share ownership of the state, so it outlives the
// TcpStream; `open` tells them whether the owner still wants events.
#include "hadoop/rpc/tcp_stream.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/port_number.h"

namespace tony::hadoop {
namespace asio = boost::asio;

namespace {

constexpr size_t kReadBytes = size_t{64} * 1024;
// TCP_USER_TIMEOUT: the kernel drops the connection when sent bytes stay unacknowledged this long.
constexpr unsigned kUnacknowledgedMillis = 30'000;

void SetOptions(asio::ip::tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMillis,
             sizeof(kUnacknowledgedMillis));
}

}  // namespace

std::string ToString(const Endpoint& endpoint) {
  const bool version_6 = endpoint.host.find(':') != std::string::npos;
  return absl::StrCat(version_6 ? "[" : "", endpoint.host, version_6 ? "]:" : ":", endpoint.port);
}

absl::StatusOr<Endpoint> ParseEndpoint(const std::string& text, int default_port) {
  const size_t colon = text.rfind(':');
  // Several colons without brackets are an IPv6 address without a port.
  const bool has_port = colon != std::string::npos &&
                        (text.find(':') == colon || (colon > 0 && text[colon - 1] == ']'));
  Endpoint endpoint{.host = has_port ? text.substr(0, colon) : text, .port = default_port};
  if (endpoint.host.size() > 2 && endpoint.host.front() == '[' && endpoint.host.back() == ']') {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  const bool port_is_number = !has_port || absl::SimpleAtoi(text.substr(colon + 1), &endpoint.port);
  if (endpoint.host.empty() || !port_is_number || endpoint.port <= 0 ||
      endpoint.port > kLargestPort) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no address of the form host:port"));
  }
  return endpoint;
}

struct TcpStream::State : std::enable_shared_from_this<State> {
  State(EventLoop& loop, const Endpoint& to, Events callbacks)
      : endpoint(to),
        events(std::move(callbacks)),
        resolver(loop.context()),
        socket(loop.context()) {}

  void Connect() {
    resolver.async_resolve(endpoint.host, std::to_string(endpoint.port),
                           [self = shared_from_this()](const auto& error, const auto& addresses) {
                             if (!self->open) return;
                             if (error) return self->Fail("cannot find the address of", error);
                             asio::async_connect(
                                 self->socket, addresses, [self](const auto& failure, const auto&) {
                                   if (!self->open) return;
                                   if (failure) return self->Fail("cannot connect to", failure);
                                   SetOptions(self->socket);
                                   self->connected = true;
                                   self->events.connected();
                                   if (!self->open) return;
                                   self->Read();
                                   self->WriteNext();
                                 });
                           });
  }

  void Read() {
    socket.async_read_some(asio::buffer(input),
                           [self = shared_from_this()](const auto& error, size_t size) {
                             if (!self->open) return;
                             if (error == asio::error::eof)
                               return self->Close("the connection was closed by");
                             if (error) return self->Fail("the connection was lost to", error);
                             self->events.received(self->input.data(), size);
                             if (self->open) self->Read();
                           });
  }

  // Double buffering: the kernel reads from `sending` until the write completes, so new bytes
  // collect in `waiting`.
  void WriteNext() {
    if (!connected || !sending.empty() || waiting.empty()) return;
    sending.swap(waiting);
    asio::async_write(socket, asio::buffer(sending),
                      [self = shared_from_this()](const auto& error, size_t /*size*/) {
                        if (!self->open) return;
                        self->sending.clear();
                        // A write error is not reported here. The reader sees the same error, but
                        // only after the bytes that still arrived, which may hold the server's
                        // reason.
                        if (!error) self->WriteNext();
                      });
  }

  void Fail(const std::string& what, const boost::system::error_code& error) {
    Close(absl::StrCat(error.message(), ": ", what));
  }

  void Close(const std::string& what) {
    const auto self = shared_from_this();
    End();
    events.closed(absl::UnavailableError(absl::StrCat(what, " ", ToString(endpoint))));
  }

  void End() {
    open = false;
    boost::system::error_code ignored;
    resolver.cancel();
    socket.close(ignored);
  }

  const Endpoint endpoint;
  const Events events;
  asio::ip::tcp::resolver resolver;
  asio::ip::tcp::socket socket;
  std::array<char, kReadBytes> input{};
  std::string sending;
  std::string waiting;
  bool open = true;
  bool connected = false;
};

TcpStream::TcpStream(EventLoop& loop, const Endpoint& endpoint, Events events)
    : state_(std::make_shared<State>(loop, endpoint, std::move(events))) {
  state_->Connect();
}

TcpStream::~TcpStream() { state_->End(); }

void TcpStream::Write(std::string bytes) {
  if (!state_->open) {
    return LogDebug("a write to a closed connection is dropped",
                    {{"peer", ToString(state_->endpoint)}});
  }
  state_->waiting += bytes;
  state_->WriteNext();
}

}  // namespace tony::hadoop
