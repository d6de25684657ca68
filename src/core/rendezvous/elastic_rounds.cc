// Every input leads to Advance(), which looks at the whole state and begins a round, notifies rank
// 0, or fails the job; so no order of inputs can be missed.
#include "core/rendezvous/elastic_rounds.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "core/rendezvous/worker_hosts.h"

namespace tony::core {
namespace {

constexpr size_t kMostNamed = 8;

std::string Count(size_t number, const std::string& what) {
  return absl::StrCat(number, " ", what, number == 1 ? "" : "es");
}

}  // namespace

ElasticEffects ElasticRounds::OnMembers(std::vector<ElasticMember> members, bool finished,
                                        TimePoint now) {
  members_ = std::move(members);
  finished_ = finished_ || finished;
  alive_.clear();
  for (const ElasticMember& member : members_) alive_.insert(member.name);
  return Advance(now);
}

ElasticEffects ElasticRounds::OnAsked(const std::string& host, int local_rank, TimePoint now) {
  const ElasticAssignment* place = SlotAt(host, local_rank);
  // A process that is taken for dead has no say in the next round.
  if (place == nullptr || !Lives(*place)) return {};
  asked_.insert(place->member);
  return Advance(now);
}

ElasticEffects ElasticRounds::OnAddress(const std::string& host, int local_rank, Blob address) {
  const ElasticAssignment* place = SlotAt(host, local_rank);
  if (place == nullptr || failed_) return {};
  addresses_[place->member] = std::move(address);
  return NotifyIfChanged();
}

ElasticEffects ElasticRounds::OnTick(TimePoint now) {
  const std::optional<TimePoint> deadline = NextDeadline();
  if (!deadline || now < *deadline) return {};
  RendezvousWait wait = DescribeWait();
  return Fail(
      absl::StrCat("The job did not go on within ",
                   std::chrono::duration_cast<std::chrono::seconds>(policy_.patience).count(),
                   " s (tony.horovod.elastic-timeout-sec): ", wait.sentence),
      std::move(wait.missing));
}

std::optional<TimePoint> ElasticRounds::NextDeadline() const {
  if (failed_ || !gathering_since_) return std::nullopt;
  return *gathering_since_ + policy_.patience;
}

ElasticEffects ElasticRounds::Advance(TimePoint now) {
  if (failed_) return {};
  // Gathering starts when a process of the round asks or is gone. If neither holds, the round runs.
  if (round_ >= 0) {
    const bool anybody =
        std::any_of(slots_.begin(), slots_.end(),
                    [this](const ElasticAssignment& place) { return Lives(place); });
    if (!anybody && finished_) return {};
    if (!anybody) return Fail(came_ ? kNobodyLeft : kNobodyCame);
    if (asked_.empty() && AllLive()) {
      gathering_since_.reset();
      return NotifyIfChanged();
    }
  }
  // The limit of patience runs from the start of the gathering, whatever happens during it.
  if (!gathering_since_) gathering_since_ = now;
  if (!Silent().empty()) return NotifyIfChanged();
  if (policy_.resets > 0 && round_ >= policy_.resets) {
    return Fail(absl::StrCat("The job has begun anew ", round_,
                             " times, which is the limit (tony.horovod.reset-limit)"));
  }
  absl::StatusOr<std::vector<ElasticAssignment>> places = Plan();
  if (absl::IsResourceExhausted(places.status())) return {};
  if (!places.ok()) return Fail(std::string(places.status().message()));
  return Begin(*std::move(places));
}

// The hosts count members, not processes: a survivor keeps its place, and each free place takes the
// next newcomer of its host in the order of the member list.
absl::StatusOr<std::vector<ElasticAssignment>> ElasticRounds::Plan() const {
  std::vector<HostSlots> hosts;
  std::map<std::string, std::vector<std::string>> newcomers;  // by host
  for (const ElasticMember& member : members_) {
    const bool survives = HasSlot(member.name);
    if (!survives && finished_) continue;
    auto host = std::find_if(hosts.begin(), hosts.end(),
                             [&](const HostSlots& other) { return other.host == member.host; });
    if (host == hosts.end()) {
      hosts.push_back({member.host, 1});
    } else {
      ++host->slots;
    }
    if (!survives) newcomers[member.host].push_back(member.name);
  }
  const auto next_on = [&newcomers](const std::string& host) {
    std::vector<std::string>& names = newcomers[host];
    std::string name = names.front();
    names.erase(names.begin());
    return name;
  };
  std::vector<ElasticAssignment> places;
  // The first round has no survivors, so the members are ranked in their order.
  if (round_ < 0) {
    const int there = static_cast<int>(members_.size());
    if (there < policy_.size.least) return absl::ResourceExhaustedError("too few members");
    TONY_ASSIGN_OR_RETURN(const std::vector<Slot> plan,
                          PlanSlots(hosts, std::min(there, policy_.size.most)));
    for (const Slot& slot : plan) places.push_back({next_on(slot.host), slot});
    return places;
  }
  std::vector<Slot> survivors;
  for (const ElasticAssignment& place : slots_) {
    if (Lives(place)) survivors.push_back(place.slot);
  }
  // A job that is ending goes on with any number of survivors.
  ElasticSize size = policy_.size;
  if (finished_) size.least = 1;
  TONY_ASSIGN_OR_RETURN(const std::vector<ElasticSlot> plan, PlanNextRound(hosts, survivors, size));
  for (const ElasticSlot& next : plan) {
    if (!next.previous_rank) {
      places.push_back({next_on(next.slot.host), next.slot});
      continue;
    }
    const ElasticAssignment& before = slots_[static_cast<size_t>(*next.previous_rank)];
    places.push_back({before.member, next.slot, before.slot});
  }
  return places;
}

ElasticEffects ElasticRounds::Begin(std::vector<ElasticAssignment> places) {
  slots_ = std::move(places);
  asked_.clear();
  gathering_since_.reset();
  // Members that are there at the beginning need no notification; those that go or come later do.
  notified_ = alive_;
  std::erase_if(addresses_, [this](const auto& entry) { return !HasSlot(entry.first); });
  return {elastic::Begin{++round_, slots_}};
}

ElasticEffects ElasticRounds::Fail(std::string sentence, std::vector<std::string> missing) {
  failed_ = true;
  return {elastic::Fail{std::move(sentence), std::move(missing)}};
}

ElasticEffects ElasticRounds::NotifyIfChanged() {
  // A growth that finds no room is not worth a round. A process that has asked already, or whose
  // address is not known, cannot be told.
  if (finished_ || slots_.empty() || notified_ == alive_ || (AllLive() && !MayGrow())) return {};
  const ElasticAssignment& first = slots_.front();
  const auto address = addresses_.find(first.member);
  if (!Lives(first) || asked_.contains(first.member) || address == addresses_.end()) return {};
  notified_ = alive_;
  return {elastic::Notify{first.member, address->second, ++timestamp_}};
}

const ElasticAssignment* ElasticRounds::SlotAt(const std::string& host, int local_rank) const {
  for (const ElasticAssignment& place : slots_) {
    if (place.slot.host == host && place.slot.local_rank == local_rank) return &place;
  }
  return nullptr;
}

bool ElasticRounds::HasSlot(const std::string& member) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [&member](const ElasticAssignment& place) { return place.member == member; });
}

