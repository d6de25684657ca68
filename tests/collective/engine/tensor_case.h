// One tensor of each rank for any operation of engines, with what plain arithmetic makes of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collective/request/tensor.h"
#include "tests/collective/arithmetic/reference.h"

namespace tony::collective {

/// Each operation of tensors, of each type, with each reduction that there is; any factors.
inline std::vector<Kind> AllKinds(std::mt19937& random) {
  std::vector<Kind> kinds;
  for (const Operation operation :
       {Operation::kAllReduce, Operation::kAllGather, Operation::kBroadcast,
        Operation::kReduceScatter, Operation::kAllToAll}) {
    for (size_t type = 0; type < kDataTypes; ++type) {
      for (size_t reduce = 0; reduce < (Reduces(operation) ? kRequestedReduceOps : 1); ++reduce) {
        Kind kind = {.operation = operation,
                     .type = static_cast<DataType>(type),
                     .reduce = static_cast<ReduceOp>(reduce)};
        const bool floating = IsFloating(kind.type);
        const bool average = kind.reduce == ReduceOp::kAverage;
        if (average && kind.type == DataType::kBool) continue;
        if (kind.reduce == ReduceOp::kAdasum && (operation != Operation::kAllReduce || !floating)) {
          continue;
        }
        if (random() % 3 == 0) kind.prescale = floating ? 1.7 : 0.4;
        // For integers, a division followed by a factor differs from one combined factor.
        if (random() % 3 == 0 && (floating || !average)) kind.postscale = floating ? 0.3 : 0.6;
        kinds.push_back(kind);
      }
    }
  }
  return kinds;
}

class TensorCase {
 public:
  /// Ranks of each host.
  using Hosts = std::vector<std::vector<int>>;

  // By rank:
  std::vector<Request> requests;
  std::vector<Bytes> in;
  std::vector<Bytes> wanted;
  std::vector<std::vector<int64_t>> shapes;  ///< wanted
  std::vector<std::vector<int64_t>> splits;  ///< wanted

  /// Different for each pair of name and seed. Sums go host after host; all ranks are of one where
  /// they go rank after rank.
  TensorCase(const std::string& name, const Kind& kind, unsigned seed, Hosts hosts)
      : random_(seed), hosts_(std::move(hosts)) {
    for (const auto& host : hosts_) ranks_ += host.size();
    splits.resize(ranks_);
    Request request = {.name = name, .kind = kind};
    const Operation operation = kind.operation;
    if (operation == Operation::kBroadcast) {
      request.kind.root = static_cast<int32_t>(random_() % ranks_);
    }
    request.shape = Shape(operation);
    requests.assign(ranks_, request);
    if (operation == Operation::kAllReduce) AllReduce();
    if (operation == Operation::kAllGather) AllGather();
    if (operation == Operation::kBroadcast) Broadcast();
    if (operation == Operation::kReduceScatter) ReduceScatter();
    if (operation == Operation::kAllToAll) AllToAll();
  }

  /// The rank's submission. With `in_place`, `out` holds the input first and the result later.
  Tensor Submission(size_t rank, Bytes& out, bool in_place) const {
    Tensor tensor;
    tensor.request = requests[rank];
    tensor.in = in_place ? out.data() : in[rank].data();
    tensor.out = out.data();
    return tensor;
  }
  bool HasOutput() const {
    const Operation operation = requests[0].kind.operation;
    return operation != Operation::kAllReduce && operation != Operation::kBroadcast;
  }
  void Check(size_t rank, const Bytes& out, const Status& status, const Output& output) const {
    ASSERT_TRUE(status.ok()) << status.message();
    const auto* data = reinterpret_cast<const unsigned char*>(output.data.get());
    const Bytes result = HasOutput() ? Bytes(data, data + wanted[rank].size()) : out;
    const Kind& kind = requests[rank].kind;
    ASSERT_TRUE(kind.reduce == ReduceOp::kAdasum ? IsNear(result, wanted[rank])
                                                 : result == wanted[rank])
        << requests[rank].name << ": operation " << static_cast<int>(kind.operation) << ", "
        << NameOf(kind.reduce) << " of " << requests[rank].ShapeText() << ", factors "
        << kind.prescale << " and " << kind.postscale << ", rank " << rank;
    if (!HasOutput()) return;
    ASSERT_EQ(output.shape, shapes[rank]);
    ASSERT_EQ(output.splits, splits[rank]);
  }

