// A state machine per connection. One deadline at a time bounds each state.
//
//            request                    answer                 written, keep-alive
//   READING ─────────▶ HANDLING ──────────────────▶ WRITING ──────────────────────▶ READING
//      ▲ bad request      │ answer with a source       │ else                         (idle)
//      └── WRITING        ▼                            ▼
//                     STREAMING ────── end ───────▶ PARTING
#include "web/http/http_server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "web/http/gzip.h"

namespace tony::web {

/// Reads a request, has it answered, writes the response, and reads the next request or waits for
/// the client to close. Closing first, with bytes of the client unread, may destroy the response on
/// its way.
class HttpServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer& server, std::unique_ptr<TcpSocket> socket)
      : server_(server), socket_(std::move(socket)) {}
  ~Connection() { Abandon(); }

  void Start() { AwaitRequest(server_.limits_.request); }

  /// Whether the connection may be closed for a new one: no client loses an answer that it has
  /// asked for.
  bool dispensable() const { return state_ == State::kReading || state_ == State::kParting; }

 private:
  enum class State { kReading, kHandling, kWriting, kStreaming, kParting };

  void AllowTime(std::chrono::milliseconds time, std::function<void()> when_over) {
    deadline_ = server_.loop_.After(time, std::move(when_over));
  }

  // A client that has not begun its next request is owed no answer.
  void AwaitRequest(std::chrono::milliseconds time) {
    state_ = State::kReading;
    keep_alive_ = false;
    reader_ = std::make_unique<RequestReader>(socket_->peer_address(), server_.allowed_,
                                              server_.user_header_);
    AllowTime(time, [this] {
      if (answered_ && !reader_->begun()) return server_.Forget(*this);
      // Nor is one that has not finished its handshake: the answer would wait for it once more.
      if (server_.encrypted_ && !reader_->begun()) return server_.Forget(*this);
      Write(ErrorResponse(408, "The request did not come in time."));
    });
    if (!early_.empty()) return Take(std::exchange(early_, ""));
    if (!read_pending_) Read();
  }

  // Reading goes on in nearly every state, so that the end of a client is noticed at once.
  void Read() {
    read_pending_ = true;
    socket_->Read([this](const absl::StatusOr<std::string>& bytes) {
      read_pending_ = false;
      if (!bytes.ok() || bytes->empty()) return server_.Forget(*this);
      if (state_ == State::kReading) return Take(*bytes);
      if (state_ == State::kWriting && keep_alive_) {
        // The client has its answer already and sends the next request: the answer's last bytes
        // were sent before this process hears of it. Reading goes on in AwaitRequest().
        early_ = *bytes;
        return;
      }
      // Bytes behind the request: pipelining, which is not served.
      if (state_ == State::kHandling) keep_alive_ = false;
      Read();
    });
  }

  void Take(const std::string& bytes) {
    if (answered_ && !reader_->begun()) {
      AllowTime(server_.limits_.request,
                [this] { Write(ErrorResponse(408, "The request did not come in time.")); });
    }
    auto result = reader_->Take(bytes);
    if (!result) return Read();
    if (auto* refusal = std::get_if<HttpResponse>(&*result)) return Write(std::move(*refusal));
    auto& request = std::get<HttpRequest>(*result);
    keep_alive_ = request.keep_alive && !reader_->has_more();
    Handle(request);
  }

  // The handler may answer after the deadline or after the connection is gone, so its callback
  // holds the connection weakly and is ignored in any other state.
  void Handle(HttpRequest& request) {
    state_ = State::kHandling;
    head_ = request.head;
    accept_ = request.accept;
    compress_ = request.accepts_gzip && IsWorthCompressing(request.peer_address);
    abandoned_ = std::make_shared<std::atomic<bool>>(false);
    request.abandoned = abandoned_;
    AllowTime(server_.limits_.handling,
              [this] { Write(ErrorResponse(504, "The answer did not come in time.")); });
    const std::weak_ptr<Connection> weak = weak_from_this();
    server_.handler_(request, [weak, number = ++requests_](HttpResponse response) {
      const auto self = weak.lock();
      if (self == nullptr || self->state_ != State::kHandling || self->requests_ != number) return;
      self->Write(std::move(response));
    });
    if (weak.lock() != nullptr && !read_pending_) Read();
  }

  void Abandon() {
    if (abandoned_ != nullptr) abandoned_->store(true);
    abandoned_.reset();
  }

  void Write(HttpResponse response) {
    Abandon();
    response = ForReader(std::move(response), accept_);
    if (response.source != nullptr && !head_ && !server_.MakeStream(*this)) {
      response = ProblemResponse(503, "Too many streams are open; try again when one is closed.");
    }
    if (response.status >= 400) {
      // The path stays out of the log: it may hold the code that opens the page.
      server_.refused_log_.Log(LogLevel::kDebug, "the web server refuses a request",
                               {{"status", response.status}, {"peer", socket_->peer_address()}});
    }
    state_ = State::kWriting;
    Compress(response);
    source_ = head_ ? nullptr : response.source;
    if (source_ != nullptr) keep_alive_ = false;
    AllowTime(server_.limits_.response, [this] { server_.Forget(*this); });
    socket_->Write(RenderResponse(response, head_, keep_alive_),
                   [this](const absl::Status& status) {
                     if (!status.ok()) return server_.Forget(*this);
                     OnWritten();
                   });
  }

  void Compress(HttpResponse& response) const {
    if (!compress_ || response.body.size() <= server_.limits_.compressed) return;
    for (const auto& [name, value] : response.headers) {
      if (name == "Content-Encoding") return;
    }
    std::string packed = Gzip(response.body);
    if (packed.empty()) return;
    response.body = std::move(packed);
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.headers.emplace_back("Vary", "Accept-Encoding");
  }

  void OnWritten() {
    answered_ = true;
    if (source_ != nullptr) return SendPiece();
    if (keep_alive_) return AwaitRequest(server_.limits_.idle);
    socket_->EndWriting();
    AwaitEnd();
  }

  // The source is asked for the next piece when the client has taken the last one, so a slow client
  // costs one piece of memory. The source bounds the time between pieces; here the client's time to
  // take one is bounded.
  void SendPiece() {
    state_ = State::kStreaming;
    deadline_.reset();
    source_->Next([this](absl::StatusOr<std::shared_ptr<const std::string>> piece) {
      if (!piece.ok()) {
        LogDebug("a stream breaks", {{"why", piece.status().message()}});
        return server_.Forget(*this);
      }
      if (*piece == nullptr) {
        source_.reset();
        socket_->EndWriting();
        return AwaitEnd();
      }
      AllowTime(server_.limits_.piece, [this] {
        LogDebug("a client does not read its stream", {{"peer", socket_->peer_address()}});
        server_.Forget(*this);
      });
      std::vector<TcpSocket::Piece> pieces;
      pieces.push_back({"", *std::move(piece)});
      socket_->WritePieces(std::move(pieces), [this](const absl::Status& status) {
        if (!status.ok()) return server_.Forget(*this);
        SendPiece();
      });
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
  std::unique_ptr<RequestReader> reader_;
  State state_ = State::kReading;
  // Of the request at hand:
  bool head_ = false;
  bool keep_alive_ = false;
  bool compress_ = false;
  std::string accept_;
  std::string early_;      ///< bytes of the next request
  int64_t requests_ = 0;   ///< that the handler got
  bool answered_ = false;  ///< at least one response was written
  bool read_pending_ = false;
  std::shared_ptr<std::atomic<bool>> abandoned_;  ///< set while the handler works
  std::unique_ptr<EventLoop::Handle> deadline_;
  std::shared_ptr<BodySource> source_;  ///< last, because its callback uses the members above
};

HttpServer::HttpServer(EventLoop& loop, Handler handler, Limits limits, AllowedMethods allowed,
                       const Extras& extras)
    : loop_(loop),
      handler_(std::move(handler)),
      limits_(limits),
      allowed_(std::move(allowed)),
      encrypted_(extras.wrap != nullptr),
      user_header_(extras.user_header) {}

HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(EventLoop& loop,
                                                              const std::string& address, int port,
                                                              PeerCheck peers, Handler handler,
                                                              Limits limits,
                                                              AllowedMethods allowed) {
  return Start(loop, address, port, std::move(peers), std::move(handler), limits,
               std::move(allowed), Extras{});
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(EventLoop& loop,
                                                              const std::string& address, int port,
                                                              PeerCheck peers, Handler handler,
                                                              Limits limits, AllowedMethods allowed,
                                                              Extras extras) {
  auto server = std::unique_ptr<HttpServer>(
      new HttpServer(loop, std::move(handler), limits, std::move(allowed), extras));
  PeerFilter filter("the web server", std::move(peers));
  TcpListener::OnAccepted on_accepted = [server = server.get()](auto socket) {
    server->OnAccepted(std::move(socket));
  };
  absl::StatusOr<std::unique_ptr<TcpListener>> listener =
      extras.socket >= 0
          ? TcpListener::Adopt(loop, extras.socket, std::move(filter), std::move(on_accepted))
          : TcpListener::Listen(loop, address, port, std::move(filter), std::move(on_accepted),
                                std::move(extras.wrap));
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
  const auto is_it = [&](const auto& other) { return other.get() == &connection; };
  if (connections_.remove_if(is_it) == 0) streams_.remove_if(is_it);
}

bool HttpServer::MakeStream(const Connection& connection) {
  if (streams_.size() >= limits_.streams) return false;
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const auto& other) { return other.get() == &connection; });
  if (found != connections_.end()) streams_.splice(streams_.end(), connections_, found);
  return true;
}

}  // namespace tony::web
