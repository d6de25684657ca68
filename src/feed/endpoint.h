// A worker's endpoint: where producers of data, and the program that takes it, connect.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/logging.h"
#include "core/feed/feed_messages.h"
#include "feed/feed.h"
#include "feed/frame_connection.h"
#include "feed/listening_socket.h"
#include "rpc/security/credentials.h"
#include "rpc/security/tls_stream.h"

namespace tony::feed {

/// Names of the sockets in an endpoint's folder.
inline constexpr char kProgramSocket[] = "/program";
inline constexpr char kProducerSocket[] = "/producers";

/// The settings of an endpoint. Plain data; contains a secret.
struct EndpointSetting {
  std::string folder;        ///< for the sockets, of mode 0700
  std::string task;          ///< "worker:0"
  std::string token;         ///< that producers have to show
  int64_t buffer_bytes = 0;  ///< slots of each feed
  bool loopback = false;     ///< all of the job is on this machine
  rpc::Credentials credentials;
  /// Sends a report to the ApplicationMaster; called on the endpoint's loop.
  std::function<void(core::FeedReport)> report;

  // What a test changes.
  Duration alive = std::chrono::seconds(5);  ///< between two frames to a producer
  Duration tick = std::chrono::milliseconds(250);
  Duration hello = std::chrono::seconds(10);  ///< for a connection to say who it is
  /// For a producer to read something of what is queued; one with results has its time-out.
  Duration unread = std::chrono::seconds(60);
  /// For a peer that has all of its frames, or has not said who it is, to close its end.
  Duration finish = std::chrono::seconds(2);
  Duration refusal = std::chrono::seconds(1);  ///< what a wrong token costs
  /// Connections at once. The last core::kMostFeeds of them are kept for programs.
  size_t most_connections = 512;
};

/// Knows its peers: processes of the same user on Unix sockets, and those who have the token. A
/// connection belongs to one feed from its first frame on:
///
///   ACCEPTED ──HELLO──▶ a Producer of its feed ──▶ FINISHING ──▶ gone
///            ──ATTACH─▶ the feed's program     ──▶
///
/// Not thread safe: owned by the event loop, which outlives it.
class Endpoint {
 public:
  /// Connections to the port that have not shown the token; the oldest gives way to one more.
  static constexpr size_t kMostStrangers = 64;

  /// The codes of ListeningSocket and of TlsServer.
  static absl::StatusOr<std::unique_ptr<Endpoint>> Open(EventLoop& loop, const Clock& clock,
                                                        EndpointSetting setting);
  ~Endpoint();

  /// An attempt of the task's program begins: producers may come.
  void OnProgramStarted();
  /// The program is over: all producers get AWAY with `sentence`, now and until the next start.
  void OnProgramEnded(const std::string& sentence);
  /// There is a new stream to the ApplicationMaster: everything is reported again.
  void ReportAll();
  void OnOrder(const core::FeedOrder& order);

  std::string program_path() const { return setting_.folder + kProgramSocket; }
  std::string producer_path() const { return setting_.folder + kProducerSocket; }
  int tls_port() const { return port_listener_->port(); }
  size_t connections() const { return sessions_.size(); }

 private:
  /// One connection.
  struct Session {
    uint64_t number = 0;
    Peer peer = Peer::kProducer;
    TimePoint since;
    /// Whether it has shown the token, or comes by a Unix socket, which only the same user can.
    bool known = false;
    Feed* feed = nullptr;  ///< null: it has not said for which one it comes
    /// See EndpointSetting::unread. Whoever has not said who it is gets EndpointSetting::finish.
    Duration unread{};
    std::unique_ptr<FrameConnection> connection;
    std::unique_ptr<EventLoop::Handle> refusal;
  };

  Endpoint(EventLoop& loop, const Clock& clock, EndpointSetting setting);

  absl::Status Listen();
  /// `known`: see Session.
  void Accept(std::unique_ptr<ByteStream> stream, Peer peer, bool known);
  /// Whether there is room for one more connection, for which the oldest stranger may have to go.
  bool MakeRoom(Peer peer, bool known);
  absl::StatusOr<char*> OnHeader(Session& session, const FrameHeader& header);
  absl::Status OnFrame(Session& session, const FrameHeader& header, const std::string& payload);
  absl::Status OnHello(Session& session, const FrameHeader& header, const std::string& payload);
  absl::Status OnAttach(Session& session, const FrameHeader& header, const std::string& payload);
  void OnEnd(uint64_t number, const absl::Status& why);
  /// Takes the session away from its feed.
  void Leave(Session& session, const std::string& sentence);
  void Refuse(Session& session);
  /// The feed called `name`. ResourceExhausted – there are as many as there may be.
  absl::StatusOr<Feed*> FindFeed(const std::string& name);
  void TickLater();
  void Tick();
  void TickSession(Session& session, TimePoint now);
  /// Whether nothing more needs to be sent, or nobody reads it.
  bool IsOver(const Session& session, TimePoint now) const;
  size_t CountStrangers() const;

  EventLoop& loop_;
  const Clock& clock_;
  const EndpointSetting setting_;
  const uint32_t slot_bytes_;
  std::unique_ptr<rpc::TlsServer> tls_;
  std::map<std::string, std::unique_ptr<Feed>> feeds_;
  std::map<uint64_t, Session> sessions_;
  uint64_t next_number_ = 1;
  bool running_ = false;
  std::string why_not_running_ = "The program has not started yet";
  LogLimit refused_log_;
  std::unique_ptr<EventLoop::Handle> timer_;
  std::unique_ptr<ListeningSocket> program_listener_;
  std::unique_ptr<ListeningSocket> producer_listener_;
  std::unique_ptr<ListeningSocket> port_listener_;
};

}  // namespace tony::feed
