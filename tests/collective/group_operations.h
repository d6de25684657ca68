// Any operation of a group, made from a number that all ranks know, and held to plain arithmetic.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collective/group/group.h"
#include "tests/collective/arithmetic/reference.h"

namespace tony::collective {

/// Every rank of a group runs the same ones, one after the other:
/// for (int n = 0; n < GroupOperation::kAll; ++n) GroupOperation(n, ranks, edges).Run(group);
class GroupOperation {
 public:
  /// The expected result of a group, from all ranks' vectors.
  using Reference = std::function<Bytes(const std::vector<Bytes>&, DataType, ReduceOp)>;

  /// So many numbers, one after the other, are each operation of each type, with each reduction.
  static constexpr int kAll = (2 * kReduceOps + 3) * kDataTypes;

  /// `edges`: sizes in bytes where a group takes another way.
  GroupOperation(int number, int ranks, const std::vector<size_t>& edges,
                 Reference reference = ReferenceOfAll)
      : reference_(std::move(reference)),
        random_(static_cast<unsigned>(number * 100 + ranks)),
        ranks_(static_cast<size_t>(ranks)),
        edges_(edges),
        what_(WhatOf(number)),
        type_(static_cast<DataType>(number % kDataTypes)),
        op_(static_cast<ReduceOp>(OneOf(number) % kReduceOps)),
        in_place_(random_() % 2 == 0) {}

  void Run(Group& group) {
    const auto rank = static_cast<size_t>(group.rank());
    const std::string text = "operation " + std::to_string(what_) + ", rank " +
                             std::to_string(rank) + " of " + std::to_string(ranks_) + ", " +
                             std::string(NameOf(op_)) + " of " + std::string(NameOf(type_));
    SCOPED_TRACE(text);
    switch (what_) {
      case kAllReduce:
        return AllReduce(group, rank);
      case kAllGather:
        return AllGather(group, rank);
      case kBroadcast:
        return Broadcast(group, rank);
      case kReduceScatter:
        return ReduceScatter(group, rank);
      case kAllToAll:
        return AllToAll(group, rank);
    }
  }

 private:
  static constexpr auto kPatience = std::chrono::seconds(60);
  enum What { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kAllToAll };

  /// Below 4 an allreduce, below 8 a reducescatter with each reduction, then the others; in turns.
  /// Together with `number % kDataTypes` each pair once, since 13 and 11 have no common divisor.
  static int OneOf(int number) { return 4 * number % static_cast<int>(2 * kReduceOps + 3); }
  static What WhatOf(int number) {
    constexpr int kOps = kReduceOps;
    const int one = OneOf(number);
    if (one < 2 * kOps) return one < kOps ? kAllReduce : kReduceScatter;
    return static_cast<What>(one - 2 * kOps + kAllGather);
  }

  /// Elements: few, around an edge in one of `rareness` cases, or of any magnitude.
  size_t Count(size_t rareness = 4, unsigned magnitudes = 20) {
    const size_t choice = random_() % rareness;
    if (choice == 0 && !edges_.empty()) {
      return edges_[random_() % edges_.size()] / SizeOf(type_) + random_() % 3 - 1;
    }
    if (choice % 4 == 1) return random_() % 3;
    return random_() % (size_t{1} << (random_() % magnitudes)) / SizeOf(type_);
  }
  /// Smaller ones, since there are many of them.
  std::vector<size_t> Counts() {
    std::vector<size_t> counts(ranks_);
    for (size_t& count : counts) count = Count(4 * ranks_, 17);
    return counts;
  }
  Bytes Data(size_t count) { return RandomVector(count, type_, random_); }
  std::vector<size_t> InBytes(std::vector<size_t> counts) const {
    for (size_t& count : counts) count *= SizeOf(type_);
    return counts;
  }
  static void ExpectDone(const Status& done, const Bytes& out, const Bytes& wanted) {
    ASSERT_TRUE(done.ok()) << done.message();
    EXPECT_TRUE(out == wanted) << out.size() << " bytes are not what they should be";
  }

  void AllReduce(Group& group, size_t rank) {
    const size_t count = Count();
    std::vector<Bytes> in;
    for (size_t r = 0; r < ranks_; ++r) in.push_back(Data(count));
    Bytes out = in[rank];
    const Status done = group.AllReduce(in_place_ ? out.data() : in[rank].data(), out.data(), count,
                                        type_, op_, After(kPatience));
    ExpectDone(done, out, reference_(in, type_, op_));
  }

  void AllGather(Group& group, size_t rank) {
    std::vector<Bytes> in;
    std::vector<size_t> bytes;
    for (const size_t count : Counts()) {
      in.push_back(Data(count));
      bytes.push_back(in.back().size());
    }
    const Bytes wanted = Concatenated(in);
    Bytes out(wanted.size());
    const void* from = in[rank].data();
    if (in_place_) {
      const auto begin =
          std::accumulate(bytes.begin(), bytes.begin() + static_cast<int>(rank), size_t{0});
      std::copy(in[rank].begin(), in[rank].end(), out.begin() + static_cast<int>(begin));
      from = out.data() + begin;
    }
    ExpectDone(group.AllGather(from, out.data(), bytes, After(kPatience)), out, wanted);
  }

  void Broadcast(Group& group, size_t rank) {
    const size_t root = random_() % ranks_;
    const Bytes wanted = Data(Count());
    Bytes data = rank == root ? wanted : Bytes(wanted.size());
    const Status done =
        group.Broadcast(data.data(), data.size(), static_cast<int>(root), After(kPatience));
    ExpectDone(done, data, wanted);
  }

  void ReduceScatter(Group& group, size_t rank) {
    const std::vector<size_t> counts = Counts();
    const size_t count = std::accumulate(counts.begin(), counts.end(), size_t{0});
    std::vector<Bytes> parts;  // this rank's, of each rank
    Bytes in;
    for (size_t r = 0; r < ranks_; ++r) {
      const Bytes all = Data(count);
      if (r == rank) in = all;
      parts.push_back(Cut(all, InBytes(counts))[rank]);
    }
    Bytes out(parts[0].size());
    const Status done =
        group.ReduceScatter(in.data(), out.data(), counts, type_, op_, After(kPatience));
    ExpectDone(done, out, reference_(parts, type_, op_));
  }

  void AllToAll(Group& group, size_t rank) {
    std::vector<Bytes> parts;
    std::vector<size_t> sent, received;
    Bytes in;
    for (size_t r = 0; r < ranks_; ++r) {
      const std::vector<size_t> sizes = InBytes(Counts());
      const Bytes all =
          Data(std::accumulate(sizes.begin(), sizes.end(), size_t{0}) / SizeOf(type_));
      if (r == rank) {
        in = all;
        sent = sizes;
      }
      parts.push_back(Cut(all, sizes)[rank]);
      received.push_back(sizes[rank]);
    }
    const Bytes wanted = Concatenated(parts);
    Bytes out(wanted.size());
    ExpectDone(group.AllToAll(in.data(), sent, out.data(), received, After(kPatience)), out,
               wanted);
  }

  const Reference reference_;
  std::mt19937 random_;
  const size_t ranks_;
  const std::vector<size_t>& edges_;
  const What what_;
  const DataType type_;
  const ReduceOp op_;
  const bool in_place_;
};

}  // namespace tony::collective
