// Ranks with an engine each for tests, as threads that meet as a job's ranks do.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collective/meeting/meeting.h"
#include "tests/collective/engine_ranks.h"
#include "tests/collective/memory_store.h"

namespace tony::collective {

enum class Way {
  kMemory,  ///< all share memory
  kTcp,     ///< nobody does
  kHosts,   ///< even ranks, and odd ones
};

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string NameOfWay(const ::testing::TestParamInfo<Way>& way) {
  if (way.param == Way::kMemory) return "Memory";
  return way.param == Way::kTcp ? "Tcp" : "Hosts";
}

inline Meeting MeetingOf(Way way, int rank, int ranks) {
  Meeting meeting = {.rank = rank, .ranks = ranks, .secret = kSecret};
  meeting.shared_memory = way != Way::kTcp;
  if (way == Way::kHosts) meeting.host = rank % 2 == 0 ? "even" : "odd";
  return meeting;
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
