// Submissions of ranks to the coordinator, from other processes of the job. The input is a list of
// steps of three ranks, each a few bytes.
//
// Besides not crashing, by a model of what was submitted: nothing is done with a tensor that not
// all ranks of its set have submitted, or with another operation than they asked for; what all have
// submitted is decided at once; decisions are for ranks of the job and can be sent.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collective/engine/set_coordinators.h"
#include "collective/request/wire.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

using collective::Decision;
using collective::Operation;
using collective::Request;
using collective::SetId;
using collective::Submission;

constexpr int kRanks = 3;
constexpr int kMostSteps = 300;

Request ReadRequest(InputReader& reader, SetId set) {
  Request request{.name = std::string(1, static_cast<char>('a' + reader.Byte() % 6)), .set = set};
  const uint8_t kind = reader.Byte();
  request.kind.operation = static_cast<Operation>(kind % collective::kOperations);
  request.kind.device = static_cast<collective::DeviceType>(kind / 8 % 2);
  request.kind.root = reader.Byte() % 4;
  for (int i = kind / 16 % 4; i > 0; --i) request.shape.push_back(reader.Byte() % 5);
  const uint8_t more = reader.Byte();
  if (more % 2 == 1) request.group = std::string(1, static_cast<char>('A' + more / 2 % 3));
  if (more % 2 == 1) request.group_size = more / 8 % 4;
  if (request.kind.operation == Operation::kAllToAll) {
    for (int i = 0; i < kRanks; ++i) request.splits.push_back(reader.Byte() % 3);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    if ((more >> (5 + rank)) % 2 == 0) request.members.push_back(rank);
  }
  if (request.kind.operation == Operation::kRemoveSet) request.subject = more / 16 % 4;
  if (more == 255) request.fault = "it cannot take part";
  return request;
}

/// The submissions of ranks that have no answer yet. Not thread safe.
class Model {
 public:
  void OnSubmitted(int rank, const Submission& submission) {
    for (const Request& request : submission.requests) {
      tensors_[{submission.set, request.name}][rank] = request;
      last_[{submission.set, request.name}][rank] = request;
      if (!request.group.empty()) grouped_ = true;
    }
    for (const collective::TensorId id : submission.known) {
      const auto name = numbers_.find({submission.set, id});
      Require(name != numbers_.end(), "only a number that was given out stands for a tensor");
      const Key key{submission.set, name->second};
      tensors_[key][rank] = last_[key][rank];
    }
    if (!submission.joined) return;
    joined_.insert(rank);
    excused_.insert(rank);
    if (joined_.size() < kRanks) return;
    joined_.clear();
    ++all_joined_;
  }

  /// It waits for the answer to one of these.
  bool Awaits(int rank, const Submission& submission) const {
    return std::any_of(submission.requests.begin(), submission.requests.end(),
                       [&](const Request& request) {
                         const auto found = tensors_.find({submission.set, request.name});
                         return found != tensors_.end() && found->second.contains(rank);
                       });
  }

  void OnDecision(const Decision& decision, const std::vector<int>& members) {
    Require(!members.empty() && std::is_sorted(members.begin(), members.end()) &&
                members.front() >= 0 && members.back() < kRanks,
            "a decision is for ranks of the job");
    auto read = collective::DecodeDecision(collective::Encode(decision));
    Require(read.ok() && *read == decision, "a decision can be sent");
    for (const collective::Decided& tensor : decision.tensors) {
      const Key key{decision.set, tensor.name};
      const bool known = !uncertain_.contains(key);
      Require(!known || tensors_.contains(key), "what is decided was submitted");
      if (decision.error.empty() && known) CheckAgreed(decision, tensors_[key], members);
      // One that has failed for some ranks, with its group, may have been submitted by others
      // since.
      if (!decision.error.empty()) uncertain_.insert(key);
      tensors_.erase(key);
      if (tensor.id != 0) numbers_[{decision.set, tensor.id}] = tensor.name;
    }
    if (decision.tensors.empty()) {
      Require(all_joined_ > 0 && decision.last_joined >= 0, "all ranks have joined");
      --all_joined_;
    }
    if (!decision.error.empty()) return;
    if (decision.kind.operation == Operation::kAddSet) sets_[decision.subject] = ToInts(decision);
    if (decision.kind.operation == Operation::kRemoveSet) Forget(decision.subject);
  }

