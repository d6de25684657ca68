// Makes, accepts and authenticates all TCP connections of one rank.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/descriptor.h"
#include "collective/base/status.h"
#include "collective/net/net_connections.h"
#include "collective/net/net_handshake.h"

namespace tony::collective {

/// A pending connection is one whose handshake is not complete. One poll loop drives all of a
/// rank's pending connections: own ones, which the rank makes, and guests, which come to its
/// listener.
///
///   own:    kConnecting -> kChallenge -> kAcceptance -> taken
///                ^             |             |
///                +-- kResting <+-------------+    (the other side closed it without a word)
///   guest:  kAnswer -> taken, or closed
///
/// Not thread safe.
class NetHandshakeLoop {
 public:
  /// `listener`: the listening socket. `listener` and `table` must outlive this object.
  NetHandshakeLoop(int listener, const NetTable& table);

  /// Begins a connection to each rank below, for words and each data stream; to rank 0 also one
  /// for messages.
  /// FailedPrecondition: an address is not valid, or nobody is there.
  Status Start();
  /// Waits until all ranks are connected. The errors are those of NetAcceptor::Meet.
  Status UntilAll(Deadline deadline);
  /// Hands out the connections, once UntilAll() has returned Ok.
  NetConnections Take() { return std::move(found_); }

 private:
  enum class Stage : uint8_t { kResting, kConnecting, kChallenge, kAcceptance, kAnswer };
  enum class Outcome : uint8_t { kGoesOn, kTaken, kClosed };

  struct PendingConnection {
    Descriptor connection;
    Stage stage = Stage::kAnswer;
    NetChannel channel;  ///< of an own connection only; a guest's is known when it is taken
    NetHandshake::Number challenge{};
    std::string answer;    ///< the own one, of an own connection
    std::string received;  ///< bytes received so far of this stage's message
    /// End of a guest's time to answer, or of an own connection's rest.
    Deadline until = Deadline::max();

    bool IsOwn() const { return stage != Stage::kAnswer; }
  };

  Status Connect(PendingConnection& connection) const;
  /// Accepts all pending guests and sends each a challenge.
  Status Accept();
  /// Polls until something has come, the time of a connection is over, or the deadline passes.
  void Wait(Deadline deadline);
  /// Takes one step of a connection. An own connection that the other side closes without a word
  /// rests and connects again; a guest is closed, also when its time is over.
  Result<Outcome> Advance(PendingConnection& connection, bool ready);
  Result<Outcome> AdvanceOwn(PendingConnection& connection);
  Outcome AdvanceGuest(PendingConnection& connection);
  /// True: the stage's message is complete. `closed`: set when nothing more will come.
  static bool Receive(PendingConnection& connection, bool& closed);
  /// Whether a rank of this job may make such a connection to this rank.
  bool Fits(const NetChannel& channel) const;
  /// Whether there is no connection for the channel yet.
  bool IsFree(const NetChannel& channel) const;
  /// Stores an authenticated connection in `found_`.
  void Keep(const NetChannel& channel, Descriptor connection, const ConnectionKeys& keys);
  /// The rank at the other end.
  int OtherOf(const NetChannel& channel) const;
  bool IsComplete(int rank) const;
  bool AllAreHere() const;
  /// DeadlineExceeded, with the ranks that are not connected.
  Status Missing() const;
  std::string Name(int rank) const;

  const int listener_;
  const NetTable& table_;
  const int ranks_;
  const NetHandshake handshake_;
  std::list<PendingConnection> pending_;
  std::vector<bool> linked_;  ///< by rank: whether its link is in `found_`
  std::vector<char> ready_;   ///< by connection: whether the last Wait() found it ready
  bool listener_ready_ = false;
  NetConnections found_;
};

}  // namespace tony::collective
