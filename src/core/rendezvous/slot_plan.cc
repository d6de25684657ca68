// Slots are first counted for each host and then numbered in one pass.
#include "core/rendezvous/slot_plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::core {
namespace {

bool FitsIntoPath(const std::string& host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), IsHostCharacter);
}

absl::Status CheckHosts(const std::vector<HostSlots>& hosts) {
  std::set<std::string> seen;
  for (const HostSlots& host : hosts) {
    if (!FitsIntoPath(host.host)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", host.host,
                       "' cannot be the name of a Horovod host, which has letters, digits, '.', "
                       "'_' and '-' only; give it another name"));
    }
    if (host.slots < 1) {
      return absl::InvalidArgumentError(absl::StrCat("host ", host.host, " has ", host.slots,
                                                     " slots; leave it out or give it one"));
    }
    if (!seen.insert(host.host).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "host ", host.host,
          " is named twice, and its local ranks would clash; name it once with all its slots, or, "
          "if these are two machines, give them two names"));
    }
  }
  return absl::OkStatus();
}

int64_t SumOfSlots(const std::vector<HostSlots>& hosts) {
  int64_t sum = 0;
  for (const HostSlots& host : hosts) sum += host.slots;
  return sum;
}

std::string Count(int64_t number, const char* what) {
  return absl::StrCat(number, " ", what, number == 1 ? "" : "s");
}

absl::Status TooFewSlots(int64_t processes, int64_t slots, size_t hosts) {
  return absl::ResourceExhaustedError(absl::StrCat(
      processes, processes == 1 ? " process is" : " processes are", " wanted, and there ",
      slots == 1 ? "is " : "are ", Count(slots, "slot"), " on ",
      Count(static_cast<int64_t>(hosts), "host"), "; ask for fewer processes or give more slots"));
}

/// Numbers the slots. `taken`: each host with the number of its slots in use, at least one.
std::vector<Slot> NumberSlots(const std::vector<HostSlots>& taken) {
  std::vector<Slot> plan;
  std::map<int, int> hosts_with;  // number of hosts that have this local rank
  const int size = static_cast<int>(SumOfSlots(taken));
  for (const HostSlots& host : taken) {
    for (int local_rank = 0; local_rank < host.slots; ++local_rank) {
      const int rank = static_cast<int>(plan.size());
      plan.push_back({.host = host.host,
                      .rank = rank,
                      .size = size,
                      .local_rank = local_rank,
                      .local_size = host.slots,
                      .cross_rank = hosts_with[local_rank]++});
    }
  }
  for (Slot& slot : plan) slot.cross_size = hosts_with[slot.local_rank];
  return plan;
}

/// A host during the planning of the next round.
struct NextHost {
  std::string host;
  int slots = 0;
  std::vector<int> survivors;  ///< previous ranks, ascending
  int taken = 0;
};

/// The hosts in the order of the next round.
std::vector<NextHost> OrderHosts(const std::vector<HostSlots>& hosts,
                                 const std::vector<Slot>& survivors) {
  std::map<std::string, std::vector<int>> ranks_on;
  for (const Slot& survivor : survivors) ranks_on[survivor.host].push_back(survivor.rank);
  std::vector<NextHost> order;
  for (const HostSlots& host : hosts) {
    std::vector<int> ranks = ranks_on[host.host];
    std::sort(ranks.begin(), ranks.end());
    order.push_back({host.host, host.slots, std::move(ranks)});
  }
  // The sort is stable: hosts without survivors compare as equal and keep the given order.
  std::stable_sort(order.begin(), order.end(), [](const NextHost& one, const NextHost& other) {
    if (one.survivors.empty() || other.survivors.empty()) {
      return !one.survivors.empty() && other.survivors.empty();
    }
    return one.survivors.front() < other.survivors.front();
  });
  return order;
}

/// Fills in `taken` for each host; returns how many places are taken in all.
int TakeSlots(std::vector<NextHost>& hosts, int most) {
  int left = most;
  // Two passes: every survivor is placed before the first new process, even on a later host.
  for (NextHost& host : hosts) {
    host.taken = std::min({left, host.slots, static_cast<int>(host.survivors.size())});
    host.survivors.resize(static_cast<size_t>(host.taken));
    left -= host.taken;
  }
  for (NextHost& host : hosts) {
    const int more = std::min(left, host.slots - host.taken);
    host.taken += more;
    left -= more;
  }
  return most - left;
}

}  // namespace

bool IsHostCharacter(char character) {
  return absl::ascii_isalnum(static_cast<unsigned char>(character)) || character == '.' ||
         character == '_' || character == '-';
}

absl::StatusOr<std::vector<Slot>> PlanSlots(const std::vector<HostSlots>& hosts, int processes) {
  TONY_RETURN_IF_ERROR(CheckHosts(hosts));
  if (processes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a Horovod job with ", processes, " processes; ask for at least one"));
  }
  const int64_t slots = SumOfSlots(hosts);
  if (slots < processes) return TooFewSlots(processes, slots, hosts.size());
  std::vector<HostSlots> taken;
  int left = processes;
  for (const HostSlots& host : hosts) {
    if (left == 0) break;
    taken.push_back({host.host, std::min(left, host.slots)});
    left -= taken.back().slots;
  }
  return NumberSlots(taken);
}

absl::StatusOr<std::vector<ElasticSlot>> PlanNextRound(const std::vector<HostSlots>& hosts,
                                                       const std::vector<Slot>& survivors,
                                                       ElasticSize size) {
  TONY_RETURN_IF_ERROR(CheckHosts(hosts));
  if (size.least < 1 || size.most < size.least) {
    return absl::InvalidArgumentError(
        absl::StrCat("an elastic job of ", size.least, " to ", size.most,
                     " processes; the least is 1, and the most is not below the least"));
  }
  std::vector<NextHost> order = OrderHosts(hosts, survivors);
  if (order.empty() || order.front().survivors.empty()) {
    return absl::FailedPreconditionError(
        "no process of the last round is left, so nobody has the job's state; start the job "
        "again, from its checkpoint");
  }
  const int places = TakeSlots(order, size.most);
  if (places < size.least) return TooFewSlots(size.least, places, hosts.size());

  std::vector<HostSlots> taken;
  std::vector<ElasticSlot> plan;
  for (const NextHost& host : order) {
    if (host.taken > 0) taken.push_back({host.host, host.taken});
  }
  for (Slot& slot : NumberSlots(taken)) plan.push_back({.slot = std::move(slot)});
  // NumberSlots() numbers each host's slots in sequence, so the host's survivors are its first
  // places.
  auto place = plan.begin();
  for (const NextHost& host : order) {
    for (size_t i = 0; i < host.survivors.size(); ++i) {
      (place + static_cast<int>(i))->previous_rank = host.survivors[i];
    }
    place += host.taken;
  }
  return plan;
}

}  // namespace tony::core
