// Moves data between this rank and all other ranks over TCP connections that are already open.
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
#include "collective/net/net_acceptor.h"
#include "collective/net/net_lane.h"

namespace tony::collective {

/// 1. Send() and Receive() only queue a transfer; they move no bytes. Data has no frames: both
/// sides know from the operation what comes next. If the connections have keys, a MAC follows each
/// unit of data. Each word carries a MAC in any case. A MAC that does not fit fails the mesh.
/// 2. Until() and Finish() move bytes on all connections at once, in both directions, until the
/// awaited transfers are done. Data goes in units, which take the streams in turn. When nothing
/// can be moved, the wait polls for a moment, yields the processor in between, and then sleeps.
/// 3. Data that the other side sends before Receive() is called stays in the sockets.
///
/// A rank whose connections close counts as ended, unless it said before that it leaves. The mesh
/// keeps its first error and then forgets all queued transfers.
///
/// Not thread safe: of the data thread. Only Fail() and Leave() may come from another one.
class NetMesh {
 public:
  static constexpr size_t kUnitBytes = SwitchPoints::kMostPieceBytes;

  /// Names one Receive(): the units [`first`, `end`) of `rank`, counted since the mesh was made.
  struct TransferHandle {
    int rank = -1;
    uint64_t first = 0;
    uint64_t end = 0;
  };

  /// `rank`: the own rank. `peers`: the connections to each rank, by rank.
  /// ResourceExhausted: no descriptor.
  static Result<std::unique_ptr<NetMesh>> Create(int rank, std::vector<NetPeer> peers);
  NetMesh(const NetMesh&) = delete;
  NetMesh& operator=(const NetMesh&) = delete;
  ~NetMesh();

  /// Queues `bytes` bytes for rank `to`. The caller must not change `data` until a Finish().
  void Send(int to, const void* data, size_t bytes);
  /// Queues the receipt of `bytes` bytes from rank `from`. Nobody else may touch `data` until a
  /// Finish().
  TransferHandle Receive(int from, void* data, size_t bytes);
  /// Moves data until all units of `handle` have been received.
  /// Aborted: a rank has ended, or has left with a transfer undone. DeadlineExceeded: nothing has
  /// moved for so long; the message names the rank.
  Status Until(const TransferHandle& handle, Deadline deadline);
  /// Moves data until all queued transfers are done. The errors are those of Until().
  Status Finish(Deadline deadline);

  /// Reports that `rank` has ended. Ends all waits, on this rank and on all others.
  void Fail(int rank);
  /// Tells all ranks that this rank sends nothing more. Data in flight still reaches the others.
  void Leave();
  /// Finds out which rank has gone, for a caller that only knows that one has.
  /// Aborted: names the rank that has ended, or the one of `waited` that has left. Ok: no such rank
  /// is known by the deadline.
  Status WhoHasGone(const std::vector<int>& waited, Deadline deadline);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(peers_.size()); }
  /// The number of data streams to another rank: to rank 0, or to rank 1 if this is rank 0.
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
    std::optional<ConnectionMac> mac;  ///< of `words`; `send` is guarded by `words_`
    std::string unread;                ///< received bytes of `words`, not parsed yet
    uint64_t sent = 0;                 ///< units queued by Send()
    uint64_t received = 0;             ///< units queued by Receive()
    bool left = false;                 ///< it said that it leaves
    bool gone = false;                 ///< its words connection is closed
    bool changed = false;              ///< a word or a unit did not fit its MAC
  };

  NetMesh(int rank, Descriptor wake, Descriptor events, std::vector<NetPeer> peers);
  /// Registers the eventfd and all connections with epoll.
  Status Watch();

  /// Moves data until `handle` is done. Null: until every queued transfer is done.
  Status Wait(const TransferHandle* handle, Deadline deadline);
  bool IsDone(const TransferHandle* handle) const;
  /// Moves what can be moved without blocking. True: something was moved. `ask_all`: also tries
  /// the lanes that are not marked ready.
  bool Move(bool ask_all);
  bool MoveIn(Peer& peer, Stream& stream);
  bool MoveOut(Stream& stream);
  /// Blocks until a connection is ready, a word comes, Tell() wakes it, or the deadline passes.
  Status Sleep(Deadline deadline);
  /// Waits up to `time` for epoll events and handles them. 0: handles the pending ones only.
  Status Poll(std::chrono::milliseconds time);
  void OnEvent(uint64_t what, uint32_t events);
  void ReadWords(int rank);
  /// Parses the whole words in `unread` and checks their MACs.
  void TakeWords(Peer& peer);
  /// Aborted: a rank has ended, a rank that pending transfers need has left, a MAC did not fit, or
  /// this rank has left.
  Status Health();
  /// Whether `peer` has pending units in `lane`. `closed_only`: counts closed connections only.
  static bool WaitsFor(const Peer& peer, NetLane Stream::*lane, bool closed_only);
  /// The DeadlineExceeded status. `last`: when something was moved for the last time.
  Status TooLate(const TransferHandle* handle, Deadline last) const;
  /// Sends a word about rank `about` to all ranks and wakes this rank's own wait.
  void Tell(uint32_t kind, int about);
  /// Tells all ranks of `failed_`, on the first call only.
  void TellOfFailure();
  /// Keeps `failure`, forgets all transfers, and returns it.
  Status Stop(Status failure);

  const int rank_;
  const Descriptor wake_;
  const Descriptor events_;
  std::vector<Peer> peers_;
  size_t undone_ = 0;  ///< queued units that are not done, in both directions
  /// Until then, a rank with a closed stream may still say that it leaves.
  Deadline doubt_ = Deadline::max();
  Status failure_;
  std::atomic<int> failed_{-1};  ///< the first rank known to have ended; -1: none
  std::atomic<bool> end_sent_{false};
  std::atomic<bool> left_{false};
  std::mutex words_;  ///< serializes the sending of words
};

}  // namespace tony::collective
