// Steps of a training that has tensors of all kinds.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/collective/engine/engine_ranks.h"
#include "tests/collective/engine/tensor_case.h"

namespace tony::collective {

using Cases = std::vector<TensorCase>;

/// One rank's part of a step: all tensors from three threads, in an order of its own, some of them
/// one by one, some at once, and some in groups, which are the same at all ranks. Not thread safe.
class RankStep {
 public:
  /// The same `seed` at all ranks.
  RankStep(const Cases& cases, size_t rank, unsigned seed)
      : cases_(cases), rank_(rank), out_(cases.size()), done_(cases.size()) {
    std::mt19937 common(seed);
    std::vector<size_t> all(cases.size());
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), common);
    for (size_t begin = 0; begin < all.size();) {
      const size_t size = common() % 6 == 0 ? 2 + common() % 5 : 1;
      Unit& unit = units_.emplace_back();
      if (size > 1) unit.group = "group." + std::to_string(units_.size());
      for (size_t i = begin; i < std::min(begin + size, all.size()); ++i) {
        unit.tensors.push_back(all[i]);
      }
      begin += size;
    }
    std::mt19937 own(seed * 100 + static_cast<unsigned>(rank));
    std::shuffle(units_.begin(), units_.end(), own);
    for (Unit& unit : units_) std::shuffle(unit.tensors.begin(), unit.tensors.end(), own);
    in_place_ = own() % 2 == 0;
  }

  void Submit(Engine& engine) {
    const size_t part = units_.size() / 3;
    std::thread first([&] { Submit(engine, 0, part); });
    std::thread second([&] { Submit(engine, part, 2 * part); });
    Submit(engine, 2 * part, units_.size());
    first.join();
    second.join();
  }
  /// Waits for all.
  void Check() {
    for (size_t i = 0; i < cases_.size(); ++i) {
      const auto [status, output] = done_[i].GetAll();
      cases_[i].Check(rank_, out_[i], status, output);
    }
  }

 private:
  struct Unit {
    std::string group;  ///< empty: it is one tensor
    std::vector<size_t> tensors;
  };

  Tensor Submission(size_t i) {
    out_[i] = cases_[i].in[rank_];
    Tensor tensor = cases_[i].Submission(rank_, out_[i], in_place_);
    if (cases_[i].HasOutput()) {
      tensor.on_output = done_[i].OutputCallback();
    } else {
      tensor.on_done = done_[i].Callback();
    }
    return tensor;
  }
  void Submit(Engine& engine, size_t begin, size_t end) {
    const auto submit = [&](std::vector<Tensor> tensors, const std::string& group) {
      const Status submitted = engine.Submit(std::move(tensors), group);
      EXPECT_TRUE(submitted.ok()) << submitted.message();
    };
    std::vector<Tensor> singles;
    for (size_t i = begin; i < end; ++i) {
      std::vector<Tensor> group;
      auto& tensors = units_[i].group.empty() ? singles : group;
      for (const size_t one : units_[i].tensors) tensors.push_back(Submission(one));
      if (!group.empty()) submit(std::move(group), units_[i].group);
      if (singles.size() >= 5) submit(std::exchange(singles, {}), "");
    }
    submit(std::move(singles), "");
  }

  const Cases& cases_;
  const size_t rank_;
  std::vector<Unit> units_;
  bool in_place_;
  std::vector<Bytes> out_;
  std::vector<Promise> done_;
};

}  // namespace tony::collective
