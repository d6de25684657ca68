// A report may come twice, after a stream broke and its endpoint repeated what was not answered, so
// every report about a lease is answered in the same way again.
#include "core/feed/feed_table.h"

#include <algorithm>
#include <variant>

#include "common/status_macros.h"

namespace tony::core {
namespace {

using Verdict = feed_order::Answer::Verdict;

}  // namespace

FeedTable::Number FeedTable::NumberOf(const FeedLease& lease) {
  return {lease.partition.epoch, lease.partition.partition};
}

FeedTable::Feed* FeedTable::Find(const std::string& name) {
  const auto found = feeds_.find(name);
  if (found != feeds_.end()) return &found->second;
  if (feeds_.size() >= kMostFeeds) return nullptr;
  return &feeds_[name];
}

FeedTable::Effects FeedTable::Apply(const std::string& container, const FeedReport& report) {
  Effects effects;
  std::visit([&](const auto& body) { Apply(container, body, effects); }, report);
  return effects;
}

// The report replaces what was known of the endpoint. Whoever waits there for a lease asks again
// right after it.
void FeedTable::Apply(const std::string& container, const feed_report::Endpoint& report,
                      Effects& effects) {
  for (const FeedRange& range : report.acknowledged) {
    if (Feed* const feed = Find(range.feed); feed != nullptr) {
      feed->partitions += feed->acknowledged.Add(range.epoch, range.first, range.last);
    }
  }
  // Leases that the endpoint reports are taken first, so that none of them passes on in between.
  for (const FeedLease& lease : report.leases) {
    Feed* const feed = Find(lease.partition.feed);
    if (feed == nullptr || feed->terminated) continue;
    feed->leases.try_emplace(NumberOf(lease), Holder{container, lease.connection});
  }
  Forget(container, report.leases, effects);
  for (const std::string& name : report.terminated) {
    Apply(container, feed_report::Terminate{name}, effects);
  }
  for (const std::string& name : report.ended) {
    Feed* const feed = Find(name);
    if (feed != nullptr && !std::exchange(feed->ending, true)) {
      ToAll(feed_order::Ending{name}, effects);
    }
  }
  endpoints_[container] = {report.unix_path, report.tls_port};
  for (auto& [name, feed] : feeds_) {
    if (feed.terminated) effects.push_back({container, feed_order::Terminated{name}});
    if (feed.ended) {
      effects.push_back({container, feed_order::Ended{name}});
    } else if (feed.ending) {
      effects.push_back({container, feed_order::Ending{name}});
    }
    // Earlier orders about waiters may have been lost with the stream.
    for (const auto& [number, holder] : feed.leases) {
      if (holder.container == container) TellIfAwaited(feed, number, effects);
    }
  }
  if (awaited_.erase(container) > 0 && awaited_.empty()) AnswerHeld(effects);
  for (auto& [name, feed] : feeds_) EndIfOver(name, feed, effects);
}

void FeedTable::Apply(const std::string& container, const feed_report::Ask& report,
                      Effects& effects) {
  if (!awaited_.empty()) {
    held_.emplace_back(container, report);
    return;
  }
  const FeedLease& lease = report.lease;
  const auto answer = [&](Verdict verdict, std::string sentence = "") {
    effects.push_back(
        {container, feed_order::Answer{lease.connection, verdict, std::move(sentence)}});
  };
  Feed* const feed = Find(lease.partition.feed);
  if (feed == nullptr) {
    return answer(Verdict::kRefused, std::string(TooManyFeeds(lease.partition.feed).message()));
  }
  if (feed->terminated || feed->ending) return answer(Verdict::kStopped);
  const Number number = NumberOf(lease);
  if (feed->acknowledged.Contains(number.first, number.second)) return answer(Verdict::kSkip);
  const Holder asker{container, lease.connection};
  const auto [holder, granted] = feed->leases.try_emplace(number, asker);
  if (granted || holder->second == asker) return answer(Verdict::kGranted);
  std::deque<Holder>& waiters = feed->waiters[number];
  if (std::find(waiters.begin(), waiters.end(), asker) == waiters.end()) waiters.push_back(asker);
  answer(Verdict::kBusy);
  TellIfAwaited(*feed, number, effects);
}

void FeedTable::TellIfAwaited(const Feed& feed, const Number& number, Effects& effects) {
  if (!feed.waiters.contains(number)) return;
  const Holder& holder = feed.leases.at(number);
  effects.push_back({holder.container, feed_order::Awaited{holder.connection}});
}

void FeedTable::Apply(const std::string& container, const feed_report::Consumed& report,
                      Effects& effects) {
  const FeedLease& lease = report.lease;
  effects.push_back({container, feed_order::Recorded{lease.connection}});
  Feed* const feed = Find(lease.partition.feed);
  if (feed == nullptr) return;
  const Number number = NumberOf(lease);
  if (const uint64_t added = feed->acknowledged.Add(number.first, number.second, number.second);
      added > 0) {
    feed->partitions += added;
    feed->rows += report.rows;
  }
  // Another container may have it, if it was granted while this one could not be reached: that one
  // goes on, and what it reports is not counted again.
  if (const auto held = feed->leases.find(number);
      held != feed->leases.end() && held->second == Holder{container, lease.connection}) {
    feed->leases.erase(held);
  }
  if (const auto waiters = feed->waiters.find(number); waiters != feed->waiters.end()) {
    for (const Holder& waiter : waiters->second) {
      effects.push_back({waiter.container, feed_order::Answer{waiter.connection, Verdict::kSkip}});
    }
    feed->waiters.erase(waiters);
  }
  EndIfOver(lease.partition.feed, *feed, effects);
}

void FeedTable::Apply(const std::string& container, const feed_report::GivenBack& report,
                      Effects& effects) {
  const Holder holder{container, report.lease.connection};
  std::erase_if(held_, [&](const auto& one) {
    return one.first == container && one.second.lease.connection == holder.connection;
  });
  Feed* const feed = Find(report.lease.partition.feed);
  if (feed == nullptr) return;
  const Number number = NumberOf(report.lease);
  if (const auto waiters = feed->waiters.find(number); waiters != feed->waiters.end()) {
    std::erase(waiters->second, holder);
    if (waiters->second.empty()) feed->waiters.erase(waiters);
  }
  const auto lease = feed->leases.find(number);
  if (lease != feed->leases.end() && lease->second == holder) PassOn(*feed, number, effects);
  EndIfOver(report.lease.partition.feed, *feed, effects);
}

// Every endpoint stops its producers by itself, so the leases are simply forgotten. What was
// consumed is still recorded.
void FeedTable::Apply(const std::string& /*container*/, const feed_report::Terminate& report,
                      Effects& effects) {
  Feed* const feed = Find(report.feed);
  if (feed == nullptr || feed->terminated) return;
  feed->terminated = true;
  feed->leases.clear();
  feed->waiters.clear();
  ToAll(feed_order::Terminated{report.feed}, effects);
}

void FeedTable::PassOn(Feed& feed, const Number& number, Effects& effects) {
  feed.leases.erase(number);
  const auto waiters = feed.waiters.find(number);
  if (waiters == feed.waiters.end()) return;
  const Holder next = waiters->second.front();
  waiters->second.pop_front();
  if (waiters->second.empty()) feed.waiters.erase(waiters);
  feed.leases[number] = next;
  effects.push_back({next.container, feed_order::Answer{next.connection, Verdict::kGranted}});
  TellIfAwaited(feed, number, effects);
}

void FeedTable::Forget(const std::string& container, const std::vector<FeedLease>& kept,
                       Effects& effects) {
  for (auto& [name, feed] : feeds_) {
    for (auto& [number, waiters] : feed.waiters) {
      std::erase_if(waiters, [&](const Holder& one) { return one.container == container; });
    }
    std::erase_if(feed.waiters, [](const auto& entry) { return entry.second.empty(); });
    std::vector<Number> gone;
    for (const auto& [number, holder] : feed.leases) {
      if (holder.container != container) continue;
      const FeedLease held{holder.connection, {name, number.first, number.second}};
      if (std::find(kept.begin(), kept.end(), held) == kept.end()) gone.push_back(number);
    }
    for (const Number& number : gone) PassOn(feed, number, effects);
  }
  std::erase_if(held_, [&](const auto& one) { return one.first == container; });
}

FeedTable::Effects FeedTable::OnLost(const std::string& container) {
  Effects effects;
  endpoints_.erase(container);
  Forget(container, {}, effects);
  if (awaited_.erase(container) > 0 && awaited_.empty()) AnswerHeld(effects);
  for (auto& [name, feed] : feeds_) EndIfOver(name, feed, effects);
  return effects;
}

absl::StatusOr<FeedTable::Effects> FeedTable::End(const std::string& name) {
  TONY_RETURN_IF_ERROR(CheckFeedName(name));
  Feed* const feed = Find(name);
  if (feed == nullptr) return TooManyFeeds(name);
  Effects effects;
  if (std::exchange(feed->ending, true)) return effects;
  EndIfOver(name, *feed, effects);
  // Only the endpoints can tell the next ApplicationMaster of it.
  if (!feed->ended) ToAll(feed_order::Ending{name}, effects);
  return effects;
}

void FeedTable::EndIfOver(const std::string& name, Feed& feed, Effects& effects) {
  if (!feed.ending || feed.ended || !awaited_.empty() || !feed.leases.empty()) return;
  feed.ended = true;
  ToAll(feed_order::Ended{name}, effects);
}

void FeedTable::ToAll(const FeedOrder& order, Effects& effects) const {
  for (const auto& [container, address] : endpoints_) effects.push_back({container, order});
}

void FeedTable::AnswerHeld(Effects& effects) {
  for (const auto& [container, ask] : std::exchange(held_, {})) Apply(container, ask, effects);
}

std::set<std::string> FeedTable::Containers() const {
  std::set<std::string> containers = awaited_;
  for (const auto& [container, address] : endpoints_) containers.insert(container);
  return containers;
}

std::optional<TimePoint> FeedTable::NextDeadline() const {
  if (awaited_.empty()) return std::nullopt;
  return deadline_;
}

FeedTable::Effects FeedTable::OnTime(TimePoint now) {
  Effects effects;
  if (awaited_.empty() || now < deadline_) return effects;
  awaited_.clear();
  AnswerHeld(effects);
  for (auto& [name, feed] : feeds_) EndIfOver(name, feed, effects);
  return effects;
}

FeedTable::View::State FeedTable::StateOf(const Feed& feed) {
  if (feed.terminated) return View::State::kTerminated;
  if (feed.ended) return View::State::kEnded;
  return feed.ending ? View::State::kEnding : View::State::kOpen;
}

std::vector<FeedTable::View> FeedTable::Views() const {
  std::vector<View> views;
  for (const auto& [name, feed] : feeds_) {
    View view{name, StateOf(feed), feed.partitions, feed.rows, feed.leases.size(), 0};
    for (const auto& [number, waiters] : feed.waiters) view.waiting += waiters.size();
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace tony::core