  /// All that is ready has been decided.
  void CheckNothingIsLeft() {
    Require(all_joined_ == 0, "the join of all ranks is decided");
    excused_ = joined_;
    if (grouped_) return;  // a tensor waits for the others of its group
    for (const auto& [key, requests] : tensors_) {
      const auto set = sets_.find(key.first);
      Require(set == sets_.end() || requests.size() < set->second.size(),
              "what all ranks have submitted is decided");
    }
  }

 private:
  void CheckAgreed(const Decision& decision, const std::map<int, Request>& requests,
                   const std::vector<int>& members) const {
    for (const int rank : members) {
      const bool joined = decision.set == collective::kAllRanks && excused_.contains(rank);
      Require(joined || requests.contains(rank), "nothing is done that a rank has not submitted");
    }
    for (const auto& [rank, request] : requests) {
      Require(request.kind.operation == decision.kind.operation, "it is done as it was asked for");
      Require(request.fault.empty(), "nothing is done with a rank that cannot take part");
    }
  }

  static std::vector<int> ToInts(const Decision& decision) {
    const std::vector<int64_t>& ranks = decision.tensors[0].lengths;
    return {ranks.begin(), ranks.end()};
  }

  void Forget(SetId set) {
    sets_.erase(set);
    std::erase_if(tensors_, [&](const auto& entry) { return entry.first.first == set; });
  }

  using Key = std::pair<SetId, std::string>;

  std::map<Key, std::map<int, Request>> tensors_;
  std::map<Key, std::map<int, Request>> last_;  ///< as each rank has described it last
  std::set<Key> uncertain_;
  std::map<std::pair<SetId, collective::TensorId>, std::string> numbers_;
  std::map<SetId, std::vector<int>> sets_{{collective::kAllRanks, {0, 1, 2}}};
  std::set<int> joined_;
  std::set<int> excused_;  ///< that were joined at some time since the last decisions
  int all_joined_ = 0;     ///< how often all were since then
  bool grouped_ = false;
};

void DecideAll(collective::SetCoordinators& coordinators, Model& model) {
  while (true) {
    const auto decided = coordinators.Decide(/*idle=*/true);
    for (const auto& [decision, members] : decided) model.OnDecision(decision, *members);
    for (SetId set = 0; set < 8; ++set) coordinators.OnIdle(set);
    if (decided.empty()) break;
  }
  model.CheckNothingIsLeft();
}

}  // namespace

void FuzzCollectiveCoordinator(std::string_view input) {
  InputReader reader(input);
  collective::SetCoordinators coordinators(kRanks, {.fusion_bytes = 64, .numbers = 4});
  Model model;
  for (int step = 0; step < kMostSteps && !reader.AtEnd(); ++step) {
    const uint8_t what = reader.Byte();
    const int rank = what % kRanks;
    Submission submission{.set = static_cast<SetId>(what / 4 % 4)};
    if (what >= 250) {
      submission = {.joined = true};
    } else if (what >= 240) {
      submission.known = {reader.Byte() % 6U};
    } else {
      submission.requests.push_back(ReadRequest(reader, submission.set));
    }
    auto received = collective::DecodeSubmission(collective::Encode(submission));
    Require(received.ok() && *received == submission, "a submission can be sent");
    // No rank submits anew what it has heard nothing of.
    if (model.Awaits(rank, submission)) DecideAll(coordinators, model);
    if (!coordinators.Submit(rank, *received).empty()) return;  // the rank has to end
    model.OnSubmitted(rank, submission);
    // A rank that has joined receives all decisions before it continues.
    if (what % 2 == 0 || submission.joined) DecideAll(coordinators, model);
  }
  DecideAll(coordinators, model);
}

}  // namespace tony::fuzz
