// One feed of one worker: its slots, its program, and the producers that fill the slots.
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
#include "core/feed/feed_messages.h"
#include "core/feed/partition_set.h"
#include "feed/frame_connection.h"
#include "feed/producer.h"
#include "feed/slot_memory.h"

namespace tony::feed {

/// Slots of each feed. A batch fits into one of them.
inline constexpr uint32_t kSlots = 16;

/// Gives credits to producers, shows filled slots to the program, and takes released ones back. It
/// holds: the slots that are neither filled nor arriving are at least as many as the credits that
/// are out, so a batch always finds its slot. A producer has at most its share of the credits, so
/// that one that stalls leaves slots to the others. Connections belong to the endpoint, which tells
/// the feed before it destroys one. Not thread safe: owned by the event loop.
class Feed {
 public:
  struct Setting {
    std::string name;
    std::string task;  ///< name of the task, for messages
    uint32_t slot_bytes = 0;
    /// Sends a report to the ApplicationMaster. The answer never comes from within the call.
    std::function<void(core::FeedReport)> report;
  };

  /// `clock` must outlive the feed.
  Feed(const Clock& clock, Setting setting);

  // ---- The program ----

  /// AlreadyExists – a program is attached. ResourceExhausted – no memory for the slots.
  absl::Status Attach(FrameConnection& program);
  /// The program's connection is over: its slots are dropped, and the producers that it had begun
  /// with get AWAY with `sentence`.
  void Detach(const std::string& sentence);
  /// A frame of the program. InvalidArgument – the program breaks the protocol.
  /// FailedPrecondition – it has sent too many or too few results. The caller then ends the
  /// program's connection.
  absl::Status OnProgramFrame(const FrameHeader& header, const std::string& payload);
  const FrameConnection* program() const { return program_; }

  // ---- Producers ----

  /// A producer has said HELLO.
  void Add(uint64_t number, Hello hello, FrameConnection& connection);
  /// The place for a batch. InvalidArgument – the producer has no credit, or breaks the protocol in
  /// another way.
  absl::StatusOr<char*> OnBatchHeader(uint64_t number, const FrameHeader& header);
  /// A whole batch is in its place, or END has come. InvalidArgument – the producer breaks the
  /// protocol.
  absl::Status OnProducerFrame(uint64_t number, const FrameHeader& header);
  /// The producer's connection is over.
  void OnProducerGone(uint64_t number);
  /// Ends all producers with AWAY, since the program does not run.
  void Refuse(const std::string& sentence);

  // ---- The ApplicationMaster ----

  void OnAnswer(const core::feed_order::Answer& answer);
  void OnRecorded(uint64_t number);
  /// Another attempt waits for the producer's lease.
  void OnAwaited(uint64_t number);
  /// A program, perhaps another worker's, wants no more.
  void Terminate();
  /// It will end; see core::feed_order::Ending.
  void OnEnding() { ending_ = true; }
  /// No partition is left.
  void End();
  /// Adds all that the feed holds to the first report of a stream.
  void Describe(core::feed_report::Endpoint& endpoint) const;
  /// Repeats what the ApplicationMaster has not answered.
  void AskAgain() const;

  /// Rows that were consumed of the producer's partition.
  uint64_t consumed(uint64_t number) const;
  /// Looks for producers that have waited too long, or have let others wait too long.
  void Tick();
  /// Opens further producers and hands out credits, as far as there is room.
  void Advance();
  /// A producer has read its results: the program may send more, and its partition may be done.
  void OnDrained();
  /// Whether nobody uses the feed, and it has nothing to remember.
  bool idle() const;
  /// Nobody wants more of this feed.
  bool over() const { return terminated_ || ended_; }

 private:
  using State = Producer::State;

  void AskForLeases();
  void OpenGranted();
  bool MayOpen(const Producer& producer) const;
  void Open(Producer& producer);
  void HandOutCredits();
  void SendCredits(Producer& producer, uint32_t credits) const;
  absl::Status OnRelease(uint64_t slot);
  absl::Status OnResult(const FrameHeader& header, const std::string& payload);
  absl::Status OnNext(uint64_t number);
  absl::Status OnEnd(Producer& producer, uint64_t rows);
  void ShowSlot(Producer& producer, const FrameHeader& header);
  /// Whether a slot or more of results waits to be read. It ends with OnDrained().
  bool IsBehind(const Producer& producer) const;
  /// Reports the partition if all of it is consumed and answered, and the answers are mostly read.
  void CheckConsumed(Producer& producer);
  /// The sentence about a wrong number of results, after the producer got it as its ERROR.
  absl::Status FailResults(Producer& producer);
  /// Sends the last frame and forgets the producer. `gives_back`: its lease, or its wish for one,
  /// is given back.
  void Close(Producer& producer, FrameType type, const std::string& text, bool gives_back);
  /// Close() of all that give a lease back.
  void CloseAll(FrameType type, const std::string& text);
  /// Takes the producer's credits and its arriving batch back, and tells the program that no more
  /// comes of an open partition.
  void BreakOff(Producer& producer);
  /// Whether the program has nothing to do of an open partition whose producer may send.
  static bool KeepsProgramWaiting(const Producer& producer);
  /// `program_waits`: for any producer.
  bool WaitsForProgram(const Producer& producer, bool program_waits) const;
  bool IsStalled(const Producer& producer, TimePoint now) const;
  /// Why the producer gets ERROR: its time-out is over. Empty: it is not.
  std::string WhyLate(Producer& producer, bool program_waits, TimePoint now) const;
  /// Pauses the program while a producer does not read its results.
  void UpdatePause();
  void StopAll();
  Producer* Find(uint64_t number);
  uint32_t Count(State state) const;

  const Clock& clock_;
  const Setting setting_;
  std::map<uint64_t, Producer> producers_;  ///< by number, which is the order of their coming
  FrameConnection* program_ = nullptr;
  std::unique_ptr<SlotMemory> memory_;  ///< null: no program is attached
  std::vector<uint32_t> free_;          ///< slots
  /// By slot: the producer and the number of rows; no rows: the program does not have the slot.
  struct Filled {
    uint64_t producer = 0;
    uint32_t rows = 0;
    bool shown = false;
  };
  std::vector<Filled> filled_;
  core::PartitionSet acknowledged_;
  TimePoint progress_at_;  ///< when the program has last taken something
  bool terminated_ = false;
  bool ending_ = false;
  bool ended_ = false;
};

}  // namespace tony::feed