 private:
  std::vector<int64_t> Shape(Operation operation) {
    const std::vector<std::vector<int64_t>> rows = {{}, {1}, {3}, {0}, {2, 0, 2}, {17, 5}, {1000}};
    std::vector<int64_t> shape = rows[random_() % rows.size()];
    const bool scalar =
        (operation == Operation::kAllReduce || operation == Operation::kBroadcast) &&
        random_() % 4 == 0;
    if (!scalar) shape.insert(shape.begin(), Rows());
    return shape;
  }
  int64_t Rows() { return static_cast<int64_t>(random_() % 20 == 0 ? 300 : random_() % 9); }
  Bytes Data(const Request& request) {
    const auto count = static_cast<size_t>(request.elements());
    const Kind& kind = request.kind;
    // Data that is only moved may have any bits, even those of a NaN.
    if (!Reduces(kind.operation)) {
      return RandomVector(count * SizeOf(kind.type), DataType::kUint8, random_);
    }
    if (kind.reduce == ReduceOp::kAdasum) return RandomNumbers(count, kind.type, random_);
    Bytes data = RandomVector(count, kind.type, random_);
    const bool whole = kind.type == DataType::kInt64 || kind.type == DataType::kUint64;
    // If a double cannot hold the sum, its average differs from an integer division.
    for (size_t i = 0; whole && kind.reduce == ReduceOp::kAverage && i < count; ++i) {
      int64_t number;
      std::memcpy(&number, &data[i * sizeof(number)], sizeof(number));
      number /= 1 << 16;
      if (kind.type == DataType::kUint64) number = std::abs(number);
      std::memcpy(&data[i * sizeof(number)], &number, sizeof(number));
    }
    return data;
  }
  size_t RowBytes() const {
    const auto& shape = requests[0].shape;
    int64_t row = 1;
    for (size_t i = 1; i < shape.size(); ++i) row *= shape[i];
    return static_cast<size_t>(row) * SizeOf(requests[0].kind.type);
  }
  void FillIn() {
    for (const Request& request : requests) in.push_back(Data(request));
  }

  Bytes Reduced() const {
    const Kind& kind = requests[0].kind;
    std::vector<Bytes> scaled;
    for (const Bytes& one : in) scaled.push_back(Scaled(one, kind.type, kind.prescale));
    if (kind.reduce == ReduceOp::kAdasum) {
      std::vector<std::vector<double>> vectors;
      for (const Bytes& one : scaled) vectors.push_back(Numbers(one, kind.type));
      return Scaled(FromNumbers(AdasumOf(vectors), kind.type), kind.type, kind.postscale);
    }
    if (kind.reduce != ReduceOp::kAverage) {
      const Bytes reduced = ReferenceByHosts(scaled, hosts_, kind.type, kind.reduce);
      return Scaled(reduced, kind.type, kind.postscale);
    }
    const Bytes sum = ReferenceByHosts(scaled, hosts_, kind.type, ReduceOp::kSum);
    if (IsFloating(kind.type)) {
      return Scaled(sum, kind.type, kind.postscale * (1.0 / static_cast<double>(ranks_)));
    }
    return Divided(sum, kind.type, static_cast<int64_t>(ranks_));
  }
  bool IsNear(const Bytes& result, const Bytes& other) const {
    const DataType type = requests[0].kind.type;
    const std::vector<double> a = Numbers(result, type);
    const std::vector<double> b = Numbers(other, type);
    const double precision = AdasumPrecision(type);
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](double x, double y) {
      return std::abs(x - y) <= precision * std::max(1.0, std::abs(y));
    });
  }

  void AllReduce() {
    FillIn();
    wanted.assign(ranks_, Reduced());
  }
  void AllGather() {
    for (Request& request : requests) request.shape[0] = Rows();
    FillIn();
    std::vector<int64_t> shape = requests[0].shape;
    shape[0] = 0;
    for (const Request& request : requests) shape[0] += request.shape[0];
    wanted.assign(ranks_, Concatenated(in));
    shapes.assign(ranks_, shape);
  }
  void Broadcast() {
    FillIn();
    wanted.assign(ranks_, in[static_cast<size_t>(requests[0].kind.root)]);
  }
  void ReduceScatter() {
    FillIn();
    std::vector<size_t> sizes;
    shapes.assign(ranks_, requests[0].shape);
    for (size_t rank = 0; rank < ranks_; ++rank) {
      const auto rows = static_cast<size_t>(requests[0].shape[0]);
      // One by one to the ranks in turn, which is the same number of rows for each.
      size_t own = 0;
      for (size_t row = rank; row < rows; row += ranks_) ++own;
      sizes.push_back(own * RowBytes());
      shapes[rank][0] = static_cast<int64_t>(own);
    }
    wanted = Cut(Reduced(), sizes);
  }
  void AllToAll() {
    const bool even = random_() % 2 == 0;
    std::vector<std::vector<int64_t>> sent;
    for (Request& request : requests) {
      std::vector<int64_t> rows(ranks_);
      for (int64_t& one : rows) one = Rows();
      if (even) rows.assign(ranks_, rows[0]);
      if (!even) request.splits = rows;
      request.shape[0] = std::accumulate(rows.begin(), rows.end(), int64_t{0});
      sent.push_back(rows);
    }
    FillIn();
    shapes.assign(ranks_, requests[0].shape);
    for (size_t rank = 0; rank < ranks_; ++rank) {
      std::vector<Bytes> received;
      shapes[rank][0] = 0;
      for (size_t from = 0; from < ranks_; ++from) {
        std::vector<size_t> sizes;
        for (const int64_t rows : sent[from]) {
          sizes.push_back(static_cast<size_t>(rows) * RowBytes());
        }
        received.push_back(Cut(in[from], sizes)[rank]);
        splits[rank].push_back(sent[from][rank]);
        shapes[rank][0] += sent[from][rank];
      }
      wanted.push_back(Concatenated(received));
    }
  }

  std::mt19937 random_;
  const Hosts hosts_;
  size_t ranks_ = 0;
};

}  // namespace tony::collective
