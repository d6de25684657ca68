// Boost.Asio callbacks hold the connections weakly, so none runs after the server is destroyed.
#include "tests/hadoop/fakes/fake_server.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <set>
#include <utility>

#include "hadoop/base/wire_frame.h"

namespace tony::hadoop {
namespace {

constexpr size_t kPreambleBytes = 7;

struct Connection {
  explicit Connection(boost::asio::ip::tcp::socket s) : socket(std::move(s)) {}
  boost::asio::ip::tcp::socket socket;
  std::array<char, 4096> input{};
  std::string preamble;
  FrameReader frames{1 << 20, "Hadoop\'s RPC"};
};

}  // namespace

class FakeServer::Connections : public std::enable_shared_from_this<Connections> {
 public:
  Connections(EventLoop& loop, Handler handler)
      : acceptor_(loop.context(), {boost::asio::ip::address_v4::loopback(), 0}),
        handler_(std::move(handler)) {}

  void Accept() {
    acceptor_.async_accept([weak = weak_from_this()](const auto& error, auto socket) {
      const auto self = weak.lock();
      if (error || self == nullptr) return;
      ++self->accepted_;
      const auto connection = std::make_shared<Connection>(std::move(socket));
      self->open_.insert(connection);
      self->Read(connection);
      self->Accept();
    });
  }

  void Close() {
    for (const auto& connection : open_) connection->socket.close();
    open_.clear();
  }
  void Send(const std::string& bytes) {
    for (const auto& connection : open_) {
      boost::asio::write(connection->socket, boost::asio::buffer(bytes));
    }
  }

  int port() const { return acceptor_.local_endpoint().port(); }
  int accepted() const { return accepted_; }
  const std::string& preamble() const { return preamble_; }

 private:
  void Read(const std::shared_ptr<Connection>& connection) {
    connection->socket.async_read_some(
        boost::asio::buffer(connection->input),
        [weak = weak_from_this(), connection](const auto& error, size_t size) {
          const auto self = weak.lock();
          if (self == nullptr) return;
          if (error) {
            if (error != boost::asio::error::operation_aborted) self->open_.erase(connection);
            return;
          }
          self->OnBytes(connection, connection->input.data(), size);
          if (connection->socket.is_open()) self->Read(connection);
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
  std::set<std::shared_ptr<Connection>> open_;
  std::string preamble_;
  int accepted_ = 0;
};

FakeServer::FakeServer(EventLoop& loop, Handler handler)
    : connections_(std::make_shared<Connections>(loop, std::move(handler))) {
  connections_->Accept();
}

FakeServer::~FakeServer() = default;

Endpoint FakeServer::endpoint() const {
  return {.host = "127.0.0.1", .port = connections_->port()};
}

int FakeServer::accepted() const { return connections_->accepted(); }

const std::string& FakeServer::preamble() const { return connections_->preamble(); }

void FakeServer::CloseConnections() { connections_->Close(); }

void FakeServer::Send(const std::string& bytes) { connections_->Send(bytes); }

ClientFrame::ClientFrame(const std::string& frame) {
  MessageReader reader(frame);
  if (!reader.Read(&header).ok()) return;
  if (header.callid() >= 0 && reader.Read(&request).ok()) body = *reader.Bytes();
  if (header.callid() == -33) (void)reader.Read(&sasl);
}

std::string AnswerFrame(int id, const std::string& body) {
  ::hadoop::common::RpcResponseHeaderProto header;
  header.set_callid(static_cast<uint32_t>(id));
  header.set_status(::hadoop::common::RpcResponseHeaderProto::SUCCESS);
  return EncodeFrame({&header}, DelimitedBytes(body));
}

std::string ErrorFrame(int id, const std::string& exception, bool fatal) {
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
