// NCCL's operations, one element at a time.
#include "tests/collective/gpu/fake/fake_world.h"

#include <cstring>
#include <utility>

#include "tests/collective/arithmetic/reference.h"
#include "tests/collective/gpu/fake/fake_gpu.h"

namespace tony::collective {

DataType TypeOf(NcclType type) {
  constexpr DataType kTypes[] = {DataType::kInt8,    DataType::kUint8,   DataType::kInt32,
                                 DataType::kUint32,  DataType::kInt64,   DataType::kUint64,
                                 DataType::kFloat16, DataType::kFloat32, DataType::kFloat64,
                                 DataType::kBfloat16};
  return kTypes[static_cast<size_t>(type)];
}

namespace {

ReduceOp OpOf(NcclOp op) {
  if (op == NcclOp::kProduct) return ReduceOp::kProduct;
  if (op == NcclOp::kMax) return ReduceOp::kMax;
  return op == NcclOp::kMin ? ReduceOp::kMin : ReduceOp::kSum;
}

template <typename T, typename Load, typename Store>
void DivideEach(Bytes& bytes, int ranks, Load load, Store store) {
  for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, &bytes[i], sizeof(T));
    const T divided = store(load(value) / static_cast<decltype(load(value))>(ranks));
    std::memcpy(&bytes[i], &divided, sizeof(T));
  }
}

void Divide(Bytes& bytes, DataType type, int ranks) {
  const auto same = [](auto value) { return value; };
  if (type == DataType::kFloat32) return DivideEach<float>(bytes, ranks, same, same);
  if (type == DataType::kFloat64) return DivideEach<double>(bytes, ranks, same, same);
  if (type == DataType::kFloat16) {
    return DivideEach<uint16_t>(bytes, ranks, HalfReference::Load, HalfReference::Store);
  }
  if (type == DataType::kBfloat16) {
    return DivideEach<uint16_t>(bytes, ranks, BfloatReference::Load, BfloatReference::Store);
  }
  ++tony_fake_gpu()->mismatches;
}

/// Reads all input before it writes anything, since ranks' buffers may be the same.
class Work {
 public:
  explicit Work(std::map<int, FakeGroup>& groups) : groups_(groups) {}

  void Run() {
    const size_t calls = groups_[0].size();
    for (size_t i = 0; i < calls; ++i) {
      std::vector<FakeOp> ops;
      for (const auto& [rank, group] : groups_) {
        if (group.size() != calls) {
          ++tony_fake_gpu()->mismatches;
          return;
        }
        ops.push_back(group[i]);
      }
      Collective(ops);
    }
    Write();
  }

 private:
  static Bytes Read(const void* data, size_t bytes) {
    const auto* const from = static_cast<const unsigned char*>(data);
    return {from, from + bytes};
  }

  void Collective(const std::vector<FakeOp>& ops) {
    const FakeOp& first = ops[0];
    for (const FakeOp& op : ops) {
      const bool same = op.call == first.call && op.count == first.count && op.type == first.type &&
                        op.op == first.op && op.peer == first.peer;
      if (!same) ++tony_fake_gpu()->mismatches;
    }
    const DataType type = TypeOf(first.type);
    const size_t bytes = first.count * SizeOf(type);
    if (first.call == FakeCall::kBroadcast) {
      const Bytes data = Read(ops[static_cast<size_t>(first.peer)].in, bytes);
      for (const FakeOp& op : ops) writes_.emplace_back(op.out, data);
      return;
    }
    if (first.call == FakeCall::kAllGather) {
      Bytes all;
      for (const FakeOp& op : ops) {
        const Bytes part = Read(op.in, bytes);
        all.insert(all.end(), part.begin(), part.end());
      }
      for (const FakeOp& op : ops) writes_.emplace_back(op.out, all);
      return;
    }
    const size_t ranks = ops.size();
    const bool scatter = first.call == FakeCall::kReduceScatter;
    const Bytes sum = Reduced(ops, type, scatter ? bytes * ranks : bytes);
    for (size_t rank = 0; rank < ranks; ++rank) {
      if (scatter) {
        writes_.emplace_back(ops[rank].out, Read(&sum[bytes * rank], bytes));
      } else if (first.call == FakeCall::kAllReduce || static_cast<size_t>(first.peer) == rank) {
        writes_.emplace_back(ops[rank].out, sum);
      }
    }
  }

  static Bytes Reduced(const std::vector<FakeOp>& ops, DataType type, size_t bytes) {
    Bytes sum = Read(ops[0].in, bytes);
    for (size_t rank = 1; rank < ops.size(); ++rank) {
      sum = Reference(sum, Read(ops[rank].in, bytes), type, OpOf(ops[0].op));
    }
    if (ops[0].op == NcclOp::kAverage) Divide(sum, type, static_cast<int>(ops.size()));
    return sum;
  }

  void Write() {
    for (const auto& [to, bytes] : writes_) {
      if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    }
  }

  std::map<int, FakeGroup>& groups_;
  std::vector<std::pair<void*, Bytes>> writes_;
};

}  // namespace

void DoTogether(std::map<int, FakeGroup>& groups) {
  Work(groups).Run();
  ++tony_fake_gpu()->operations;
}

void FakeThreadWorld::Do(uint64_t number, int rank, FakeGroup group,
                         const std::atomic<bool>& given_up) {
  std::unique_lock lock(mutex_);
  Meeting& meeting = meetings_[number];
  meeting.groups[rank] = std::move(group);
  if (meeting.groups.size() == static_cast<size_t>(ranks_)) {
    DoTogether(meeting.groups);
    meeting.done = true;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return meeting.done || given_up.load(); });
}

void FakeThreadWorld::Exchange(int rank, const FakeGroup& group,
                               const std::atomic<bool>& given_up) {
  std::unique_lock lock(mutex_);
  for (const FakeOp& op : group) {
    if (op.call != FakeCall::kSend) continue;
    const auto* const from = static_cast<const unsigned char*>(op.in);
    sent_[{rank, op.peer}].emplace_back(from, from + op.count);
  }
  changed_.notify_all();
  for (const FakeOp& op : group) {
    if (op.call != FakeCall::kRecv) continue;
    auto& queue = sent_[{op.peer, rank}];
    changed_.wait(lock, [&] { return !queue.empty() || given_up.load(); });
    if (queue.empty()) return;
    if (queue.front().size() != op.count) ++tony_fake_gpu()->mismatches;
    if (queue.front().size() == op.count) std::memcpy(op.out, queue.front().data(), op.count);
    queue.pop_front();
  }
}

}  // namespace tony::collective
