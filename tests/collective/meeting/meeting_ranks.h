// Ranks with an engine each for tests, as threads that meet as a job's ranks do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "collective/meeting/meeting.h"
#include "tests/collective/engine/engine_ranks.h"
#include "tests/collective/meeting/memory_store.h"

namespace tony::collective {

enum class Way {
  kMemory,  ///< all share memory
  kTcp,     ///< nobody does
  kHosts,   ///< even ranks, and odd ones
  kBlocks,  ///< the first ones, and fewer last ones
};

inline std::string NameOf(Way way) {
  if (way == Way::kMemory) return "Memory";
  if (way == Way::kTcp) return "Tcp";
  return way == Way::kHosts ? "Hosts" : "Blocks";
}

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string NameOfWay(const ::testing::TestParamInfo<Way>& way) { return NameOf(way.param); }

/// Whether the rank is one of the second host's.
inline bool IsOnSecondHost(Way way, int rank, int ranks) {
  return way == Way::kHosts ? rank % 2 == 1 : way == Way::kBlocks && rank >= ranks / 2 + ranks % 2;
}

inline Meeting MeetingOf(Way way, int rank, int ranks) {
  Meeting meeting = {.rank = rank, .ranks = ranks, .secret = kSecret};
  meeting.shared_memory = way != Way::kTcp;
  if (way == Way::kHosts || way == Way::kBlocks) {
    meeting.host = IsOnSecondHost(way, rank, ranks) ? "second" : "first";
  }
  return meeting;
}

/// The ranks of `members` that are added up first, by host. They are numbered from 0.
inline std::vector<std::vector<int>> HostsOf(Way way, const std::vector<int>& members, int ranks) {
  std::vector<std::vector<int>> hosts(2);
  for (size_t place = 0; place < members.size(); ++place) {
    hosts[IsOnSecondHost(way, members[place], ranks) ? 1 : 0].push_back(static_cast<int>(place));
  }
  std::erase_if(hosts, [](const auto& host) { return host.empty(); });
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

inline std::vector<std::vector<int>> HostsOf(Way way, int ranks) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return HostsOf(way, all, ranks);
}

/// Each rank in a thread of its own.
inline void EnginesMeet(Way way, int ranks, const std::function<void(Engine&, int rank)>& body,
                        Engine::Options options = {}) {
  SharedKeys keys;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      MemoryStore store(keys);
      auto members = Meet(store, MeetingOf(way, rank, ranks), After(kPatience));
      ASSERT_TRUE(members.ok()) << members.status().message();
      Engine engine(std::move(*members), options);
      body(engine, rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tony::collective
