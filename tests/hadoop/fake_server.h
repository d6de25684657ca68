// A server on loopback that says what a test wants it to say.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "common/event_loop.h"
#include "hadoop/base/wire_frame.h"
#include "hadoop/common/rpc.pb.h"
#include "hadoop/rpc/tcp_stream.h"

namespace tony::hadoop {

/// On the loop of what it serves. Not thread safe.
class FakeServer {
 public:
  /// Of each frame that arrives: what to send, bytes that are a frame or not.
  using Handler = std::function<std::string(const std::string& frame)>;

  FakeServer(EventLoop& loop, Handler handler)
      : acceptor_(loop.context(), {boost::asio::ip::address_v4::loopback(), 0}),
        handler_(std::move(handler)) {
    Accept();
  }

  // The loop may go on, and then tells what was read meanwhile.
  ~FakeServer() { *alive_ = false; }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  Endpoint endpoint() const {
    return {.host = "127.0.0.1", .port = acceptor_.local_endpoint().port()};
  }
  int accepted() const { return accepted_; }
  /// The first bytes of the last connection.
  const std::string& preamble() const { return preamble_; }

  void CloseConnections() {
    for (const auto& connection : connections_) connection->socket.close();
    connections_.clear();
  }
  void Send(const std::string& bytes) {
    for (const auto& connection : connections_) {
      boost::asio::write(connection->socket, boost::asio::buffer(bytes));
    }
  }

 private:
  static constexpr size_t kPreambleBytes = 7;
  struct Connection {
    explicit Connection(boost::asio::ip::tcp::socket s) : socket(std::move(s)) {}
    boost::asio::ip::tcp::socket socket;
    std::array<char, 4096> input{};
    std::string preamble;
    FrameReader frames{1 << 20, "Hadoop\'s RPC"};
  };

  void Accept() {
    acceptor_.async_accept([this, alive = alive_](const auto& error, auto socket) {
      if (error || !*alive) return;
      ++accepted_;
      const auto connection = std::make_shared<Connection>(std::move(socket));
      connections_.insert(connection);
      Read(connection);
      Accept();
    });
  }

  void Read(const std::shared_ptr<Connection>& connection) {
    connection->socket.async_read_some(
        boost::asio::buffer(connection->input),
        [this, alive = alive_, connection](const auto& error, size_t size) {
          if (!*alive) return;
          if (error) {
            if (error != boost::asio::error::operation_aborted) connections_.erase(connection);
            return;
          }
          OnBytes(connection, connection->input.data(), size);
          if (connection->socket.is_open()) Read(connection);
        });
  }

  void OnBytes(const std::shared_ptr<Connection>& connection, const char* data, size_t size) {
    const size_t head = std::min(size, kPreambleBytes - connection->preamble.size());
    connection->preamble.append(data, head);
    preamble_ = connection->preamble;
    connection->frames.Append(data + head, size - head);
    for (auto frame = connection->frames.Next(); frame.ok() && frame->has_value();
         frame = connection->frames.Next()) {
      const std::string answer = handler_(**frame);
      if (!connection->socket.is_open()) return;
      boost::system::error_code ignored;
      boost::asio::write(connection->socket, boost::asio::buffer(answer), ignored);
    }
  }

  boost::asio::ip::tcp::acceptor acceptor_;
  const Handler handler_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::string preamble_;
  int accepted_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// A client's frame, read.
struct ClientFrame {
  explicit ClientFrame(const std::string& frame) {
    MessageReader reader(frame);
    if (!reader.Read(&header).ok()) return;
    if (header.callid() >= 0 && reader.Read(&request).ok()) body = *reader.Bytes();
    if (header.callid() == -33) (void)reader.Read(&sasl);
  }
  ::hadoop::common::RpcRequestHeaderProto header;
  ::hadoop::common::RequestHeaderProto request;
  ::hadoop::common::RpcSaslProto sasl;
  std::string body;
};

/// The good answer `body` to the call `id`.
inline std::string AnswerFrame(int id, const std::string& body) {
  ::hadoop::common::RpcResponseHeaderProto header;
  header.set_callid(static_cast<uint32_t>(id));
  header.set_status(::hadoop::common::RpcResponseHeaderProto::SUCCESS);
  return EncodeFrame({&header}, DelimitedBytes(body));
}

/// An exception.
/// `exception`: a class, and behind ": " its message, or none for the usual one.
inline std::string ErrorFrame(int id, const std::string& exception, bool fatal = false) {
  using Header = ::hadoop::common::RpcResponseHeaderProto;
  Header header;
  header.set_callid(static_cast<uint32_t>(id));
  header.set_status(fatal ? Header::FATAL : Header::ERROR);
  const size_t colon = exception.find(": ");
  header.set_exceptionclassname(exception.substr(0, colon));
  const std::string reason =
      colon == std::string::npos ? "the reason" : exception.substr(colon + 2);
  header.set_errormsg(reason + "\n\tat java.lang.Thread.run");
  return EncodeFrame({&header});
}

}  // namespace tony::hadoop
