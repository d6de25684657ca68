// Connections between two ranks until both are sure of each other.
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

/// One wait for all connections of a rank, those that it makes and those that come.
///
///   made:  kConnecting -> kChallenge -> kAcceptance -> taken
///               ^             |             |
///               +-- kResting <+-------------+    (the other side closed it without a word)
///   come:  kAnswer -> taken, or closed
///
/// Not thread safe.
class NetVisits {
 public:
  /// Both live until the end.
  NetVisits(int door, const NetTable& table);

  /// FailedPrecondition: an address that must not be, or nobody is there.
  Status Start();
  /// As NetDoor::Meet.
  Status UntilAll(Deadline deadline);
  NetConnections Take() { return std::move(found_); }

 private:
  enum class Stage : uint8_t { kResting, kConnecting, kChallenge, kAcceptance, kAnswer };
  enum class Outcome : uint8_t { kGoesOn, kTaken, kClosed };

  struct Visit {
    Descriptor connection;
    Stage stage = Stage::kAnswer;
    NetChannel channel;  ///< of one that comes: not before it is taken
    NetHandshake::Number challenge{};
    std::string answer;    ///< the own one
    std::string received;  ///< of what this stage waits for
    Deadline until = Deadline::max();

    bool IsOwn() const { return stage != Stage::kAnswer; }
  };

  Status Connect(Visit& visit) const;
  Status Accept();
  /// Until something has come, or the next visit's time is over.
  void Wait(Deadline deadline);
  /// Closed: as far as it is ours, by the other side, without a word.
  Result<Outcome> Advance(Visit& visit, bool ready);
  Result<Outcome> AdvanceOwn(Visit& visit);
  Outcome AdvanceGuest(Visit& visit);
  /// Whether what the stage waits for is there. `closed`: nothing more will come.
  static bool Receive(Visit& visit, bool& closed);
  bool Fits(const NetChannel& channel) const;
  bool IsFree(const NetChannel& channel) const;
  /// Where this channel's connection belongs, if it is not there yet.
  void Keep(const NetChannel& channel, Descriptor connection, const ConnectionKeys& keys);
  int OtherOf(const NetChannel& channel) const;
  bool IsComplete(int rank) const;
  bool AllAreHere() const;
  Status Missing() const;
  std::string Name(int rank) const;

  const int door_;
  const NetTable& table_;
  const int ranks_;
  const NetHandshake handshake_;
  std::list<Visit> visits_;
  std::vector<bool> linked_;  ///< by rank: its link is among those found
  std::vector<char> ready_;   ///< by visit, of the last Wait()
  bool door_ready_ = false;
  NetConnections found_;
};

}  // namespace tony::collective
