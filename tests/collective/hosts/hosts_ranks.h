// Ranks of several hosts for tests, of which some share memory: all on this machine.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "collective/host/host_group.h"
#include "collective/hosts/hosts_group.h"
#include "tests/collective/net/net_ranks.h"

namespace tony::collective {

inline int RanksOf(const HostTable& hosts) {
  size_t ranks = 0;
  for (const auto& host : hosts) ranks += host.size();
  return static_cast<int>(ranks);
}

/// The shared memory of each host's ranks.
class HostMemories {
 public:
  explicit HostMemories(const HostTable& hosts) : hosts_(hosts) {
    for (const auto& host : hosts) {
      auto memory = HostGroup::CreateMemory(static_cast<int>(host.size()));
      EXPECT_TRUE(memory.ok());
      memories_.push_back(std::move(*memory));
    }
  }
  std::unique_ptr<HostGroup> GroupOf(int rank) const {
    for (size_t host = 0; host < hosts_.size(); ++host) {
      const auto& ranks = hosts_[host];
      for (size_t local = 0; local < ranks.size() && ranks.size() > 1; ++local) {
        if (ranks[local] != rank) continue;
        auto group = HostGroup::Join(memories_[host], static_cast<int>(local),
                                     static_cast<int>(ranks.size()));
        EXPECT_TRUE(group.ok());
        return std::move(*group);
      }
    }
    return nullptr;
  }

 private:
  const HostTable& hosts_;
  std::vector<std::shared_ptr<SharedMemory>> memories_;
};

/// Each rank in a thread of its own.
inline void InHosts(const HostTable& hosts, const std::function<void(HostsGroup&)>& body,
                    SwitchPoints points = {}) {
  const HostMemories memories(hosts);
  InMesh(RanksOf(hosts), [&](const std::shared_ptr<NetMesh>& mesh) {
    HostsGroup group(mesh, memories.GroupOf(mesh->rank()), hosts, points);
    body(group);
  });
}

}  // namespace tony::collective
