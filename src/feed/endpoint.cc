// Sessions are destroyed only by the timer and by their own end, both of which the loop calls:
// never from within a callback of their connection.
#include "feed/endpoint.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "feed/hello.h"
#include "feed/plain_stream.h"
#include "os/files/message_digest.h"

namespace tony::feed {
namespace {

/// Slots begin on pages.
constexpr int64_t kPage = 4096;
/// Control frames that may wait for a peer, besides results.
constexpr size_t kMostQueuedControl = size_t{2} << 20;
/// Slots of results that may wait for a producer. The program is paused at two; the rest is what
/// was on its way.
constexpr size_t kMostQueuedSlots = 4;
/// See Feed::MayOpen().
constexpr size_t kDrainedProgram = 128 * 1024;

uint32_t SlotBytes(int64_t buffer_bytes) {
  return static_cast<uint32_t>(std::max<int64_t>(buffer_bytes / kSlots / kPage * kPage, kPage));
}

}  // namespace

Endpoint::Endpoint(EventLoop& loop, const Clock& clock, EndpointSetting setting)
    : loop_(loop),
      clock_(clock),
      setting_(std::move(setting)),
      slot_bytes_(SlotBytes(setting_.buffer_bytes)) {}

Endpoint::~Endpoint() {
  program_listener_.reset();
  producer_listener_.reset();
  port_listener_.reset();
  timer_.reset();
  sessions_.clear();
}

absl::StatusOr<std::unique_ptr<Endpoint>> Endpoint::Open(EventLoop& loop, const Clock& clock,
                                                         EndpointSetting setting) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(loop, clock, std::move(setting)));
  TONY_RETURN_IF_ERROR(endpoint->Listen());
  endpoint->TickLater();
  return endpoint;
}

absl::Status Endpoint::Listen() {
  TONY_ASSIGN_OR_RETURN(tls_, rpc::TlsServer::Create(setting_.credentials));
  TONY_ASSIGN_OR_RETURN(
      program_listener_, ListeningSocket::OnPath(loop_, program_path(), [this](os::UniqueFd fd) {
        Accept(std::make_unique<PlainStream>(std::move(fd)), Peer::kProgram, true);
      }));
  TONY_ASSIGN_OR_RETURN(
      producer_listener_, ListeningSocket::OnPath(loop_, producer_path(), [this](os::UniqueFd fd) {
        Accept(std::make_unique<PlainStream>(std::move(fd)), Peer::kProducer, true);
      }));
  TONY_ASSIGN_OR_RETURN(port_listener_,
                        ListeningSocket::OnPort(loop_, setting_.loopback, [this](os::UniqueFd fd) {
                          Accept(tls_->Accept(std::move(fd)), Peer::kProducer, false);
                        }));
  return absl::OkStatus();
}

size_t Endpoint::CountStrangers() const {
  return static_cast<size_t>(std::count_if(sessions_.begin(), sessions_.end(),
                                           [](const auto& entry) { return !entry.second.known; }));
}

// Anybody who reaches the port can open connections to it. A stranger is among those that wait
// until the last one is gone, so what it costs to refuse it keeps nobody out.
bool Endpoint::MakeRoom(Peer peer, bool known) {
  const size_t most = setting_.most_connections - (peer == Peer::kProgram ? 0 : core::kMostFeeds);
  const bool full = sessions_.size() >= most;
  if (!full && (known || CountStrangers() < kMostStrangers)) return true;
  const auto oldest = std::find_if(sessions_.begin(), sessions_.end(),
                                   [](const auto& entry) { return !entry.second.known; });
  const bool room = oldest != sessions_.end();
  if (room) sessions_.erase(oldest);
  refused_log_.Log(LogLevel::kWarning,
                   "a connection to the feed is closed, since there are too many",
                   {{"task", setting_.task},
                    {"connections", sessions_.size()},
                    {"which", room ? "the oldest without a token" : "the newest"}});
  return room;
}

void Endpoint::Accept(std::unique_ptr<ByteStream> stream, Peer peer, bool known) {
  if (stream == nullptr || !MakeRoom(peer, known)) return;
  const uint64_t number = next_number_++;
  Session& session = sessions_[number];
  session.number = number;
  session.peer = peer;
  session.known = known;
  session.since = clock_.Now();
  session.unread = setting_.finish;
  FrameConnection::Callbacks callbacks;
  callbacks.frames.on_header = [this, &session](const FrameHeader& header) {
    return OnHeader(session, header);
  };
  callbacks.frames.on_frame = [this, &session](const FrameHeader& header,
                                               const std::string& payload) {
    return OnFrame(session, header, payload);
  };
  callbacks.on_end = [this, number](const absl::Status& why) { OnEnd(number, why); };
  callbacks.on_drained = [&session] {
    if (session.feed == nullptr) return;
    session.feed->OnDrained();
    session.feed->Advance();
  };
  FrameConnection::Limits limits;
  limits.slot_bytes = slot_bytes_;
  limits.most_queued = kMostQueuedControl + kMostQueuedSlots * size_t{slot_bytes_};
  limits.drained = peer == Peer::kProgram ? kDrainedProgram : size_t{slot_bytes_};
  session.connection = std::make_unique<FrameConnection>(loop_, clock_, std::move(stream), peer,
                                                         limits, std::move(callbacks));
  session.connection->Start();
}

