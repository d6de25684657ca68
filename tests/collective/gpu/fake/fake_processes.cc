// Each process reads what all have written, and does the whole operation for itself.
#include "tests/collective/gpu/fake/fake_processes.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "collective/arithmetic/data_type.h"
#include "tests/collective/gpu/fake/fake_gpu.h"

namespace tony::collective {
namespace {

/// The bytes that a call reads.
size_t BytesIn(const FakeOp& op, int rank, int ranks) {
  const size_t bytes = op.count * SizeOf(TypeOf(op.type));
  if (op.call == FakeCall::kBroadcast) return rank == op.peer ? bytes : 0;
  return op.call == FakeCall::kReduceScatter ? bytes * static_cast<size_t>(ranks) : bytes;
}

/// As a kernel does. False: it was given up.
template <typename Condition>
bool Until(const std::atomic<bool>& given_up, Condition condition) {
  while (!condition()) {
    if (given_up) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace

void FakeProcessWorld::Write(int rank, const FakeGroup& group) {
  FakeProcesses::Part& part = all_.parts[rank];
  size_t used = 0;
  part.calls = group.size();
  if (group.size() > FakeProcesses::kMostCalls) std::abort();  // a test's mistake
  for (size_t i = 0; i < group.size(); ++i) {
    const size_t bytes = BytesIn(group[i], rank, ranks_);
    if (used + bytes > FakeProcesses::kMostBytes) std::abort();
    if (bytes > 0) std::memcpy(&part.data[used], group[i].in, bytes);
    part.ops[i] = group[i];
    used += bytes;
  }
}

/// Its calls, which write to `out`, wherever that rank's memory may be.
FakeGroup FakeProcessWorld::Read(int rank, void* out) {
  const FakeProcesses::Part& part = all_.parts[rank];
  FakeGroup group(part.ops, part.ops + std::min(part.calls, FakeProcesses::kMostCalls));
  size_t used = 0;
  for (FakeOp& op : group) {
    op.in = &part.data[used];
    op.out = out;
    used += BytesIn(op, rank, ranks_);
  }
  return group;
}

void FakeProcessWorld::Do(uint64_t number, int rank, FakeGroup group,
                          const std::atomic<bool>& given_up) {
  const auto all = [&](auto is_so) { return std::all_of(all_.parts, all_.parts + ranks_, is_so); };
  const uint64_t hangs_from = all_.hangs_from;
  if (hangs_from > 0 && number >= hangs_from) {
    ++all_.inside;
    if (all_.hangs_at == rank) {
      Until(given_up, [] { return false; });
      return;
    }
  }
  if (!Until(given_up, [&] {
        return all([&](const FakeProcesses::Part& part) { return part.read >= number; });
      })) {
    return;
  }
  Write(rank, group);
  ++all_.parts[rank].written;
  if (!Until(given_up, [&] {
        return all([&](const FakeProcesses::Part& part) { return part.written > number; });
      })) {
    return;
  }
  std::vector<unsigned char> others(FakeProcesses::kMostBytes * FakeProcesses::kMostRanks);
  std::map<int, FakeGroup> groups;
  for (int other = 0; other < ranks_; ++other) groups[other] = Read(other, others.data());
  for (size_t i = 0; i < group.size(); ++i) groups[rank][i].out = group[i].out;
  DoTogether(groups);
  ++all_.parts[rank].read;
}

void FakeProcessWorld::Exchange(int /*rank*/, const FakeGroup& /*group*/,
                                const std::atomic<bool>& /*given_up*/) {
  ++tony_fake_gpu()->misuses;
}

}  // namespace tony::collective
