// One tensor of each rank for any operation of engines, with what plain arithmetic makes of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collective/tensor.h"
#include "tests/collective/reference.h"

namespace tony::collective {

class TensorCase {
 public:
  // Of each rank:
  std::vector<Request> requests;
  std::vector<Bytes> in;
  std::vector<Bytes> wanted;
  std::vector<std::vector<int64_t>> shapes;  ///< wanted
  std::vector<std::vector<int64_t>> splits;  ///< wanted

  /// Different for each pair of name and seed.
  TensorCase(const std::string& name, unsigned seed, int ranks)
      : random_(seed), ranks_(static_cast<size_t>(ranks)) {
    splits.resize(ranks_);
    Request request = {.name = name};
    request.kind.operation = static_cast<Operation>(random_() % 5);
    request.kind.type = static_cast<DataType>(random_() % kDataTypes);
    request.kind.reduce = static_cast<ReduceOp>(random_() % kReduceOps);
    request.kind.root = static_cast<int32_t>(random_() % ranks_);
    request.shape = Shape(request.kind.operation);
    ChooseFactors(request.kind);
    requests.assign(ranks_, request);
    const Operation operation = request.kind.operation;
    if (operation == Operation::kAllReduce) AllReduce();
    if (operation == Operation::kAllGather) AllGather();
    if (operation == Operation::kBroadcast) Broadcast();
    if (operation == Operation::kReduceScatter) ReduceScatter();
    if (operation == Operation::kAllToAll) AllToAll();
  }

  /// What the rank submits; `out` is its input at first, for results that replace it.
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
  /// Whether the result depends on which ranks are added first.
  bool DependsOnOrder() const {
    const Kind& kind = requests[0].kind;
    const bool reduces =
        kind.operation == Operation::kAllReduce || kind.operation == Operation::kReduceScatter;
    return reduces && IsFloating(kind.type) && kind.reduce != ReduceOp::kMin &&
           kind.reduce != ReduceOp::kMax;
  }
  void Check(size_t rank, const Bytes& out, const Status& status, const Output& output) const {
    ASSERT_TRUE(status.ok()) << status.message();
    const auto* data = reinterpret_cast<const unsigned char*>(output.data.get());
    const Bytes result = HasOutput() ? Bytes(data, data + wanted[rank].size()) : out;
    const Kind& kind = requests[rank].kind;
    ASSERT_TRUE(result == wanted[rank])
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
  void ChooseFactors(Kind& kind) {
    if (random_() % 3 == 0) kind.prescale = IsFloating(kind.type) ? 1.7 : 0.4;
    if (random_() % 3 == 0) kind.postscale = IsFloating(kind.type) ? 0.3 : 0.6;
    // More than a double holds would not be what division gives.
    const bool average = SizeOf(kind.type) < 8 || kind.type == DataType::kFloat64;
    if (average && kind.type != DataType::kBool && random_() % 3 == 0) {
      kind.reduce = ReduceOp::kAverage;
      if (!IsFloating(kind.type)) kind.postscale = 1;
    }
  }
  Bytes Data(const Request& request) {
    return RandomVector(static_cast<size_t>(request.elements()), request.kind.type, random_);
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
    if (kind.reduce != ReduceOp::kAverage) {
      return Scaled(ReferenceOfAll(scaled, kind.type, kind.reduce), kind.type, kind.postscale);
    }
    const Bytes sum = ReferenceOfAll(scaled, kind.type, ReduceOp::kSum);
    if (IsFloating(kind.type)) {
      return Scaled(sum, kind.type, kind.postscale * (1.0 / static_cast<double>(ranks_)));
    }
    return Divided(sum, kind.type, static_cast<int64_t>(ranks_));
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
  const size_t ranks_;
};

}  // namespace tony::collective
