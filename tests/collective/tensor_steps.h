// Steps of a training that has tensors of all kinds.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/collective/engine_ranks.h"
#include "tests/collective/tensor_case.h"

namespace tony::collective {

using Cases = std::vector<TensorCase>;

/// Of one rank: all tensors from three threads, in any order, in groups of some of them.
inline void SubmitAndCheck(Engine& engine, size_t rank, const Cases& cases, unsigned seed) {
  std::mt19937 random(seed * 100 + static_cast<unsigned>(rank));
  std::vector<size_t> order(cases.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<Bytes> out(cases.size());
  std::vector<Promise> done(cases.size());
  const bool in_place = random() % 2 == 0;
  const auto submit = [&](size_t begin, size_t end) {
    std::vector<Tensor> tensors;
    for (size_t i = begin; i < end; ++i) {
      const size_t one = order[i];
      out[one] = cases[one].in[rank];
      tensors.push_back(cases[one].Submission(rank, out[one], in_place));
      if (cases[one].HasOutput()) {
        tensors.back().on_output = done[one].OutputCallback();
      } else {
        tensors.back().on_done = done[one].Callback();
      }
      if (tensors.size() < 5 && i + 1 < end) continue;
      const Status submitted = engine.Submit(std::move(tensors));
      EXPECT_TRUE(submitted.ok()) << submitted.message();
      tensors.clear();
    }
  };
  const size_t part = cases.size() / 3;
  std::thread first([&] { submit(0, part); });
  std::thread second([&] { submit(part, 2 * part); });
  submit(2 * part, cases.size());
  first.join();
  second.join();
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto [status, output] = done[i].GetAll();
    cases[i].Check(rank, out[i], status, output);
  }
}

}  // namespace tony::collective
