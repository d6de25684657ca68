// The leases of partitions: which worker's endpoint consumes which partition of a feed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "core/feed/feed_messages.h"
#include "core/feed/partition_set.h"

namespace tony::core {

/// Decides about every partition that a producer wants to send. A partition is:
///
///   FREE ──ask──▶ LEASED ──consumed──▶ ACKNOWLEDGED (a later ask is answered by SKIP)
///     ▲             │  ▲ another ask: BUSY, and it waits
///     └─given back──┘  └─given back, and one waits: it is granted
///
/// Leases of a container that is lost are given back. A feed ends once it was told to and nobody
/// has or awaits a lease of it. After a restart of the ApplicationMaster no lease is granted until
/// all endpoints have reported what they hold, or until a deadline; whoever asks waits meanwhile.
/// Not thread safe: owned by the event loop.
class FeedTable {
 public:
  /// An order for the endpoint of one container.
  struct Effect {
    std::string container;
    FeedOrder order;
  };
  using Effects = std::vector<Effect>;
  /// Where the endpoint of a container is reached.
  struct Address {
    std::string unix_path;
    int tls_port = 0;
  };
  /// One feed, as people see it. Plain data.
  struct View {
    enum class State { kOpen, kTerminated, kEnding, kEnded };
    std::string feed;
    State state = State::kOpen;
    uint64_t acknowledged = 0;  ///< partitions
    int64_t rows = 0;           ///< that this ApplicationMaster has heard of
    size_t leased = 0;          ///< partitions
    size_t waiting = 0;         ///< asks that wait for another attempt
  };

  /// `awaited`: the containers whose endpoints hold leases from an earlier ApplicationMaster.
  FeedTable(std::set<std::string> awaited, TimePoint deadline)
      : awaited_(std::move(awaited)), deadline_(deadline) {}

  /// An endpoint has said something.
  Effects Apply(const std::string& container, const FeedReport& report);
  /// The container is gone.
  Effects OnLost(const std::string& container);
  /// Ends a feed, also one that nobody has used yet. InvalidArgument – no feed can be called so.
  /// ResourceExhausted – there are kMostFeeds others.
  absl::StatusOr<Effects> End(const std::string& feed);
  /// To be called at NextDeadline().
  Effects OnTime(TimePoint now);
  std::optional<TimePoint> NextDeadline() const;

  /// Containers that have reported an endpoint, or are awaited to.
  std::set<std::string> Containers() const;
  const std::map<std::string, Address>& endpoints() const { return endpoints_; }
  std::vector<View> Views() const;

 private:
  using Number = std::pair<int64_t, int64_t>;  ///< epoch and partition
  struct Holder {
    std::string container;
    uint64_t connection = 0;
    bool operator==(const Holder&) const = default;
  };
  struct Feed {
    PartitionSet acknowledged;
    uint64_t partitions = 0;  ///< acknowledged
    int64_t rows = 0;
    std::map<Number, Holder> leases;
    std::map<Number, std::deque<Holder>> waiters;  ///< only of leased partitions
    bool terminated = false;
    bool ending = false;
    bool ended = false;
  };

  void Apply(const std::string& container, const feed_report::Endpoint& report, Effects& effects);
  void Apply(const std::string& container, const feed_report::Ask& report, Effects& effects);
  void Apply(const std::string& container, const feed_report::Consumed& report, Effects& effects);
  void Apply(const std::string& container, const feed_report::GivenBack& report, Effects& effects);
  void Apply(const std::string& container, const feed_report::Terminate& report, Effects& effects);
  static Number NumberOf(const FeedLease& lease);
  /// Takes all that the container has or awaits away from it, except the leases `kept`.
  void Forget(const std::string& container, const std::vector<FeedLease>& kept, Effects& effects);
  /// The lease is free: the next one that waits gets it.
  static void PassOn(Feed& feed, const Number& number, Effects& effects);
  /// Tells the holder of a lease that another attempt waits for it, if one does.
  static void TellIfAwaited(const Feed& feed, const Number& number, Effects& effects);
  void EndIfOver(const std::string& name, Feed& feed, Effects& effects);
  /// Answers whoever asked while endpoints were awaited.
  void AnswerHeld(Effects& effects);
  void ToAll(const FeedOrder& order, Effects& effects) const;
  /// Null: there are kMostFeeds others.
  Feed* Find(const std::string& name);
  static View::State StateOf(const Feed& feed);

  std::set<std::string> awaited_;
  const TimePoint deadline_;
  std::vector<std::pair<std::string, feed_report::Ask>> held_;
  std::map<std::string, Address> endpoints_;  ///< by container
  std::map<std::string, Feed> feeds_;
};

}  // namespace tony::core
