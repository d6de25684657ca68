// Readiness, agreement, numbers and fusion.
#include "collective/coordinator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "collective/agreement.h"

namespace tony::collective {
namespace {

/// Of allgather and reducescatter: up to so much, copying it once more is less than one more
/// operation.
constexpr size_t kMostCopiedBytes = size_t{1} << 20;

/// Whether one vector can hold tensors of both.
bool CanShare(const Decision& a, const Decision& b, size_t bytes) {
  const Operation operation = a.kind.operation;
  const bool fused =
      operation == Operation::kAllReduce ||
      ((operation == Operation::kAllGather || operation == Operation::kReduceScatter) &&
       bytes <= kMostCopiedBytes);
  return fused && a.kind == b.kind && a.error.empty() && b.error.empty();
}

/// Of all ranks together, if they do not have the same.
size_t BytesOf(const std::vector<const Request*>& requests) {
  size_t bytes = 0;
  for (const Request* request : requests) {
    if (request == nullptr) continue;
    const size_t own = static_cast<size_t>(request->elements()) * SizeOf(request->kind.type);
    if (request->kind.operation != Operation::kAllGather) return own;
    bytes += own;
  }
  return bytes;
}

/// Of a rank that has submitted it.
const Request& AnyOf(const std::vector<const Request*>& requests) {
  return **std::find_if(requests.begin(), requests.end(),
                        [](const Request* one) { return one != nullptr; });
}

std::pair<std::string, uint32_t> GroupOf(const Request& request) {
  return {request.group, request.group_size};
}

std::vector<int64_t> LengthsOf(const std::vector<const Request*>& requests) {
  std::vector<int64_t> lengths;
  for (const Request* request : requests) {
    if (request->kind.operation == Operation::kAllGather) lengths.push_back(request->shape[0]);
    lengths.insert(lengths.end(), request->splits.begin(), request->splits.end());
  }
  return lengths;
}

}  // namespace

Coordinator::Coordinator(int ranks, Limits limits)
    : ranks_(ranks), limits_(limits), joined_(static_cast<size_t>(ranks)) {}

std::string Coordinator::Submit(int rank, const Submission& submission) {
  for (const TensorId id : submission.known) {
    if (id == 0 || id > names_.size()) {
      return "rank " + std::to_string(rank) + " submits tensor number " + std::to_string(id) +
             ", which nobody has given out";
    }
    std::string wrong = Take(rank, names_[id - 1], nullptr);
    if (!wrong.empty()) return wrong;
  }
  for (const Request& request : submission.requests) {
    std::string wrong = Take(rank, request.name, &request);
    if (!wrong.empty()) return wrong;
  }
  if (!submission.joined) return "";
  if (joined_[static_cast<size_t>(rank)]) return "rank " + std::to_string(rank) + " joins twice";
  joined_[static_cast<size_t>(rank)] = true;
  ++joined_count_;
  // A copy: those that are ready now leave.
  for (const std::string& name : std::vector<std::string>(waiting_.begin(), waiting_.end())) {
    if (IsReady(tensors_[name])) OnReady(name);
  }
  if (joined_count_ < ranks_) return "";
  joined_.assign(joined_.size(), false);
  joined_count_ = 0;
  Unit all;
  all.decision.kind.operation = Operation::kBarrier;
  all.decision.last_joined = rank;
  ready_.push_back(std::move(all));
  return "";
}

std::string Coordinator::Take(int rank, const std::string& name, const Request* request) {
  const auto place = static_cast<size_t>(rank);
  if (joined_[place]) {
    return "rank " + std::to_string(rank) + " submits tensor '" + name + "' after it has joined";
  }
  Tensor& tensor = tensors_[name];
  if (tensor.requests.empty()) {
    tensor.requests.resize(static_cast<size_t>(ranks_));
    tensor.submitted.resize(static_cast<size_t>(ranks_));
  }
  if (tensor.submitted[place]) {
    return "rank " + std::to_string(rank) + " submits tensor '" + name + "' twice";
  }
  if (request != nullptr) {
    tensor.requests[place] = *request;
    tensor.agreed = false;
  }
  tensor.submitted[place] = true;
  ++tensor.count;
  waiting_.insert(name);
  if (IsReady(tensor)) OnReady(name);
  return "";
}

bool Coordinator::IsReady(const Tensor& tensor) const {
  if (joined_count_ == 0) return tensor.count == ranks_;
  int count = tensor.count;
  for (size_t rank = 0; rank < joined_.size(); ++rank) {
    if (joined_[rank] && !tensor.submitted[rank]) ++count;
  }
  return count == ranks_;
}

void Coordinator::OnReady(const std::string& name) {
  waiting_.erase(name);
  Tensor& tensor = tensors_[name];
  const auto requests = RequestsOf(tensor);
  const std::string error = Agree(tensor);
  if (!error.empty()) {
    // Ranks may not agree on the group either.
    std::map<std::string, uint32_t> groups;
    for (const Request* request : requests) {
      if (request != nullptr && !request->group.empty()) groups.insert(GroupOf(*request));
    }
    for (const auto& [group, size] : groups) {
      ++groups_[group].failed;  // this one
      FailGroup(group, size, error);
    }
    PushFailed(name, error);
    return;
  }
  // A copy: with its decision the tensor leaves.
  const auto [group_name, group_size] = GroupOf(AnyOf(requests));
  if (group_name.empty()) {
    PushReady({name});
    return;
  }
  Group& group = groups_[group_name];
  group.members.push_back(name);
  if (!group.error.empty()) {
    FailGroup(group_name, group_size, group.error);
  } else if (group.members.size() == group_size) {
    PushReady(group.members);
    groups_.erase(group_name);
  }
}

/// Copies, since members and the group itself leave.
void Coordinator::FailGroup(std::string name, uint32_t size, std::string error) {
  Group& group = groups_[name];
  group.error = error;
  for (const std::string& member : group.members) PushFailed(member, error);
  group.failed += group.members.size();
  group.members.clear();
  if (group.failed >= size) groups_.erase(name);
}

std::string Coordinator::Agree(Tensor& tensor) const {
  const bool all = tensor.count == ranks_;
  if (tensor.agreed && all) return "";
  std::string error = Disagreement(RequestsOf(tensor));
  tensor.agreed = error.empty() && all;
  return error;
}

void Coordinator::PushFailed(const std::string& name, const std::string& error) {
  Unit unit;
  unit.decision.error = error;
  unit.decision.tensors.push_back({.name = name});
  ready_.push_back(std::move(unit));
  Reset(name);
}

std::vector<const Request*> Coordinator::RequestsOf(const Tensor& tensor) const {
  std::vector<const Request*> requests(static_cast<size_t>(ranks_));
  for (size_t rank = 0; rank < requests.size(); ++rank) {
    if (tensor.submitted[rank]) requests[rank] = &tensor.requests[rank];
  }
  return requests;
}

void Coordinator::PushReady(const std::vector<std::string>& names) {
  std::vector<Unit> units;  // one for each kind
  for (const std::string& name : names) {
    Tensor& tensor = tensors_[name];
    const auto requests = RequestsOf(tensor);
    const Request& request = AnyOf(requests);
    Unit unit;
    unit.decision.kind = request.kind;
    unit.bytes = BytesOf(requests);
    Decided decided = {.name = name, .id = Number(name, tensor), .elements = request.elements()};
    if (tensor.count == ranks_) decided.lengths = LengthsOf(requests);
    unit.decision.tensors.push_back(std::move(decided));
    Reset(name);
    const auto same = std::find_if(units.begin(), units.end(), [&](const Unit& other) {
      return CanShare(other.decision, unit.decision, other.bytes + unit.bytes);
    });
    if (same == units.end()) {
      units.push_back(std::move(unit));
    } else {
      Join(*same, unit);
    }
  }
  std::move(units.begin(), units.end(), std::back_inserter(ready_));
}

void Coordinator::Join(Unit& all, Unit& one) {
  all.bytes += one.bytes;
  std::move(one.decision.tensors.begin(), one.decision.tensors.end(),
            std::back_inserter(all.decision.tensors));
}

TensorId Coordinator::Number(const std::string& name, Tensor& tensor) {
  // What a joined rank would have said nobody knows.
  if (tensor.id != 0 || tensor.count < ranks_ || names_.size() >= limits_.numbers) {
    return tensor.count < ranks_ ? 0 : tensor.id;
  }
  if (seen_.insert(name).second) {
    seen_order_.push_back(name);
    if (seen_order_.size() <= limits_.numbers) return 0;
    seen_.erase(seen_order_.front());
    seen_order_.pop_front();
    return 0;
  }
  names_.push_back(name);
  tensor.id = static_cast<TensorId>(names_.size());
  return tensor.id;
}

void Coordinator::Reset(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found->second.id == 0) {
    tensors_.erase(found);
    return;
  }
  found->second.submitted.assign(found->second.submitted.size(), false);
  found->second.count = 0;
}