absl::StatusOr<char*> Endpoint::OnHeader(Session& session, const FrameHeader& header) {
  if (header.type != FrameType::kBatch) return nullptr;
  if (session.feed == nullptr) return absl::InvalidArgumentError("the first frame is HELLO");
  return session.feed->OnBatchHeader(session.number, header);
}

absl::Status Endpoint::OnFrame(Session& session, const FrameHeader& header,
                               const std::string& payload) {
  if (session.peer == Peer::kProgram) {
    if (session.feed != nullptr) return session.feed->OnProgramFrame(header, payload);
    return OnAttach(session, header, payload);
  }
  if (session.feed != nullptr) return session.feed->OnProducerFrame(session.number, header);
  // A peer with a wrong token waits for its refusal.
  if (session.refusal != nullptr) return absl::OkStatus();
  return OnHello(session, header, payload);
}

absl::Status Endpoint::OnHello(Session& session, const FrameHeader& header,
                               const std::string& payload) {
  if (header.type != FrameType::kHello || header.argument != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat("the first frame is HELLO of version ", kVersion,
                                                   "; both sides must have the same tony"));
  }
  absl::StatusOr<Hello> hello = ParseHello(payload);
  TONY_RETURN_IF_ERROR(hello.status());
  if (!os::SameDigest(hello->token, setting_.token)) {
    Refuse(session);
    return absl::OkStatus();
  }
  session.known = true;
  if (!running_) {
    const auto feed = feeds_.find(hello->partition.feed);
    const bool over = feed != feeds_.end() && feed->second->over();
    session.connection->Send(over ? FrameType::kStop : FrameType::kAway, 0,
                             over ? "" : why_not_running_);
    session.connection->Finish();
    return absl::OkStatus();
  }
  TONY_ASSIGN_OR_RETURN(session.feed, FindFeed(hello->partition.feed));
  hello->token.clear();
  // Whoever reads the results works on each of them before it reads the next.
  session.unread =
      hello->results ? std::max<Duration>(setting_.unread, hello->timeout) : setting_.unread;
  session.feed->Add(session.number, *std::move(hello), *session.connection);
  return absl::OkStatus();
}

absl::Status Endpoint::OnAttach(Session& session, const FrameHeader& header,
                                const std::string& payload) {
  const nlohmann::json request = nlohmann::json::parse(payload, nullptr, false);
  if (header.type != FrameType::kAttach || header.argument != kVersion || !request.is_object() ||
      !request.contains("feed") || !request["feed"].is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the first frame is ATTACH of version ", kVersion, " with a \"feed\""));
  }
  TONY_ASSIGN_OR_RETURN(Feed* const feed, FindFeed(request["feed"].get<std::string>()));
  TONY_RETURN_IF_ERROR(feed->Attach(*session.connection));
  session.feed = feed;
  session.unread = setting_.unread;
  return absl::OkStatus();
}

// The refusal is late, so that guessing takes long. The connection counts among the strangers
// meanwhile.
void Endpoint::Refuse(Session& session) {
  refused_log_.Log(LogLevel::kWarning, "a producer with a wrong token is refused",
                   {{"task", setting_.task}, {"connection", session.number}});
  session.refusal = loop_.After(setting_.refusal, [this, number = session.number] {
    OnEnd(number, absl::PermissionDeniedError(
                      "the token is not this job's; `tony feed JOB --json` shows the right one"));
  });
}

absl::StatusOr<Feed*> Endpoint::FindFeed(const std::string& name) {
  TONY_RETURN_IF_ERROR(core::CheckFeedName(name));
  const auto found = feeds_.find(name);
  if (found != feeds_.end()) return found->second.get();
  if (feeds_.size() >= core::kMostFeeds) {
    for (auto feed = feeds_.begin(); feed != feeds_.end(); ++feed) {
      const bool used = std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
        return entry.second.feed == feed->second.get();
      });
      if (used || !feed->second->idle()) continue;
      feeds_.erase(feed);
      break;
    }
  }
  if (feeds_.size() >= core::kMostFeeds) return core::TooManyFeeds(name);
  auto& feed = feeds_[name];
  feed = std::make_unique<Feed>(clock_,
                                Feed::Setting{name, setting_.task, slot_bytes_, setting_.report});
  return feed.get();
}

void Endpoint::Leave(Session& session, const std::string& sentence) {
  Feed* const feed = std::exchange(session.feed, nullptr);
  if (feed == nullptr) return;
  if (session.peer == Peer::kProducer) {
    feed->OnProducerGone(session.number);
  } else if (feed->program() == session.connection.get()) {
    feed->Detach(sentence);
  }
}

