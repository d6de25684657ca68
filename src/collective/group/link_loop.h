// Messages to and from other ranks, on a thread of their own.
#pragma once

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

/// One thread that waits for all connections, and sleeps when there is nothing to do. What it
/// calls, it calls one after the other: who keeps its state there needs no lock.
///
/// On the wire a message is its length, as uint32, and its bytes; a length of 0 is the goodbye.
/// Where a connection has keys, a MAC of all that follows. A message that does not fit its MAC is
/// told to nobody, and ends the connection. Thread safe.
class LinkLoop {
 public:
  /// Longer ones do not come from ranks.
  static constexpr size_t kMostMessageBytes = size_t{64} << 20;

  struct Peer {
    int rank;
    Descriptor connection;  ///< a stream socket
    std::optional<ConnectionKeys> keys = std::nullopt;
  };
  struct Callbacks {
    std::function<void(int rank, std::string message)> on_message;
    /// Nothing more will come from it. `in_order`: it has said goodbye.
    std::function<void(int rank, bool in_order)> on_end;
  };

  /// ResourceExhausted: no descriptor.
  static Result<std::unique_ptr<LinkLoop>> Start(std::vector<Peer> peers, Callbacks callbacks);
  LinkLoop(const LinkLoop&) = delete;
  LinkLoop& operator=(const LinkLoop&) = delete;
  ~LinkLoop();

  /// Runs what was posted, sends what is to be sent, that work's messages too, and the goodbye, for
  /// a second at most. Nobody is called afterwards, and nothing sent. Not from its own thread, and
  /// not from two at once.
  void Stop();

  /// Not empty. To a rank that is gone nothing is sent: on_end has been called, or follows.
  void Send(int rank, std::string_view message);
  /// Calls `work` from its thread.
  void Post(std::function<void()> work);
  /// The same, at `when` or soon after it; not at all, if it is stopped before.
  void PostAt(Deadline when, std::function<void()> work);

 private:
  struct Link {
    Descriptor connection;
    std::optional<ConnectionMac> mac;
    std::string received;
    std::string unsent;
    bool ended = false;
  };

  LinkLoop(std::vector<Peer> peers, Callbacks callbacks, Descriptor wake);
  void Run();
  /// What was posted so far. Returns whether there was any; `stopping`: whether Stop() was called.
  bool RunPosted(bool& stopping);
  /// Those whose time has come.
  void RunTimers();
  /// Until the first timer, if there is one.
  std::optional<std::chrono::nanoseconds> TimeToTimer() const;
  /// Until there is something to do. `sending`: waits for nothing else.
  void Wait(std::optional<std::chrono::nanoseconds> timeout, bool sending);
  void Receive(int rank, Link& link);
  /// False: the bytes are no messages.
  bool TakeMessages(int rank, Link& link);
  void Write(Link& link);
  /// What is to be written next: a frame, and its MAC.
  static void Append(Link& link, const std::string& frame);
  void Finish(int rank, Link& link, bool in_order);
  void SendGoodbyes();
  void Wake();

  const Callbacks callbacks_;
  const Descriptor wake_;
  std::map<int, Link> links_;                              ///< of the thread
  std::multimap<Deadline, std::function<void()>> timers_;  ///< of the thread
  std::vector<ForkGuard> guards_;                          ///< of the links' connections
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;  ///< under the mutex
  bool stopping_ = false;                     ///< under the mutex
  std::thread thread_;
};

}  // namespace tony::collective