bool ElasticRounds::AllLive() const {
  return std::all_of(slots_.begin(), slots_.end(),
                     [this](const ElasticAssignment& place) { return Lives(place); });
}

bool ElasticRounds::MayGrow() const {
  return static_cast<int>(slots_.size()) < policy_.size.most &&
         std::any_of(members_.begin(), members_.end(),
                     [this](const ElasticMember& member) { return !HasSlot(member.name); });
}

std::vector<const ElasticAssignment*> ElasticRounds::Silent() const {
  std::vector<const ElasticAssignment*> silent;
  for (const ElasticAssignment& place : slots_) {
    if (Lives(place) && !asked_.contains(place.member)) silent.push_back(&place);
  }
  return silent;
}

RendezvousWait ElasticRounds::DescribeWait() const {
  if (!gathering_since_) return {};
  const std::vector<const ElasticAssignment*> silent = Silent();
  if (silent.empty()) {
    return {absl::StrCat(Count(members_.size(), "process"), members_.size() == 1 ? " is" : " are",
                         " there, and the job needs at least ", policy_.size.least,
                         " (tony.worker.min-instances); no other container has come"),
            {}};
  }
  RendezvousWait wait;
  std::vector<std::string> names;
  for (const ElasticAssignment* place : silent) {
    wait.missing.push_back(TaskOfMember(place->member));
    if (names.size() < kMostNamed) names.push_back(NameOfRank(wait.missing.back(), place->slot));
  }
  if (silent.size() > names.size()) {
    names.push_back(absl::StrCat("and ", silent.size() - names.size(), " more"));
  }
  wait.sentence = absl::StrCat(absl::StrJoin(names, ", "), silent.size() == 1 ? " has" : " have",
                               " not asked for a place in the next round");
  return wait;
}

}  // namespace tony::core
