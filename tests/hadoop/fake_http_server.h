// A web server on loopback that says what a test wants it to say.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <istream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hadoop/rpc/tcp_stream.h"

namespace tony::hadoop {

/// Answers one request after the other, on a thread of its own. Thread safe.
class FakeHttpServer {
 public:
  struct Request {
    std::string method;
    std::string target;   ///< path and query
    std::string headers;  ///< lines
    std::string body;
  };
  struct Response {
    int code = 200;
    std::string body;
    std::string location;
    std::string cookie;  ///< name=value
  };
  using Handler = std::function<Response(const Request& request)>;
  using Socket = boost::asio::ip::tcp::socket;
  /// Calls Serve() with the accepted socket, or with a stream on top of it.
  using Transport = std::function<void(FakeHttpServer& server, Socket& socket)>;

  explicit FakeHttpServer(Handler handler)
      : FakeHttpServer(std::move(handler), "http://",
                       [](FakeHttpServer& server, Socket& socket) { server.Serve(socket); }) {}
  FakeHttpServer(Handler handler, std::string scheme, Transport transport)
      : acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}),
        handler_(std::move(handler)),
        scheme_(std::move(scheme)),
        transport_(std::move(transport)),
        thread_([this] { Run(); }) {}
  ~FakeHttpServer() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    // What it waits for.
    boost::asio::io_context context;
    boost::asio::ip::tcp::socket(context).connect(acceptor_.local_endpoint());
    thread_.join();
  }

  Endpoint endpoint() const {
    return {.host = "127.0.0.1", .port = acceptor_.local_endpoint().port()};
  }
  std::string Url(const std::string& target) const {
    return absl::StrCat(scheme_, ToString(endpoint()), target);
  }
  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  /// Reads one request from `stream`, and answers it. For the transport.
  template <typename Stream>
  void Serve(Stream& stream) {
    const Request request = Read(stream);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const Response response = handler_(request);
    boost::asio::write(
        stream,
        boost::asio::buffer(absl::StrCat(
            "HTTP/1.1 ", response.code,
            " Said\r\nConnection: close\r\nContent-Length: ", response.body.size(), "\r\n",
            response.location.empty() ? "" : absl::StrCat("Location: ", response.location, "\r\n"),
            response.cookie.empty() ? "" : absl::StrCat("Set-Cookie: ", response.cookie, "\r\n"),
            "\r\n", response.body)));
  }

 private:
  void Run() {
    for (;;) {
      auto socket = acceptor_.accept();
      {
        const std::lock_guard lock(mutex_);
        if (ending_) return;
      }
      try {
        transport_(*this, socket);
      } catch (const boost::system::system_error&) {
        // The client went away: it does not like the answer.
      }
    }
  }

  template <typename Stream>
  static Request Read(Stream& socket) {
    boost::asio::streambuf buffer;
    boost::asio::read_until(socket, buffer, "\r\n\r\n");
    std::istream stream(&buffer);
    Request request;
    std::string line;
    stream >> request.method >> request.target;
    std::getline(stream, line);
    while (std::getline(stream, line) && line != "\r") request.headers += line + "\n";
    if (request.headers.find("chunked") != std::string::npos) {
      request.body = ReadChunks(socket, buffer);
    }
    return request;
  }

  template <typename Stream>
  static std::string ReadChunks(Stream& socket, boost::asio::streambuf& buffer) {
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

  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  const Handler handler_;
  const std::string scheme_;
  const Transport transport_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tony::hadoop
