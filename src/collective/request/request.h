// What ranks ask for, and what is decided: the messages between ranks and their coordinator.
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
  kBroadcast,      ///< from `root`
  kReduceScatter,  ///< splits the first dimension
  kAllToAll,       ///< of the first dimension, as each rank splits it
  kBarrier,
  kAddSet,     ///< makes a process set of some ranks; by all ranks
  kRemoveSet,  ///< by all ranks
};
inline constexpr size_t kOperations = 8;

/// Whether the ranks' values become one, by a ReduceOp.
constexpr bool Reduces(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduceScatter;
}

/// Whether it makes or removes a process set, which all ranks do together.
constexpr bool ChangesSets(Operation operation) {
  return operation == Operation::kAddSet || operation == Operation::kRemoveSet;
}

/// Of a process set. They are never used again.
using SetId = uint32_t;
inline constexpr SetId kAllRanks = 0;

/// By which a tensor is found: names belong to their set.
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

/// Whose memory tensors are in: it says through which group they go.
enum class DeviceType : uint8_t { kCpu, kGpu };
inline constexpr size_t kDeviceTypes = 2;

/// What is done with tensors. Those of one kind fit into one vector.
struct Kind {
  Operation operation = Operation::kAllReduce;
  DeviceType device = DeviceType::kCpu;
  DataType type = DataType::kFloat32;
  ReduceOp reduce = ReduceOp::kSum;
  int32_t root = 0;      ///< of broadcasts: a rank of the job, in a decision of the set
  double prescale = 1;   ///< of each rank's values, before they are reduced
  double postscale = 1;  ///< of the result, that of an average after its division

  bool operator==(const Kind&) const = default;
};

/// One rank's tensor. Tensors of a set's ranks belong together by their names.
struct Request {
  std::string name;
  Kind kind;
  std::vector<int64_t> shape;
  std::vector<int64_t> splits;   ///< of kAllToAll: rows for each rank
  std::string group;             ///< if not empty: no tensor of the group without all
  uint32_t group_size = 0;       ///< tensors in it
  SetId set = kAllRanks;         ///< whose tensor it is
  std::vector<int64_t> members;  ///< of kAddSet: ranks of the job, in ascending order
  SetId subject = 0;             ///< of kRemoveSet: which set goes
  /// If not empty: this rank cannot take part, and why. All ranks are told so.
  std::string fault;

  bool operator==(const Request&) const = default;

  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t length : shape) count *= length;
    return count;
  }
  /// Empty, or what is wrong with the shape, whatever other ranks say. If empty, no number of
  /// elements or bytes, also of all ranks together, is too large for its type.
  std::string ShapeFault() const;
  /// For people: "float32[3, 4]".
  std::string ShapeText() const;
};

/// By which a tensor is called once all ranks have agreed on it: shorter than its request.
using TensorId = uint32_t;

/// What a rank says to one set at a time.
struct Submission {
  std::vector<TensorId> known;    ///< as the last time
  std::vector<Request> requests;  ///< new, or changed
  bool joined = false;            ///< has no more data (tony_collective_join); of all ranks' set
  SetId set = kAllRanks;

  bool operator==(const Submission&) const = default;
};

/// One tensor of a decision.
struct Decided {
  std::string name;
  TensorId id = 0;       ///< from now on; 0: it has none, or not any more
  int64_t elements = 0;  ///< of kAllReduce, for ranks that have joined and do not have it
  /// Of kAllGather the first dimension at each rank; of kAllToAll the splits, rank after rank; of
  /// kAddSet the ranks.
  std::vector<int64_t> lengths;

  bool operator==(const Decided&) const = default;
};

/// What all ranks of a set do next: with one vector for all of its tensors. Decisions of all sets
/// have one order.
struct Decision {
  Kind kind;
  std::vector<Decided> tensors;
  std::string error;         ///< if not empty: nothing is done, and each tensor's owner is told
  int32_t last_joined = -1;  ///< all have joined, this rank as the last one
  SetId set = kAllRanks;
  SetId subject = 0;  ///< of kAddSet and kRemoveSet: which one comes or goes
  /// If not empty: a table of switch points (switch_points.h) for all that is done later, and
  /// nothing besides; of all ranks' set.
  std::string points;

  bool operator==(const Decision&) const = default;

  /// For people: "the operation on 'w' and 2 more".
  std::string Text() const;
};

}  // namespace tony::collective
