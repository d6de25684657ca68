// The rounds of an elastic Horovod job: decides who takes part, and when the next round begins.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "core/rendezvous/rendezvous_store.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

/// A container in which a process of the job runs or may be started.
struct ElasticMember {
  std::string name;  ///< unique to the process, not to the container
  std::string host;  ///< name of Horovod's host

  bool operator==(const ElasticMember&) const = default;
};

/// A member with its place in a round.
struct ElasticAssignment {
  std::string member;
  Slot slot;
  /// The member's slot in the previous round. nullopt – its process is to be started, and learns
  /// its place from its environment.
  std::optional<Slot> previous = {};

  bool operator==(const ElasticAssignment&) const = default;
};

struct ElasticPolicy {
  ElasticSize size;
  int resets = 0;  ///< allowed rounds after the first; 0: no limit
  /// How long a gathering may last: the processes of a round have to ask for the next one, and
  /// enough members have to be there.
  std::chrono::milliseconds patience{600000};
};

namespace elastic {

/// Forget the previous round. Processes that have asked learn their places, and the new ones are to
/// be started.
struct Begin {
  int round = 0;  ///< counted from 0
  std::vector<ElasticAssignment> places;
};

/// Tell the process with rank 0 that hosts have come or gone; it tells the others when they next
/// look.
struct Notify {
  std::string member;
  Blob address;           ///< as the process has put it
  int64_t timestamp = 0;  ///< greater than every earlier one
};

/// The job cannot go on.
struct Fail {
  std::string sentence;
  std::vector<std::string> missing;  ///< tasks that did not come
};

}  // namespace elastic

/// The sentences of elastic::Fail when no process of the last round is left. In the second case the
/// job's program is to blame: each process ended before it came to hvd.init().
inline constexpr char kNobodyLeft[] =
    "No process of the last round is left, so nobody has the job's state; it can only start again "
    "from its checkpoint";
inline constexpr char kNobodyCame[] = "No process came to hvd.init()";

using ElasticEffect = std::variant<elastic::Begin, elastic::Notify, elastic::Fail>;
using ElasticEffects = std::vector<ElasticEffect>;

/// Horovod's elastic protocol (horovod/runner/elastic), with other decisions where Horovod's own
/// lead into dead ends.
///
///   gathering the first ──▶ running ──(a process asks, or is gone)──▶ gathering ──▶ running …
///                              └─(a member comes: notify)─▶ all ask
///
/// 1. The first round begins as soon as `least` members are there, with those members.
/// 2. A member that comes while a round runs may take part in the next round, as long as the round
///    has fewer than `most` processes. The process with rank 0 is notified, and then all processes
///    ask.
/// 3. Processes that lose another one ask by themselves. The loss of a member is notified as well,
///    for processes that do not notice it.
/// 4. A round begins when all processes of the previous one that still live have asked, and
///    together with the members that have come meanwhile there are `least`. Survivors get the first
///    ranks, so that rank 0 has the job's state (PlanNextRound()).
/// 5. Two changes during one gathering lead to one round; a change while a round begins belongs to
///    the next round.
/// 6. Once a process has succeeded the job is ending: no further member joins.
/// 7. The job fails when no process survived, or when `patience` or `resets` are used up.
/// Not thread safe. Does no I/O.
class ElasticRounds {
 public:
  explicit ElasticRounds(ElasticPolicy policy) : policy_(policy) {}

  /// `members`: all members, both those whose process runs and those in which one may be started.
  /// `finished`: a process has succeeded.
  ElasticEffects OnMembers(std::vector<ElasticMember> members, bool finished, TimePoint now);
  /// The process with this place in the running round asks for a place in the next one.
  ElasticEffects OnAsked(const std::string& host, int local_rank, TimePoint now);
  /// The process with this place has put the address at which it can be notified.
  ElasticEffects OnAddress(const std::string& host, int local_rank, Blob address);
  /// A process has put something into the store, which none does before hvd.init().
  void OnCame() { came_ = true; }
  ElasticEffects OnTick(TimePoint now);
  /// The time by which to call OnTick(); nullopt while nothing is gathered.
  std::optional<TimePoint> NextDeadline() const;

  int round() const { return round_; }
  const std::vector<ElasticAssignment>& places() const { return slots_; }
  /// The tasks that the next round waits for; empty while no round is gathered.
  RendezvousWait DescribeWait() const;

 private:
  ElasticEffects Advance(TimePoint now);
  /// ResourceExhausted – there are too few members.
  absl::StatusOr<std::vector<ElasticAssignment>> Plan() const;
  ElasticEffects Begin(std::vector<ElasticAssignment> places);
  ElasticEffects Fail(std::string sentence, std::vector<std::string> missing = {});
  /// Notifies rank 0 of a change that it has not been told of, if its address is known.
  ElasticEffects NotifyIfChanged();
  const ElasticAssignment* SlotAt(const std::string& host, int local_rank) const;
  bool HasSlot(const std::string& member) const;
  bool Lives(const ElasticAssignment& place) const { return alive_.contains(place.member); }
  bool AllLive() const;
  /// True when there is room for a member that has no place.
  bool MayGrow() const;
  /// Processes of this round that live and have not asked for the next one.
  std::vector<const ElasticAssignment*> Silent() const;

  const ElasticPolicy policy_;
  std::vector<ElasticMember> members_;
  std::set<std::string> alive_;  ///< names of `members_`
  bool finished_ = false;
  bool came_ = false;  ///< some process has come to hvd.init()
  int round_ = -1;
  std::vector<ElasticAssignment> slots_;  ///< places of the round, by rank
  std::set<std::string> asked_;           ///< members of the round that have asked for the next one
  std::map<std::string, Blob> addresses_;  ///< by member
  std::set<std::string> notified_;         ///< the members that rank 0 has been told of
  int64_t timestamp_ = 0;
  std::optional<TimePoint> gathering_since_;
  bool failed_ = false;
};

}  // namespace tony::core
