// Three collections hold the state: tensors that wait for ranks, groups that wait for tensors, and
// units that are ready. Fuse() merges ready units greedily into decisions.
#include "collective/engine/coordinator.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "collective/engine/agreement.h"

namespace tony::collective {
namespace {

/// Largest fused allgather or reducescatter on CPUs, in bytes. Fusing these copies the data once
/// more, which up to this size costs less than one more operation. On GPUs the copy would cost two
/// more launches and memory, so there they are never fused.
constexpr size_t kMostCopiedBytes = size_t{1} << 20;

/// Whether one vector of `bytes` can hold the tensors of both decisions.
bool CanShare(const Decision& a, const Decision& b, size_t bytes) {
  const Operation operation = a.kind.operation;
  const bool fused =
      operation == Operation::kAllReduce ||
      ((operation == Operation::kAllGather || operation == Operation::kReduceScatter) &&
       a.kind.device == DeviceType::kCpu && bytes <= kMostCopiedBytes);
  return fused && a.kind == b.kind && a.error.empty() && b.error.empty();
}

/// Bytes of the operation's vector: of an allgather the sum over all ranks, whose lengths differ;
/// of anything else the bytes of one rank, which are the same on all.
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

/// The request of any rank that has submitted the tensor.
const Request& AnyOf(const std::vector<const Request*>& requests) {
  return **std::find_if(requests.begin(), requests.end(),
                        [](const Request* one) { return one != nullptr; });
}

std::vector<int64_t> LengthsOf(const std::vector<const Request*>& requests) {
  if (requests[0]->kind.operation == Operation::kAddSet) return requests[0]->members;
  std::vector<int64_t> lengths;
  for (const Request* request : requests) {
    if (request->kind.operation == Operation::kAllGather) lengths.push_back(request->shape[0]);
    lengths.insert(lengths.end(), request->splits.begin(), request->splits.end());
  }
  return lengths;
}

std::vector<int> Count(int ranks) {
  std::vector<int> members(static_cast<size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

}  // namespace

Coordinator::Coordinator(int ranks, Limits limits, SubmissionWatch* watch)
    : Coordinator(kAllRanks, Count(ranks), limits, watch) {}

Coordinator::Coordinator(SetId set, std::vector<int> members, Limits limits, SubmissionWatch* watch)
    : set_(set),
      members_(std::move(members)),
      ranks_(static_cast<int>(members_.size())),
      limits_(limits),
      watch_(watch),
      joined_(members_.size()) {}

size_t Coordinator::IndexOf(int64_t rank) const {
  const auto found = std::lower_bound(members_.begin(), members_.end(), rank);
  return found == members_.end() || *found != rank ? members_.size()
                                                   : static_cast<size_t>(found - members_.begin());
}

std::string Coordinator::Submit(int rank, const Submission& submission) {
  const size_t place = IndexOf(rank);
  if (place == members_.size() || (submission.joined && set_ != kAllRanks)) {
    return "rank " + std::to_string(rank) + " submits to process set " + std::to_string(set_) +
           " what it cannot";
  }
  for (const TensorId id : submission.known) {
    if (id == 0 || id > names_.size()) {
      return RankText(place) + " submits tensor number " + std::to_string(id) +
             ", which nobody has given out";
    }
    std::string wrong = Take(place, names_[id - 1], nullptr);
    if (!wrong.empty()) return wrong;
  }
  for (const Request& request : submission.requests) {
    if (set_ != kAllRanks && ChangesSets(request.kind.operation)) {
      return RankText(place) + " submits to process set " + std::to_string(set_) +
             " what only all ranks do: process sets are made and removed by all";
    }
    // The engine checks the shapes of its own tensors before it submits them, so a wrong shape here
    // is a violation of the protocol.
    std::string fault = request.ShapeFault();
    if (!fault.empty()) return RankText(place) + " submits what it cannot: " + fault;
    std::string wrong = Take(place, request.name, &request);
    if (!wrong.empty()) return wrong;
  }
  if (!submission.joined) return "";
  if (joined_[place]) return RankText(place) + " joins twice";
  TakeJoin(place);
  return "";
}

void Coordinator::TakeJoin(size_t place) {
  joined_[place] = true;
  ++joined_count_;
  if (watch_ != nullptr) watch_->OnJoined(members_[place]);
  // The loops below go over copies, since OnReady() and Settle() remove elements.
  for (const std::string& name : std::vector<std::string>(waiting_.begin(), waiting_.end())) {
    if (waiting_.contains(name) && IsReady(tensors_[name])) OnReady(name);
  }
  std::vector<std::string> groups;
  for (const auto& [name, group] : groups_) groups.push_back(name);
  for (const std::string& name : groups) Settle(name);
  // The last join clears all joins. A barrier at the end of the queue tells the ranks, after
  // everything that was ready before.
  if (joined_count_ < ranks_) return;
  if (watch_ != nullptr) watch_->OnAllJoined();
  joined_.assign(joined_.size(), false);
  joined_count_ = 0;
  Unit all;
  all.decision.kind.operation = Operation::kBarrier;
  all.decision.last_joined = members_[place];
  ready_.push_back(std::move(all));
}

std::string Coordinator::Take(size_t place, const std::string& name, const Request* request) {
  if (joined_[place]) {
    return RankText(place) + " submits tensor '" + name + "' after it has joined";
  }
  Tensor& tensor = tensors_[name];
  if (tensor.requests.empty()) {
    tensor.requests.resize(members_.size());
    tensor.submitted.resize(members_.size());
  }
  if (tensor.submitted[place]) return RankText(place) + " submits tensor '" + name + "' twice";
  // Without a request the rank has sent the tensor's number: its last request counts, which may
  // have been compared already.
  if (request != nullptr) {
    tensor.requests[place] = *request;
    tensor.agreed = false;
  }
  // A copy, since the tensor may be erased by its decision before the name is used below.
  const std::string group = tensor.requests[place].group;
  if (std::string wrong = TakeIntoGroup(place, tensor.requests[place]); !wrong.empty()) {
    return wrong;
  }
  tensor.submitted[place] = true;
  ++tensor.count;
  waiting_.insert(name);
  if (watch_ != nullptr) watch_->OnSubmitted(WatchedName(set_, name), members_[place], members_);
  if (IsReady(tensor)) {
    OnReady(name);
  } else if (!group.empty()) {
    Settle(group);
  }
  return "";
}

std::string Coordinator::TakeIntoGroup(size_t place, const Request& request) {
  if (request.group.empty()) return "";
  const std::string what = RankText(place) + " submits group '" + request.group + "' of ";
  if (request.group_size == 0) return what + "no tensors";
  Group& group = groups_[request.group];
  group.sizes.resize(members_.size());
  group.counts.resize(members_.size());
  uint32_t& size = group.sizes[place];
  if (size != 0 && size != request.group_size) {
    group.error =
        what + std::to_string(size) + " tensors and of " + std::to_string(request.group_size);
  }
  // After a contradiction the larger size counts: the group is over only when so many of its
  // tensors have come.
  size = std::max(size, request.group_size);
  ++group.counts[place];
  if (std::find(group.names.begin(), group.names.end(), request.name) == group.names.end()) {
    group.names.push_back(request.name);
  }
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

void Coordinator::EndWait(const std::string& name) {
  if (waiting_.erase(name) > 0 && watch_ != nullptr) watch_->OnReady(WatchedName(set_, name));
}

void Coordinator::GiveUp() {
  for (const std::string& name : std::vector<std::string>(waiting_.begin(), waiting_.end())) {
    EndWait(name);
  }
}

void Coordinator::OnReady(const std::string& name) {
  EndWait(name);
  Tensor& tensor = tensors_[name];
  // Ranks may disagree on the group as well, so the tensor can be in several.
  std::set<std::string> groups;
  for (const Request* request : RequestsOf(tensor)) {
    if (request != nullptr && !request->group.empty()) groups.insert(request->group);
  }
  const std::string error = Agree(tensor);
  if (error.empty() && groups.empty()) return PushReady({name});
  if (!error.empty()) {
    PushFailed(name, error);
    for (const std::string& group : groups) {
      std::erase(groups_[group].names, name);
      if (groups_[group].error.empty()) groups_[group].error = error;
    }
  }
  for (const std::string& group : groups) Settle(group);
}

bool Coordinator::IsComplete(const Group& group) const {
  for (size_t place = 0; place < members_.size(); ++place) {
    const bool all = group.sizes[place] > 0 && group.counts[place] >= group.sizes[place];
    if (!all && !joined_[place]) return false;
  }
  return true;
}

std::string Coordinator::Gap(const std::string& name, const Group& group) const {
  for (const std::string& tensor_name : group.names) {
    const Tensor& tensor = tensors_.at(tensor_name);
    if (IsReady(tensor)) continue;
    const auto has = std::find(tensor.submitted.begin(), tensor.submitted.end(), true);
    size_t lacks = 0;
    while (tensor.submitted[lacks] || joined_[lacks]) ++lacks;
    return "group '" + name +
           "': " + RankText(static_cast<size_t>(has - tensor.submitted.begin())) +
           " submits tensor '" + tensor_name + "' in it, " + RankText(lacks) + " does not";
  }
  return "";
}

std::string Coordinator::AgreeOnWaiting(const Group& group) {
  for (const std::string& name : group.names) {
    if (!waiting_.contains(name)) continue;  // OnReady() has compared its requests
    EndWait(name);
    if (std::string error = Agree(tensors_[name]); !error.empty()) return error;
  }
  return "";
}

void Coordinator::Settle(const std::string& name) {
  const auto found = groups_.find(name);
  if (found == groups_.end()) return;
  Group& group = found->second;
  const bool complete = IsComplete(group);
  if (complete && group.error.empty()) group.error = Gap(name, group);
  // A join makes all tensors of a group ready at once. OnReady() settles the group at the first of
  // them, before the others' requests were compared.
  if (complete && group.error.empty()) group.error = AgreeOnWaiting(group);
  if (!group.error.empty()) return FailGroup(name, group, complete);
  if (!complete) return;
  const std::vector<std::string> names = std::move(group.names);
  groups_.erase(found);
  PushReady(names);
}

void Coordinator::FailGroup(const std::string& name, Group& group, bool complete) {
  const std::string error = group.error;
  std::set<std::string> others;  // groups in which some ranks have a tensor that fails here
  for (const std::string& tensor : std::exchange(group.names, {})) {
    if (!complete && !IsReady(tensors_[tensor])) {
      group.names.push_back(tensor);
      continue;
    }
    EndWait(tensor);
    PushFailed(tensor, error);
    for (auto& [other_name, other] : groups_) {
      if (std::erase(other.names, tensor) == 0) continue;
      if (other.error.empty()) other.error = error;
      others.insert(other_name);
    }
  }
  // The group keeps its error until none of its tensors can come any more.
  bool over = group.names.empty();
  for (size_t place = 0; place < members_.size(); ++place) {
    over = over && group.counts[place] >= group.sizes[place];
  }
  if (complete || over) groups_.erase(name);
  for (const std::string& other : others) Settle(other);
}

std::string Coordinator::Agree(Tensor& tensor) const {
  // Requests that have been compared are not compared again until one of them changes. With a
  // joined rank they are: whether the operation can do without that rank depends on who has joined.
  const bool all = tensor.count == ranks_;
  if (tensor.agreed && all) return "";
  std::string error = Disagreement(RequestsOf(tensor), members_);
  tensor.agreed = error.empty() && all;
  return error;
}

void Coordinator::PushFailed(const std::string& name, const std::string& error) {
  Unit unit;
  unit.decision.set = set_;
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
    unit.decision.set = set_;
    unit.decision.subject = request.subject;
    unit.decision.kind = request.kind;
    if (request.kind.operation == Operation::kBroadcast) {
      unit.decision.kind.root = static_cast<int32_t>(IndexOf(request.kind.root));
    }
    unit.bytes = BytesOf(requests);
    Decided decided = {.name = name, .id = Number(name, tensor), .elements = request.elements()};
    // Lengths need the requests of all ranks. If a rank has joined, the operation is an allreduce
    // (agreement.h), which has no lengths.
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
  // A tensor gets no number while a rank has joined: that rank has sent no request, so a number
  // would stand for an unknown one.
  if (tensor.id != 0 || tensor.count < ranks_ || names_.size() >= limits_.numbers) {
    return tensor.count < ranks_ ? 0 : tensor.id;
  }
  // The first time a name is only remembered, in a bounded FIFO: a number that is given out is
  // never taken back, so names that come once must not use up the table.
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
  // A tensor with a number keeps its requests, for ranks that submit the number the next time.
  found->second.submitted.assign(found->second.submitted.size(), false);
  found->second.count = 0;
}

std::vector<Decision> Coordinator::Decide() {
  std::vector<Decision> decisions;
  while (!ready_.empty()) decisions.push_back(Fuse());
  return decisions;
}

bool Coordinator::MayGrow() const {
  size_t bytes = 0;
  // A unit that is never fused, or a full fusion buffer, is not worth a wait.
  return std::all_of(ready_.begin(), ready_.end(), [&](const Unit& unit) {
    bytes += unit.bytes;
    return CanShare(unit.decision, unit.decision, unit.bytes) && bytes < limits_.fusion_bytes;
  });
}

Decision Coordinator::Fuse() {
  // Greedy: units behind one that does not fit are still tried. Skipped units keep their order, so
  // the oldest one starts the next decision and none is skipped for ever.
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

}  // namespace tony::collective
