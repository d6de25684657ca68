// Each request is checked on its own first, then against the first request, and last it is checked
// whether the operation can do without the ranks that have joined. The first fault that is found is
// the sentence.
#include "collective/engine/agreement.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>

namespace tony::collective {
namespace {

const char* NameOf(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return "allreduce";
    case Operation::kAllGather:
      return "allgather";
    case Operation::kBroadcast:
      return "broadcast";
    case Operation::kReduceScatter:
      return "reducescatter";
    case Operation::kAllToAll:
      return "alltoall";
    case Operation::kBarrier:
      return "barrier";
    case Operation::kAddSet:
      return "add_process_set";
    case Operation::kRemoveSet:
      return "remove_process_set";
  }
  return "";
}

/// A form that is read back as the same number: 17 digits identify every double.
std::string NumberText(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", number);
  return text;
}

/// The request's name in sentences: "tensor 'w'" or "process set 'evens'".
std::string Called(const Request& request) {
  return (ChangesSets(request.kind.operation) ? "process set '" : "tensor '") + request.name + "'";
}

std::string MemoryText(const Request& request) {
  return request.ShapeText() +
         (request.kind.device == DeviceType::kGpu ? " of a GPU" : " of the CPU");
}

std::string MembersText(const Request& request) {
  std::string text = "ranks [";
  for (size_t i = 0; i < request.members.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(request.members[i]);
  }
  return text + "]";
}

/// Whether two ranks' shapes fit. Where results are concatenated, the first dimension is each
/// rank's own and is not compared.
bool SameShape(const Request& a, const Request& b) {
  const bool own_length =
      a.kind.operation == Operation::kAllGather || a.kind.operation == Operation::kAllToAll;
  if (a.shape.size() != b.shape.size()) return false;
  for (size_t i = own_length ? 1 : 0; i < a.shape.size(); ++i) {
    if (a.shape[i] != b.shape[i]) return false;
  }
  return true;
}

/// The first field in which two requests differ, as text of each; empty: they do not differ.
struct Difference {
  std::string first;
  std::string second;
};

Difference DifferenceOf(const Request& a, const Request& b) {
  const auto both = [](const std::string& x, const std::string& y) { return Difference{x, y}; };
  if (a.kind.operation != b.kind.operation)
    return both(NameOf(a.kind.operation), NameOf(b.kind.operation));
  if (a.kind.type != b.kind.type || !SameShape(a, b)) return both(a.ShapeText(), b.ShapeText());
  if (a.kind.device != b.kind.device) return both(MemoryText(a), MemoryText(b));
  if (a.kind.reduce != b.kind.reduce) {
    return both(std::string(NameOf(a.kind.reduce)), std::string(NameOf(b.kind.reduce)));
  }
  if (a.kind.operation == Operation::kBroadcast && a.kind.root != b.kind.root) {
    return both("root rank " + std::to_string(a.kind.root),
                "root rank " + std::to_string(b.kind.root));
  }
  if (a.kind.prescale != b.kind.prescale) {
    return both("prescale factor " + NumberText(a.kind.prescale),
                "prescale factor " + NumberText(b.kind.prescale));
  }
  if (a.kind.postscale != b.kind.postscale) {
    return both("postscale factor " + NumberText(a.kind.postscale),
                "postscale factor " + NumberText(b.kind.postscale));
  }
  if (a.members != b.members) return both(MembersText(a), MembersText(b));
  if (a.subject != b.subject) {
    return both("process set " + std::to_string(a.subject),
                "process set " + std::to_string(b.subject));
  }
  if (a.group != b.group || a.group_size != b.group_size) {
    const auto group = [](const Request& request) {
      if (request.group.empty()) return std::string("no group");
      return "group '" + request.group + "' of " + std::to_string(request.group_size);
    };
    return both(group(a), group(b));
  }
  return {};
}

/// Empty, or what is wrong with the members of a kAddSet request. The engine has sorted them, so
/// equal ones are neighbours.
std::string MembersFault(const Request& request, size_t ranks) {
  const std::vector<int64_t>& members = request.members;
  if (members.empty()) return "it is to have no ranks";
  for (size_t i = 0; i < members.size(); ++i) {
    const std::string rank = std::to_string(members[i]);
    if (members[i] < 0 || members[i] >= static_cast<int64_t>(ranks)) {
      return "it is to have rank " + rank + ", and there are " + std::to_string(ranks) + " ranks";
    }
    if (i > 0 && members[i] == members[i - 1]) return "it is to have rank " + rank + " twice";
  }
  return "";
}

/// Empty, or why there is no such reduction: Adasum is an allreduce of floating-point numbers, and
/// booleans have no average.
std::string ReductionFault(const Kind& kind) {
  const bool fits = kind.reduce == ReduceOp::kAdasum
                        ? kind.operation == Operation::kAllReduce && IsFloating(kind.type)
                        : kind.reduce != ReduceOp::kAverage || kind.type != DataType::kBool;
  if (fits) return "";
  return "there is no " + std::string(NameOf(kind.reduce)) + " " + NameOf(kind.operation) + " of " +
         std::string(NameOf(kind.type));
}

/// Empty, or why an all-to-all cannot send the tensor's rows by the request's splits. The tensor
/// has a first dimension.
std::string SplitsFault(const Request& request, size_t ranks) {
  if (request.splits.empty()) {
    return "its " + std::to_string(request.shape[0]) + " rows cannot be split evenly among " +
           std::to_string(ranks) + " ranks, and no splits are given";
  }
  // A split that is larger than the tensor is refused before the sum, which large splits would
  // overflow.
  const auto wrong = std::find_if(request.splits.begin(), request.splits.end(), [&](int64_t rows) {
    return rows < 0 || rows > request.shape[0];
  });
  if (wrong != request.splits.end()) {
    return "it has a split of " + std::to_string(*wrong) + " rows of " +
           std::to_string(request.shape[0]);
  }
  const int64_t sum = std::accumulate(request.splits.begin(), request.splits.end(), int64_t{0});
  if (request.splits.size() == ranks && sum == request.shape[0]) return "";
  return "its " + std::to_string(request.splits.size()) + " splits with " + std::to_string(sum) +
         " rows do not fit to " + std::to_string(ranks) + " ranks and " +
         std::to_string(request.shape[0]) + " rows";
}

/// Empty, or what is wrong with one rank's request, whatever the others say. `names`: the ranks of
/// the set, as ranks of the job.
std::string Fault(const Request& request, const std::vector<int>& names) {
  if (!request.fault.empty()) return request.fault;
  const size_t ranks = names.size();
  const bool has_root = std::find(names.begin(), names.end(), request.kind.root) != names.end();
  if (request.kind.operation == Operation::kBroadcast && !has_root) {
    return "there is no root rank " + std::to_string(request.kind.root) +
           (request.set == kAllRanks ? "" : " in process set " + std::to_string(request.set));
  }
  if (request.kind.operation == Operation::kAddSet) return MembersFault(request, ranks);
  const bool by_rows = request.kind.operation == Operation::kAllGather ||
                       request.kind.operation == Operation::kAllToAll ||
                       request.kind.operation == Operation::kReduceScatter;
  if (by_rows && request.shape.empty()) {
    return std::string(NameOf(request.kind.operation)) + " needs a first dimension";
  }
  if (Reduces(request.kind.operation)) return ReductionFault(request.kind);
  if (request.kind.operation == Operation::kAllToAll) return SplitsFault(request, ranks);
  return "";
}

/// The operation or reduction that needs the data of every rank; empty: neutral elements can stand
/// in for a joined rank.
std::string WhatNeedsAll(const Kind& kind) {
  if (kind.operation != Operation::kAllReduce) return NameOf(kind.operation);
  // On GPUs the neutral element is always zero, which fits a sum and an average only.
  const bool adds = kind.reduce == ReduceOp::kSum || kind.reduce == ReduceOp::kAverage;
  return kind.device == DeviceType::kCpu || adds ? "" : std::string(NameOf(kind.reduce));
}

}  // namespace

