// Data to and from all other ranks, over connections that are there already.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/descriptor.h"
#include "collective/base/status.h"
#include "collective/group/switch_points.h"
#include "collective/net/net_door.h"
#include "collective/net/net_lane.h"

namespace tony::collective {

/// 1. Who is to send and to receive says so, which moves nothing yet. Data has no frames: both
/// sides know from the operation what comes next. Where the connections have keys, each unit is
/// followed by its MAC; each word is anyway. What does not fit its MAC ends everything.
/// 2. Who waits moves bytes on all connections at once, in both directions, until what it waits for
/// is there. It goes in units, which take the streams in turn. When there is nothing to move it
/// looks again for a moment, letting others run in between, and then sleeps.
/// 3. What the other side sends before it is asked for stays in the sockets.
///
/// A rank whose connections close has ended, unless it has said before that it leaves. The first
/// error stays, and with it what was to be sent is forgotten.
///
/// Not thread safe: of the data thread. Only Fail() and Leave() may come from another one.
class NetMesh {
 public:
  static constexpr size_t kUnitBytes = SwitchPoints::kMostPieceBytes;

  /// What is to be received: units from `first` to before `end`, since the beginning.
  struct Ticket {
    int rank = -1;
    uint64_t first = 0;
    uint64_t end = 0;
  };

  /// ResourceExhausted: no descriptor.
  static Result<std::unique_ptr<NetMesh>> Create(int rank, std::vector<NetPeer> peers);
  NetMesh(const NetMesh&) = delete;
  NetMesh& operator=(const NetMesh&) = delete;
  ~NetMesh();

  /// To another rank. `data` stays as it is until a Finish().
  void Send(int to, const void* data, size_t bytes);
  /// From another rank. `data` is not touched by others until then.
  Ticket Receive(int from, void* data, size_t bytes);
  /// Until it has been received.
  /// Aborted: a rank has ended, or left with something undone. DeadlineExceeded: names the rank;
  /// nothing has moved for so long.
  Status Until(const Ticket& ticket, Deadline deadline);
  /// Until all that was said is done. The same errors.
  Status Finish(Deadline deadline);

  /// `rank` has ended: ends what waits, here and at all others.
  void Fail(int rank);
  /// Nothing of this rank will follow. Data that is on its way still comes to the others.
  void Leave();
  /// For who has heard elsewhere that a rank has gone: Aborted, who has ended, or which of `waited`
  /// has left. Ok: nobody is known by the deadline.
  Status WhoHasGone(const std::vector<int>& waited, Deadline deadline);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(peers_.size()); }
  /// For data, to each of the ranks below or the first one above.
  int streams() const;

 private:
  struct Stream {
    Descriptor connection;
    NetLane in;
    NetLane out;
  };
  struct Peer {
    std::vector<Stream> streams;
    Descriptor words;
    std::optional<ConnectionMac> mac;  ///< of words; `send` under the mutex
    std::string unread;                ///< of a word
    uint64_t sent = 0;                 ///< units that Send() was told of
    uint64_t received = 0;             ///< the same of Receive()
    bool left = false;
    bool gone = false;     ///< its words are closed
    bool changed = false;  ///< words, or data, did not fit their MAC
  };

  NetMesh(int rank, Descriptor wake, Descriptor events, std::vector<NetPeer> peers);
  Status Watch();

  /// Null: for everything.
  Status Wait(const Ticket* ticket, Deadline deadline);
  bool IsDone(const Ticket* ticket) const;
  /// Whether anything has been moved. `ask_all`: also what had nothing to move when last asked.
  bool Move(bool ask_all);
  bool MoveIn(Peer& peer, Stream& stream);
  bool MoveOut(Stream& stream);
  /// Until something can be moved, or is known of a rank.
  Status Sleep(Deadline deadline);
  /// What can be moved, or is known of a rank, by now or within that time.
  Status Look(std::chrono::milliseconds time);
  void OnEvent(uint64_t what, uint32_t events);
  void ReadWords(int rank);
  /// Takes whole words from what is unread.
  void TakeWords(Peer& peer);
  /// Ok while nobody that is waited for has gone.
  Status Health();
  /// False: nothing of it is waited for.
  static bool WaitsFor(const Peer& peer, NetLane Stream::*lane, bool closed_only);
  /// `last`: when something has moved.
  Status TooLate(const Ticket* ticket, Deadline last) const;
  void Tell(uint32_t kind, int about);
  /// Once.
  void TellOfFailure();
  Status Stop(Status failure);

  const int rank_;
  const Descriptor wake_;
  const Descriptor events_;
  std::vector<Peer> peers_;
  size_t undone_ = 0;                 ///< units
  Deadline doubt_ = Deadline::max();  ///< until then a closed stream's rank may say that it leaves
  Status failure_;
  std::atomic<int> failed_{-1};
  std::atomic<bool> told_{false};
  std::atomic<bool> left_{false};
  std::mutex words_;  ///< one word after the other
};

}  // namespace tony::collective
