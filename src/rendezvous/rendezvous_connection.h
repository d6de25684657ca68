// One connection of the rendezvous server.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/logging.h"
#include "core/rendezvous/rendezvous_store.h"
#include "rendezvous/key_value_store.h"
#include "rendezvous/rendezvous_limits.h"
#include "rendezvous/request_head.h"

namespace tony::rendezvous {

/// State that all connections of a server share. Plain data.
struct RendezvousShared {
  KeyValueStore& store;
  const RendezvousLimits limits;
  RendezvousCounts counts{};
  size_t waiting = 0;  ///< connections that wait for a value
  LogLimit refused_log{};
  size_t receiving_bytes = 0;  ///< bytes reserved for bodies on their way
};

/// Reads a request, has the store carry it out, writes the answer, and closes.
///
///                    PUT ┌─▶ reading the body ─▶ changing ─┐
///   reading the head ────┼───────── DELETE ──▶ changing ────┼─▶ writing ─▶ closed
///            │       GET └─▶ waiting (or not) ─────────────┤      └─▶ parting ─▶ closed
///            └─ refused ───────────────────────────────────┘
///
/// Closing while bytes of the client are unread may destroy the answer on its way. Such a client
/// gets a little time to close first (parting). Not thread safe: owned by the event loop. Pending
/// handlers keep the connection alive.
class RendezvousConnection : public std::enable_shared_from_this<RendezvousConnection> {
 public:
  using OnClosed = std::function<void()>;

  /// `on_closed` is called once, unless Close() closes the connection.
  RendezvousConnection(boost::asio::ip::tcp::socket socket,
                       std::shared_ptr<RendezvousShared> shared, OnClosed on_closed);

  void Start();
  /// Called instead of Start() if there are too many connections: answers 503.
  void TurnAway();
  void Close();

  /// True while the client waits for a value without a deadline; nothing else ends such a
  /// connection.
  bool waits_without_end() const { return waits_without_end_; }

 private:
  using Step = void (RendezvousConnection::*)();
  using OnBytes = void (RendezvousConnection::*)(size_t bytes);

  /// Sets the deadline. `when_over` is called when it passes, unless another deadline is set first;
  /// null: no deadline.
  void Allow(std::chrono::milliseconds time, Step when_over);
  void AwaitDeadline();
  void Read(boost::asio::mutable_buffer place, OnBytes on_bytes);
  void ReadMoreOfHead();
  void OnHeadBytes(size_t bytes);
  void CarryOut();
  void ReceiveBody();
  void ReadMoreOfBody();
  void OnBodyBytes(size_t bytes);
  void StoreBody();
  void RemoveValue();
  KeyValueStore::OnDone WhenChanged(uint64_t RendezvousCounts::*count);
  void FindValue();
  void AwaitValue(core::Patience patience);
  /// Ends the wait when the client disconnects; bytes that it sends meanwhile are dropped.
  void WatchClient(size_t bytes);
  void EndWait();
  void ReleaseBytes();
  void OnRequestLate();
  void OnStoreLate();
  void AnswerMissing();
  void Refuse(const Refusal& refusal);
  void Write(int status, core::Blob body);
  void OnWritten();
  void Finish();

  boost::asio::ip::tcp::socket socket_;
  const std::shared_ptr<RendezvousShared> shared_;
  OnClosed on_closed_;
  bool open_ = true;
  bool reading_ = false;
  bool ended_ = false;     ///< the client sends nothing more
  bool all_read_ = false;  ///< the whole request was read, and nothing followed it
  bool answered_ = false;  ///< the answer is written, or about to be
  bool parting_ = false;

  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point deadline_;
  Step when_over_ = nullptr;
  bool timer_runs_ = false;

  std::array<char, kMostHeadBytes> input_;
  size_t input_bytes_ = 0;
  RequestHead request_;
  std::string body_;
  size_t body_bytes_ = 0;      ///< bytes received; body_ has room for more
  size_t reserved_bytes_ = 0;  ///< share of shared_->receiving_bytes
  std::unique_ptr<EventLoop::Handle> wait_;
  bool waits_without_end_ = false;
  std::string head_;  ///< head of the answer
  core::Blob value_;  ///< body of the answer
};

}  // namespace tony::rendezvous