std::string Disagreement(const std::vector<const Request*>& requests,
                         const std::vector<int>& ranks) {
  std::vector<int> names = ranks;
  if (names.empty()) {
    names.resize(requests.size());
    std::iota(names.begin(), names.end(), 0);
  }
  const auto name = [&](size_t place) { return "rank " + std::to_string(names[place]); };
  const Request* first = nullptr;
  size_t first_place = 0;
  for (size_t place = 0; place < requests.size(); ++place) {
    const Request* one = requests[place];
    if (one == nullptr) continue;
    const std::string tensor = Called(*one) + ": ";
    if (const std::string fault = Fault(*one, names); !fault.empty()) {
      return tensor + name(place) + ": " + fault;
    }
    if (first == nullptr) {
      first = one;
      first_place = place;
      continue;
    }
    const auto [mine, other] = DifferenceOf(*first, *one);
    if (mine.empty()) continue;
    return tensor + name(first_place) + " submits " + mine + ", " + name(place) + " " + other;
  }
  for (size_t place = 0; first != nullptr && place < requests.size(); ++place) {
    if (requests[place] != nullptr) continue;
    const std::string what = WhatNeedsAll(first->kind);
    if (what.empty()) break;
    const bool reduces = first->kind.operation == Operation::kAllReduce;
    return Called(*first) + ": " + what + (reduces ? " on GPUs" : "") + " needs all ranks, and " +
           name(place) + " has joined: only " + (reduces ? "a sum or an average" : "an allreduce") +
           " can do without its data";
  }
  return "";
}

}  // namespace tony::collective
