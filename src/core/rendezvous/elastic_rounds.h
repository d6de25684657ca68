// The rounds of an elastic Horovod job: who takes part, and when the next one begins.
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

/// A container in which a process of the job may be started, or one runs.
struct ElasticMember {
  std::string name;  ///< its own; another process in the same container has another
  std::string host;  ///< of Horovod's

  bool operator==(const ElasticMember&) const = default;
};

/// A member with its place in a round.
struct ElasticPlace {
  std::string member;
  Slot slot;
  /// In the round before; nothing: its process is to be started, and learns its place by its
  /// environment.
  std::optional<Slot> previous = {};

  bool operator==(const ElasticPlace&) const = default;
};

struct ElasticPolicy {
  ElasticSize size;
  int resets = 0;  ///< rounds after the first; 0: as many as it takes
  /// For the processes of a round to ask for the next one, and for enough members to be there.
  std::chrono::milliseconds patience{600000};
};

namespace elastic {

/// Forget the last round. Who has asked learns its place, and the new ones are to be started.
struct Begin {
  int round = 0;  ///< from 0
  std::vector<ElasticPlace> places;
};

/// Tell the process with the first rank that hosts have come or gone; it tells the others when they
/// next look.
struct Notify {
  std::string member;
  Blob address;           ///< as it has put it
  int64_t timestamp = 0;  ///< each is greater than the one before
};

/// The job cannot go on.
struct Fail {
  std::string sentence;
  std::vector<std::string> missing;  ///< tasks that did not come
};

}  // namespace elastic

using ElasticEffect = std::variant<elastic::Begin, elastic::Notify, elastic::Fail>;
using ElasticEffects = std::vector<ElasticEffect>;

/// Horovod's protocol (horovod/runner/elastic), with other decisions where its own lead into dead
/// ends.
///
///   gathering the first ──▶ running ──(a process asks, or is gone)──▶ gathering ──▶ running …
///                              └─(a member comes: notify)─▶ all ask
///
/// 1. The first round begins with the members that are there first, when these are `least`.
/// 2. While a round runs a member that comes may take part in the next one, as long as there are
///    fewer than `most`. The process with the first rank is told, and all will ask.
/// 3. Processes that lose another one ask by themselves. That a member is gone is told as well, for
///    those who do not notice.
/// 4. A round begins when all processes of the last one that still live have asked, and with the
///    members that have come meanwhile there are `least`. Survivors have the first ranks, so that
///    the first of them has the job's state (PlanNextRound()).
/// 5. Two changes are one round; a change while a round begins is the next round's.
/// 6. Once a process has ended well the job is coming to its end: nobody joins any more.
/// 7. It fails when nobody survived, when `patience` or `resets` are over.
/// Not thread safe. Does no I/O.
class ElasticRounds {
 public:
  explicit ElasticRounds(ElasticPolicy policy) : policy_(policy) {}

  /// All members that there are: those whose process runs, and those in which one may be started.
  /// `finished`: a process has ended well.
  ElasticEffects OnMembers(std::vector<ElasticMember> members, bool finished, TimePoint now);
  /// The process with this place in the running round wants one in the next.
  ElasticEffects OnAsked(const std::string& host, int local_rank, TimePoint now);
  /// It has said where it can be told something.
  ElasticEffects OnAddress(const std::string& host, int local_rank, Blob address);
  ElasticEffects OnTick(TimePoint now);
  /// When OnTick() has something to look at.
  std::optional<TimePoint> NextDeadline() const;

  int round() const { return round_; }
  const std::vector<ElasticPlace>& places() const { return places_; }
  /// For whom the next round waits; nothing while nobody waits for it.
  RendezvousWait DescribeWait() const;

 private:
  ElasticEffects Advance(TimePoint now);
  /// ResourceExhausted – there are too few members.
  absl::StatusOr<std::vector<ElasticPlace>> Plan() const;
  ElasticEffects Begin(std::vector<ElasticPlace> places);
  ElasticEffects Fail(std::string sentence, std::vector<std::string> missing = {});
  /// The first process hears of a change that it has not heard of, when it can be told.
  ElasticEffects NotifyIfChanged();
  const ElasticPlace* PlaceAt(const std::string& host, int local_rank) const;
  bool HasPlace(const std::string& member) const;
  bool Lives(const ElasticPlace& place) const { return alive_.contains(place.member); }
  bool AllLive() const;
  /// There is room for a member that has no place.
  bool MayGrow() const;
  /// Processes of this round that live and have not asked.
  std::vector<const ElasticPlace*> Silent() const;

  const ElasticPolicy policy_;
  std::vector<ElasticMember> members_;
  std::set<std::string> alive_;  ///< names of members_
  bool finished_ = false;
  int round_ = -1;
  std::vector<ElasticPlace> places_;       ///< of the round, by rank
  std::set<std::string> asked_;            ///< members of the round
  std::map<std::string, Blob> addresses_;  ///< by member
  std::set<std::string> told_;             ///< names of the members that the first process knows of
  int64_t timestamp_ = 0;
  std::optional<TimePoint> gathering_since_;
  bool failed_ = false;
};

}  // namespace tony::core