std::vector<Decision> Coordinator::Decide() {
  std::vector<Decision> decisions;
  while (!ready_.empty()) decisions.push_back(Fuse());
  return decisions;
}

Decision Coordinator::Fuse() {
  Unit fused = std::move(ready_.front());
  ready_.pop_front();
  std::deque<Unit> others;
  for (Unit& unit : ready_) {
    const size_t bytes = fused.bytes + unit.bytes;
    const bool fits =
        CanShare(fused.decision, unit.decision, bytes) && bytes <= limits_.fusion_bytes;
    if (fits) {
      Join(fused, unit);
    } else {
      others.push_back(std::move(unit));
    }
  }
  ready_ = std::move(others);
  return std::move(fused.decision);
}

std::vector<Coordinator::Awaited> Coordinator::Waiting() const {
  std::vector<Awaited> all;
  for (const std::string& name : waiting_) {
    Awaited awaited = {.name = name};
    const Tensor& tensor = tensors_.at(name);
    for (size_t rank = 0; rank < joined_.size(); ++rank) {
      if (!tensor.submitted[rank] && !joined_[rank]) {
        awaited.missing.push_back(static_cast<int>(rank));
      }
    }
    all.push_back(std::move(awaited));
  }
  return all;
}

}  // namespace tony::collective
