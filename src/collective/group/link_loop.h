// Sends and receives messages between ranks, on a thread of its own.
#pragma once

#include <poll.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/descriptor.h"
#include "collective/base/fork_guard.h"
#include "collective/base/frame_mac.h"
#include "collective/base/status.h"

namespace tony::collective {

/// An event loop: one thread waits for all connections, and sleeps when there is nothing to do. It
/// makes all callbacks, one after the other, so state that only callbacks use needs no lock.
///
/// On the wire a message is its length, as uint32, and its bytes. Length 0 is the goodbye. If a
/// connection has keys, a MAC of length and bytes follows. A message that does not fit its MAC is
/// not delivered, and ends the connection. Thread safe.
class LinkLoop {
 public:
  /// The longest accepted message, in bytes. Ranks send no longer ones.
  static constexpr size_t kMostMessageBytes = size_t{64} << 20;

  struct Peer {
    int rank;
    Descriptor connection;  ///< a stream socket
    std::optional<ConnectionKeys> keys = std::nullopt;
  };
  struct Callbacks {
    std::function<void(int rank, std::string message)> on_message;
    /// The rank sends nothing more. `in_order`: it has said goodbye.
    std::function<void(int rank, bool in_order)> on_end;
  };

  /// Takes the connections and starts the thread. ResourceExhausted – no descriptor is left.
  /// InvalidArgument – a peer's connection is none.
  static Result<std::unique_ptr<LinkLoop>> Start(std::vector<Peer> peers, Callbacks callbacks);
  LinkLoop(const LinkLoop&) = delete;
  LinkLoop& operator=(const LinkLoop&) = delete;
  ~LinkLoop();

  /// Stops the thread. It first runs the posted work, sends the pending messages, also those of
  /// that work, and the goodbye; sending takes at most a second. Afterwards no callback is called
  /// and nothing is sent. It must not be called from the loop's thread, nor from two threads at
  /// once.
  void Stop();

  /// Sends `message`, which must not be empty. Nothing is sent to a rank that is gone: on_end has
  /// been called for it, or will be.
  void Send(int rank, std::string_view message);
  /// Calls `work` from the loop's thread.
  void Post(std::function<void()> work);
  /// Calls `work` from the loop's thread at `when` or soon after; not at all if the loop is stopped
  /// before.
  void PostAt(Deadline when, std::function<void()> work);

 private:
  struct Link {
    Descriptor connection;
    std::optional<ConnectionMac> mac;
    std::string received;
    std::string unsent;
    bool ended = false;
  };
  /// The argument of a poll(): `descriptors[i]` is the connection of `ranks[i]`. The eventfd, if it
  /// is polled, comes after all connections.
  struct PollSet {
    std::vector<pollfd> descriptors;
    std::vector<int> ranks;
  };

  LinkLoop(std::vector<Peer> peers, Callbacks callbacks, Descriptor wake);
  void Run();
  /// Runs the work posted so far. Returns whether there was any. `stopping`: whether Stop() was
  /// called.
  bool RunPosted(bool& stopping);
  /// Runs the timers whose time has come.
  void RunTimers();
  /// The time until the first timer; none if there is no timer.
  std::optional<std::chrono::nanoseconds> TimeToTimer() const;
  /// Waits until there is something to do, and does it. `sending`: waits only for connections that
  /// can take pending bytes.
  void Wait(std::optional<std::chrono::nanoseconds> timeout, bool sending);
  /// Lists what Wait() polls. `sending`: only the connections with unsent bytes.
  PollSet ToPoll(bool sending) const;
  void Receive(int rank, Link& link);
  /// Delivers the whole messages that were received. False: the connection has ended, by a goodbye
  /// or by bytes that are no message.
  bool TakeMessages(int rank, Link& link);
  void Write(Link& link);
  /// Appends a frame, and its MAC, to the bytes to send.
  static void Append(Link& link, const std::string& frame);
  void Finish(int rank, Link& link, bool in_order);
  void SendGoodbyes();
  void Wake();

  const Callbacks callbacks_;
  const Descriptor wake_;
  std::map<int, Link> links_;                              ///< used by the thread only
  std::multimap<Deadline, std::function<void()>> timers_;  ///< used by the thread only
  std::vector<ForkGuard> guards_;                          ///< guards of the links' connections
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;  ///< guarded by mutex_
  bool stopping_ = false;                     ///< guarded by mutex_
  std::thread thread_;
};

}  // namespace tony::collective
