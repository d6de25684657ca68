// A rank's clock runs while at least one tensor waits for that rank alone: each tensor remembers
// its sole missing rank, and each rank counts such tensors.
#include "collective/watch/arrivals.h"

#include <algorithm>
#include <tuple>

namespace tony::collective {

Arrivals::Arrivals(int ranks) : ranks_(static_cast<size_t>(ranks)) {}

bool Arrivals::Submitted(const std::string& name, int rank, const std::vector<int>& members,
                         Deadline now) {
  const bool first = tensors_.empty();
  Tensor& tensor = tensors_[name];
  if (tensor.count == 0) {
    tensor.since = now;
    tensor.members = members;
    tensor.of_all = members.size() == ranks_.size();
    tensor.arrived.resize(ranks_.size());
  }
  tensor.arrived[static_cast<size_t>(rank)] = true;
  ++tensor.count;
  FindSole(tensor, now);
  return first;
}

bool Arrivals::IsMissing(const Tensor& tensor, int rank) const {
  const auto place = static_cast<size_t>(rank);
  return !tensor.arrived[place] && !(tensor.of_all && ranks_[place].joined);
}

void Arrivals::FindSole(Tensor& tensor, Deadline now) {
  if (tensor.sole >= 0) return;
  // A cheap test first: too many ranks are missing. A joined rank that has submitted the tensor
  // before counts twice here, so the exact loop follows.
  if (tensor.count + (tensor.of_all ? joined_ : 0) + 1 < static_cast<int>(tensor.members.size()))
    return;
  int sole = -1;
  for (const int rank : tensor.members) {
    if (!IsMissing(tensor, rank)) continue;
    if (sole >= 0) return;
    sole = rank;
  }
  if (sole < 0) return;
  tensor.sole = sole;
  Rank& waited_for = ranks_[static_cast<size_t>(sole)];
  if (waited_for.tensors++ == 0) waited_for.since = now;
}

void Arrivals::Release(Tensor& tensor, Deadline now) {
  if (tensor.sole < 0) return;
  Rank& waited_for = ranks_[static_cast<size_t>(tensor.sole)];
  if (--waited_for.tensors == 0) waited_for.waited += now - waited_for.since;
  tensor.sole = -1;
}

void Arrivals::Ready(const std::string& name, Deadline now) {
  const auto tensor = tensors_.find(name);
  if (tensor == tensors_.end()) return;
  Release(tensor->second, now);
  tensors_.erase(tensor);
}

void Arrivals::Joined(int rank, Deadline now) {
  // A join may end the wait for the joined rank, and may leave another rank as the only missing
  // one.
  ranks_[static_cast<size_t>(rank)].joined = true;
  ++joined_;
  for (auto& [name, tensor] : tensors_) {
    if (tensor.of_all && tensor.sole == rank) Release(tensor, now);
    FindSole(tensor, now);
  }
}

void Arrivals::AllJoined() {
  for (Rank& rank : ranks_) rank.joined = false;
  joined_ = 0;
}

std::vector<Arrivals::Waiting> Arrivals::Since(Deadline since) const {
  std::vector<Waiting> all;
  for (const auto& [name, tensor] : tensors_) {
    if (tensor.since > since) continue;
    Waiting& waiting = all.emplace_back(Waiting{.name = name, .since = tensor.since});
    for (const int rank : tensor.members) {
      if (tensor.arrived[static_cast<size_t>(rank)]) {
        waiting.arrived.push_back(rank);
      } else if (IsMissing(tensor, rank)) {
        waiting.missing.push_back(rank);
      }
    }
  }
  // Names break ties, so that the order does not depend on the hash table.
  std::sort(all.begin(), all.end(), [](const Waiting& a, const Waiting& b) {
    return std::tie(a.since, a.name) < std::tie(b.since, b.name);
  });
  return all;
}

std::optional<Deadline> Arrivals::Oldest() const {
  std::optional<Deadline> oldest;
  for (const auto& [name, tensor] : tensors_) {
    if (!oldest || tensor.since < *oldest) oldest = tensor.since;
  }
  return oldest;
}

std::vector<std::chrono::nanoseconds> Arrivals::WaitedFor(Deadline now) const {
  std::vector<std::chrono::nanoseconds> waited;
  for (const Rank& rank : ranks_) {
    waited.push_back(rank.waited);
    if (rank.tensors > 0) waited.back() += now - rank.since;
  }
  return waited;
}

}  // namespace tony::collective
