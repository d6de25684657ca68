// Requests and decisions: the messages between ranks and their coordinator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collective/arithmetic/data_type.h"

namespace tony::collective {

enum class Operation : uint8_t {
  kAllReduce,
  kAllGather,      ///< concatenates in the first dimension, which may differ
  kBroadcast,      ///< from the rank `root`
  kReduceScatter,  ///< splits the first dimension
  kAllToAll,       ///< each rank splits the first dimension among all ranks
  kBarrier,
  kAddSet,     ///< makes a process set of some ranks; all ranks submit it
  kRemoveSet,  ///< removes a process set; all ranks submit it
};
inline constexpr size_t kOperations = 8;

/// Whether the operation reduces the ranks' values to one, by a ReduceOp.
constexpr bool Reduces(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduceScatter;
}

/// Whether the operation makes or removes a process set, which all ranks do together.
constexpr bool ChangesSets(Operation operation) {
  return operation == Operation::kAddSet || operation == Operation::kRemoveSet;
}

/// The number of a process set. A number is never used again.
using SetId = uint32_t;
inline constexpr SetId kAllRanks = 0;

/// The key of a tensor: names are unique within their process set only.
struct TensorKey {
  SetId set = kAllRanks;
  std::string name;

  bool operator==(const TensorKey&) const = default;
  struct Hash {
    size_t operator()(const TensorKey& key) const {
      return std::hash<std::string>()(key.name) ^ (size_t{key.set} * 0x9e3779b97f4a7c15);
    }
  };
};

/// The device whose memory holds a tensor. It selects the group that executes the operation.
enum class DeviceType : uint8_t { kCpu, kGpu };
inline constexpr size_t kDeviceTypes = 2;

/// The operation on a tensor and its parameters. Tensors of the same kind fit into one vector.
struct Kind {
  Operation operation = Operation::kAllReduce;
  DeviceType device = DeviceType::kCpu;
  DataType type = DataType::kFloat32;
  ReduceOp reduce = ReduceOp::kSum;
  /// Root of a broadcast: in a request a rank of the job, in a decision one of the set.
  int32_t root = 0;
  double prescale = 1;   ///< factor for each rank's values, before they are reduced
  double postscale = 1;  ///< factor for the result; for an average, after the division

  bool operator==(const Kind&) const = default;
};

/// One rank's request for an operation on a tensor. The requests of a set's ranks belong together
/// by their names.
struct Request {
  std::string name;
  Kind kind;
  std::vector<int64_t> shape;
  std::vector<int64_t> splits;  ///< of kAllToAll: number of rows for each rank
  std::string group;        ///< if not empty: no tensor of the group is done before all are ready
  uint32_t group_size = 0;  ///< number of tensors in the group
  SetId set = kAllRanks;    ///< the process set of the tensor
  std::vector<int64_t> members;  ///< of kAddSet: ranks of the job, in ascending order
  SetId subject = 0;             ///< of kRemoveSet: the set to remove
  /// If not empty: why this rank cannot take part. All ranks are told so.
  std::string fault;

  bool operator==(const Request&) const = default;

  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t length : shape) count *= length;
    return count;
  }
  /// Empty, or what is wrong with the shape, whatever other ranks submit. If it is empty, no number
  /// of elements or bytes, not even summed over all ranks, is too large for its type.
  std::string ShapeFault() const;
  /// For people: "float32[3, 4]".
  std::string ShapeText() const;
};

/// The number that stands for a request once all ranks have agreed on it; shorter than the request.
using TensorId = uint32_t;

/// A rank's message to the coordinator of one process set.
struct Submission {
  std::vector<TensorId> known;    ///< tensors whose request is the same as the last time
  std::vector<Request> requests;  ///< tensors that are new, or whose request has changed
  /// The rank has no more data (tony_collective_join); only to the set of all ranks.
  bool joined = false;
  SetId set = kAllRanks;

  bool operator==(const Submission&) const = default;
};

/// One tensor of a decision.
struct Decided {
  std::string name;
  TensorId id = 0;       ///< the tensor's number from now on; 0: it has none, or no longer
  int64_t elements = 0;  ///< of kAllReduce, for ranks that have joined and do not have the tensor
  /// Depends on the operation. kAllGather: each rank's first dimension. kAllToAll: the splits of
  /// rank 0, then those of rank 1, and so on. kAddSet: the set's ranks.
  std::vector<int64_t> lengths;

  bool operator==(const Decided&) const = default;
};

/// The next operation of all ranks of a set, with one vector for all of its tensors. The decisions
/// of all sets have one order.
struct Decision {
  Kind kind;
  std::vector<Decided> tensors;
  /// If not empty: nothing is executed, and each tensor's submitters get this error.
  std::string error;
  int32_t last_joined = -1;  ///< if not negative: all ranks have joined, this one last
  SetId set = kAllRanks;
  SetId subject = 0;  ///< of kAddSet and kRemoveSet: the set that is added or removed
  /// If not empty: a table of switch points (switch_points.h) for all later operations. Such a
  /// decision does nothing else, and belongs to the set of all ranks.
  std::string points;

  bool operator==(const Decision&) const = default;

  /// For people: "the operation on 'w' and 2 more".
  std::string Text() const;
};

}  // namespace tony::collective
