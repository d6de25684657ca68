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
#include "core/rendezvous/rendezvous_store.h"
#include "rendezvous/key_value_store.h"
#include "rendezvous/rendezvous_limits.h"
#include "rendezvous/request_head.h"

namespace tony::rendezvous {

/// What the connections of a server share. Plain data.
struct RendezvousShared {
  KeyValueStore& store;
  const RendezvousLimits limits;
  RendezvousCounts counts{};
  size_t waiting = 0;          ///< connections
  size_t receiving_bytes = 0;  ///< of bodies that are on their way
};

/// Reads a request, has the store carry it out, writes the answer, and closes.
///
///                    PUT ┌─▶ reading the body ─▶ changing ─┐
///   reading the head ────┼───────── DELETE ──▶ changing ────┼─▶ writing ─▶ closed
///            │       GET └─▶ waiting (or not) ─────────────┤      └─▶ parting ─▶ closed
///            └─ refused ───────────────────────────────────┘
///
/// Who closes while bytes of the client are unread may destroy the answer on its way: then the
/// client gets a little time to end by itself (parting). Not thread safe: owned by the event loop.
/// Handlers that are under way keep it alive.
class RendezvousConnection : public std::enable_shared_from_this<RendezvousConnection> {
 public:
  using OnClosed = std::function<void()>;

  /// `on_closed` is called once, unless Close() is what closes it.
  RendezvousConnection(boost::asio::ip::tcp::socket socket,
                       std::shared_ptr<RendezvousShared> shared, OnClosed on_closed);

  void Start();
  /// Instead of Start(): there are too many.
  void TurnAway();
  void Close();

  /// Its client waits for a value as long as it takes: nothing else ends such a connection.
  bool waits_without_end() const { return waits_without_end_; }

 private:
  using Step = void (RendezvousConnection::*)();
  using OnBytes = void (RendezvousConnection::*)(size_t bytes);

  /// `when_over` follows, unless another deadline is set before; null: none.
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
  /// Ends the wait when the client goes; what it sends is forgotten.
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
  bool all_read_ = false;  ///< of the request, and nothing came after it
  bool answered_ = false;  ///< or about to be
  bool parting_ = false;

  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point deadline_;
  Step when_over_ = nullptr;
  bool timer_runs_ = false;

  std::array<char, kMostHeadBytes> input_;
  size_t input_bytes_ = 0;
  RequestHead request_;
  std::string body_;
  size_t body_bytes_ = 0;      ///< that are there; body_ has room for more
  size_t reserved_bytes_ = 0;  ///< of shared_->receiving_bytes
  std::unique_ptr<EventLoop::Handle> wait_;
  bool waits_without_end_ = false;
  std::string head_;  ///< of the answer
  core::Blob value_;  ///< its body
};

}  // namespace tony::rendezvous