void Endpoint::OnEnd(uint64_t number, const absl::Status& why) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  session.refusal.reset();
  LogDebug("a connection of the feed is over",
           {{"task", setting_.task}, {"connection", number}, {"why", std::string(why.message())}});
  Leave(session, absl::StrCat("The program of ", setting_.task,
                              " no longer takes data: its connection to the feed is over",
                              why.ok() ? "" : absl::StrCat(" (", std::string(why.message()), ")")));
  // Unavailable: nobody would read it.
  if (!why.ok() && !absl::IsUnavailable(why)) {
    session.connection->Send(
        session.peer == Peer::kProgram ? FrameType::kProgramError : FrameType::kError, 0,
        std::string(why.message()));
  }
  session.connection->Finish();
}

void Endpoint::OnProgramStarted() { running_ = true; }

void Endpoint::OnProgramEnded(const std::string& sentence) {
  running_ = false;
  why_not_running_ = sentence;
  for (auto& [number, session] : sessions_) {
    if (session.peer == Peer::kProgram && session.feed != nullptr) {
      Leave(session, sentence);
      session.connection->Finish();
    }
  }
  for (auto& [name, feed] : feeds_) feed->Refuse(sentence);
}

void Endpoint::ReportAll() {
  core::feed_report::Endpoint all;
  all.unix_path = producer_path();
  all.tls_port = tls_port();
  for (const auto& [name, feed] : feeds_) feed->Describe(all);
  setting_.report(std::move(all));
  for (const auto& [name, feed] : feeds_) feed->AskAgain();
}

void Endpoint::OnOrder(const core::FeedOrder& order) {
  if (const auto* answer = std::get_if<core::feed_order::Answer>(&order)) {
    for (auto& [name, feed] : feeds_) feed->OnAnswer(*answer);
  } else if (const auto* recorded = std::get_if<core::feed_order::Recorded>(&order)) {
    for (auto& [name, feed] : feeds_) feed->OnRecorded(recorded->connection);
  } else if (const auto* awaited = std::get_if<core::feed_order::Awaited>(&order)) {
    for (auto& [name, feed] : feeds_) feed->OnAwaited(awaited->connection);
  } else if (const auto* terminated = std::get_if<core::feed_order::Terminated>(&order)) {
    if (const absl::StatusOr<Feed*> feed = FindFeed(terminated->feed); feed.ok()) {
      (*feed)->Terminate();
    }
  } else if (const auto* ending = std::get_if<core::feed_order::Ending>(&order)) {
    if (const absl::StatusOr<Feed*> feed = FindFeed(ending->feed); feed.ok()) (*feed)->OnEnding();
  } else if (const auto* ended = std::get_if<core::feed_order::Ended>(&order)) {
    if (const absl::StatusOr<Feed*> feed = FindFeed(ended->feed); feed.ok()) (*feed)->End();
  }
}

void Endpoint::TickLater() {
  timer_ = loop_.After(setting_.tick, [this] {
    Tick();
    TickLater();
  });
}

void Endpoint::Tick() {
  const TimePoint now = clock_.Now();
  for (auto& [name, feed] : feeds_) feed->Tick();
  for (auto& [number, session] : sessions_) TickSession(session, now);
  std::erase_if(sessions_, [this, now](const auto& entry) { return IsOver(entry.second, now); });
}

// A connection that is closed with queued frames loses the last of them: the rest of the results,
// and ACK.
bool Endpoint::IsOver(const Session& session, TimePoint now) const {
  const FrameConnection& connection = *session.connection;
  if (connection.finished()) return true;
  if (!connection.finishing()) return false;
  const Duration patience = connection.queued() == 0 ? setting_.finish : session.unread;
  return now - std::max(connection.finished_at(), connection.moved_at()) >= patience;
}

void Endpoint::TickSession(Session& session, TimePoint now) {
  FrameConnection& connection = *session.connection;
  if (connection.finishing()) {
    // Its feed has ended it.
    session.feed = nullptr;
    return;
  }
  if (session.feed == nullptr) {
    if (session.refusal == nullptr && now - session.since >= setting_.hello) {
      OnEnd(session.number, absl::DeadlineExceededError("the first frame did not come in time"));
    }
    return;
  }
  // A program that reads nothing is judged by Feed::Tick(), as its producers wait for it: it may be
  // busy for long with a batch or with compiling.
  if (session.peer == Peer::kProducer && connection.queued() > 0 &&
      now - connection.moved_at() >= session.unread) {
    return OnEnd(session.number,
                 absl::DeadlineExceededError("the peer does not read what is sent to it"));
  }
  if (session.peer == Peer::kProducer && now - connection.sent_at() >= setting_.alive) {
    connection.Send(FrameType::kAlive, session.feed->consumed(session.number));
  }
}

}  // namespace tony::feed
