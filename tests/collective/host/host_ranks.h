// Ranks of one host for tests, as threads that share a mapping.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "collective/host/host_group.h"

namespace tony::collective {

inline std::shared_ptr<SharedMemory> MemoryFor(int ranks) {
  auto memory = HostGroup::CreateMemory(ranks);
  EXPECT_TRUE(memory.ok()) << memory.status().message();
  return std::move(*memory);
}

inline std::unique_ptr<HostGroup> Join(const std::shared_ptr<SharedMemory>& memory, int rank,
                                       int ranks) {
  auto group = HostGroup::Join(memory, rank, ranks);
  EXPECT_TRUE(group.ok()) << group.status().message();
  return std::move(*group);
}

/// Each rank in a thread of its own, which also sees its line in the memory.
inline void InThreadsWithLines(int ranks,
                               const std::function<void(HostGroup&, const RankLine&)>& body) {
  const auto memory = MemoryFor(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto& line = reinterpret_cast<HostMemory*>(memory->data())->Of(rank).line;
      body(*Join(memory, rank, ranks), line);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Each rank in a thread of its own.
inline void InThreads(int ranks, const std::function<void(HostGroup&)>& body) {
  InThreadsWithLines(ranks, [&](HostGroup& group, const RankLine&) { body(group); });
}

}  // namespace tony::collective
