// A state machine per connection: reading, handling, writing, parting. One deadline at a time
// bounds each state.
#include "web/http_server.h"

#include <algorithm>
#include <utility>

#include "common/logging.h"
#include "web/request_reader.h"

namespace tony::web {

/// Reads one request, has it answered, writes the response, and waits for the client to close.
/// Closing first, with bytes of the client unread, may destroy the response on its way.
class HttpServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer& server, std::unique_ptr<TcpSocket> socket)
      : server_(server), socket_(std::move(socket)), reader_(socket_->peer_address()) {}

  void Start() {
    AllowTime(server_.limits_.request,
              [this] { Write(ErrorResponse(408, "The request did not come in time.")); });
    Read();
  }

  /// Whether the connection may be closed for a new one: no client loses an answer that it has
  /// asked for.
  bool dispensable() const { return state_ == State::kReading || state_ == State::kParting; }

 private:
  enum class State { kReading, kHandling, kWriting, kParting };

  void AllowTime(std::chrono::milliseconds time, std::function<void()> when_over) {
    deadline_ = server_.loop_.After(time, std::move(when_over));
  }

  void Read() {
    read_pending_ = true;
    socket_->Read([this](const absl::StatusOr<std::string>& bytes) {
      read_pending_ = false;
      if (!bytes.ok() || bytes->empty()) return server_.Forget(*this);
      if (state_ != State::kReading) return Read();  // too late, or behind the request
      auto result = reader_.Take(*bytes);
      if (!result) return Read();
      if (auto* refusal = std::get_if<HttpResponse>(&*result)) return Write(std::move(*refusal));
      Handle(std::get<HttpRequest>(*result));
    });
  }

  // The handler may answer after the deadline or after the connection is gone, so its callback
  // holds the connection weakly and is ignored in any other state.
  void Handle(const HttpRequest& request) {
    state_ = State::kHandling;
    head_ = request.head;
    AllowTime(server_.limits_.handling,
              [this] { Write(ErrorResponse(504, "The answer did not come in time.")); });
    server_.handler_(request, [weak = weak_from_this()](HttpResponse response) {
      const auto self = weak.lock();
      if (self != nullptr && self->state_ == State::kHandling) self->Write(std::move(response));
    });
  }

  void Write(const HttpResponse& response) {
    if (response.status >= 400) {
      // The path stays out of the log: it may hold the code that opens the page.
      server_.refused_log_.Log(LogLevel::kDebug, "the web server refuses a request",
                               {{"status", response.status}, {"peer", socket_->peer_address()}});
    }
    state_ = State::kWriting;
    AllowTime(server_.limits_.response, [this] { server_.Forget(*this); });
    socket_->Write(RenderResponse(response, head_), [this](const absl::Status& status) {
      if (!status.ok()) return server_.Forget(*this);
      socket_->EndWriting();
      AwaitEnd();
    });
  }

  // The response is complete and the writing side is shut down. Reading goes on until the client
  // closes, for two seconds at most.
  void AwaitEnd() {
    state_ = State::kParting;
    constexpr std::chrono::milliseconds kPatience{2000};
    AllowTime(kPatience, [this] { server_.Forget(*this); });
    if (!read_pending_) Read();
  }

  HttpServer& server_;
  const std::unique_ptr<TcpSocket> socket_;
  RequestReader reader_;
  State state_ = State::kReading;
  bool head_ = false;
  bool read_pending_ = false;
  std::unique_ptr<EventLoop::Handle> deadline_;
};

HttpServer::HttpServer(EventLoop& loop, Handler handler, Limits limits)
    : loop_(loop), handler_(std::move(handler)), limits_(limits) {}

HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(EventLoop& loop,
                                                              const std::string& address, int port,
                                                              PeerCheck peers, Handler handler,
                                                              Limits limits) {
  auto server = std::unique_ptr<HttpServer>(new HttpServer(loop, std::move(handler), limits));
  absl::StatusOr<std::unique_ptr<TcpListener>> listener = TcpListener::Listen(
      loop, address, port, PeerFilter("the web server", std::move(peers)),
      [server = server.get()](auto socket) { server->OnAccepted(std::move(socket)); });
  if (!listener.ok()) return listener.status();
  server->listener_ = *std::move(listener);
  return server;
}

void HttpServer::OnAccepted(std::unique_ptr<TcpSocket> socket) {
  if (connections_.size() >= limits_.connections) {
    crowd_log_.Log(LogLevel::kWarning, "the web server has too many connections",
                   {{"peer", socket->peer_address()}, {"most", limits_.connections}});
    const auto idle =
        std::find_if(connections_.begin(), connections_.end(),
                     [](const auto& connection) { return connection->dispensable(); });
    if (idle == connections_.end()) return;  // the new connection is closed
    connections_.erase(idle);
  }
  connections_.push_back(std::make_shared<Connection>(*this, std::move(socket)));
  connections_.back()->Start();
}

void HttpServer::Forget(const Connection& connection) {
  connections_.remove_if([&](const auto& other) { return other.get() == &connection; });
}

}  // namespace tony::web
