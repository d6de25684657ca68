// Boost.Asio's blocking calls, over a plain socket or a TLS stream on top of it.
#include "tests/hadoop/fakes/fake_http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <istream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/hadoop/fakes/loopback_certificate.h"

namespace tony::hadoop {
namespace {

namespace ssl = boost::asio::ssl;
using boost::asio::ip::tcp;

template <typename Stream>
std::string ReadChunks(Stream& socket, boost::asio::streambuf& buffer) {
  std::string body;
  std::istream stream(&buffer);
  for (;;) {
    std::string line;
    boost::asio::read_until(socket, buffer, "\r\n");
    std::getline(stream, line);
    const size_t size = std::stoul(line, nullptr, 16);
    while (buffer.size() < size + 2) {
      buffer.commit(socket.read_some(buffer.prepare(size + 2 - buffer.size())));
    }
    std::string chunk(size + 2, '\0');
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    body.append(chunk, 0, size);
    if (size == 0) return body;
  }
}

template <typename Stream>
FakeHttpServer::Request ReadRequest(Stream& socket) {
  boost::asio::streambuf buffer;
  boost::asio::read_until(socket, buffer, "\r\n\r\n");
  std::istream stream(&buffer);
  FakeHttpServer::Request request;
  std::string line;
  stream >> request.method >> request.target;
  std::getline(stream, line);
  while (std::getline(stream, line) && line != "\r") request.headers += line + "\n";
  if (request.headers.find("chunked") != std::string::npos) {
    request.body = ReadChunks(socket, buffer);
  }
  return request;
}

std::string Encode(const FakeHttpServer::Response& response) {
  return absl::StrCat(
      "HTTP/1.1 ", response.code,
      " Said\r\nConnection: close\r\nContent-Length: ", response.body.size(), "\r\n",
      response.location.empty() ? "" : absl::StrCat("Location: ", response.location, "\r\n"),
      response.cookie.empty() ? "" : absl::StrCat("Set-Cookie: ", response.cookie, "\r\n"), "\r\n",
      response.body);
}

}  // namespace

class FakeHttpServer::Acceptor {
 public:
  Acceptor(Handler handler, const LoopbackCertificate* certificate)
      : acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}),
        handler_(std::move(handler)) {
    if (certificate != nullptr) {
      tls_.emplace(ssl::context::tls_server);
      certificate->Use(tls_->native_handle());
    }
    thread_ = std::thread([this] { Run(); });
  }
  ~Acceptor() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    // A connection wakes the thread, which waits for one.
    boost::asio::io_context context;
    tcp::socket(context).connect(acceptor_.local_endpoint());
    thread_.join();
  }

  int port() const { return acceptor_.local_endpoint().port(); }
  const char* scheme() const { return tls_ ? "https://" : "http://"; }
  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void Run() {
    for (;;) {
      tcp::socket socket = acceptor_.accept();
      {
        const std::lock_guard lock(mutex_);
        if (ending_) return;
      }
      try {
        tls_ ? ServeTls(socket) : Serve(socket);
      } catch (const boost::system::system_error&) {
        // The client closed the connection, since it refuses the answer.
      }
    }
  }

  void ServeTls(tcp::socket& socket) {
    ssl::stream<tcp::socket&> stream(socket, *tls_);
    stream.handshake(ssl::stream_base::server);
    Serve(stream);
    boost::system::error_code ignored;
    stream.shutdown(ignored);
  }

  template <typename Stream>
  void Serve(Stream& stream) {
    const Request request = ReadRequest(stream);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    boost::asio::write(stream, boost::asio::buffer(Encode(handler_(request))));
  }

  boost::asio::io_context context_;
  tcp::acceptor acceptor_;
  const Handler handler_;
  std::optional<ssl::context> tls_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  bool ending_ = false;
  std::thread thread_;
};

FakeHttpServer::FakeHttpServer(Handler handler)
    : acceptor_(std::make_unique<Acceptor>(std::move(handler), nullptr)) {}

FakeHttpServer::FakeHttpServer(Handler handler, const LoopbackCertificate& certificate)
    : acceptor_(std::make_unique<Acceptor>(std::move(handler), &certificate)) {}

FakeHttpServer::~FakeHttpServer() = default;

Endpoint FakeHttpServer::endpoint() const {
  return {.host = "127.0.0.1", .port = acceptor_->port()};
}

std::string FakeHttpServer::Url(const std::string& target) const {
  return absl::StrCat(acceptor_->scheme(), ToString(endpoint()), target);
}

std::vector<FakeHttpServer::Request> FakeHttpServer::requests() const {
  return acceptor_->requests();
}

}  // namespace tony::hadoop
