// Ranks for tests that are connected by TCP over loopback.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collective/net/net_acceptor.h"
#include "collective/net/net_group.h"
#include "collective/net/net_mesh.h"

namespace tony::collective {

inline constexpr char kNetSecret[] = "the job's token";

/// An acceptor of each rank, which all know of each other.
class NetAcceptors {
 public:
  explicit NetAcceptors(int ranks, int streams = 2, bool wire_mac = false) {
    table_.wire_mac = wire_mac;
    table_.secret = kNetSecret;
    table_.run = "run";
    table_.streams = streams;
    for (int rank = 0; rank < ranks; ++rank) {
      auto acceptor = NetAcceptor::Open("127.0.0.1", true);
      EXPECT_TRUE(acceptor.ok()) << acceptor.status().message();
      acceptors_.push_back(std::move(*acceptor));
      table_.addresses.push_back(acceptors_.back()->address());
    }
  }

  NetAcceptor& acceptor(int rank) { return *acceptors_[static_cast<size_t>(rank)]; }
  NetTable TableOf(int rank) const {
    NetTable table = table_;
    table.rank = rank;
    return table;
  }
  Result<NetConnections> Connect(int rank, Deadline deadline = After(std::chrono::seconds(60))) {
    return acceptor(rank).Meet(TableOf(rank), deadline);
  }
  std::shared_ptr<NetMesh> Mesh(int rank) {
    auto connections = Connect(rank);
    EXPECT_TRUE(connections.ok()) << connections.status().message();
    if (!connections.ok()) return nullptr;
    auto mesh = NetMesh::Create(rank, std::move(connections->peers));
    EXPECT_TRUE(mesh.ok()) << mesh.status().message();
    return std::move(*mesh);
  }

 private:
  std::vector<std::unique_ptr<NetAcceptor>> acceptors_;
  NetTable table_;
};

inline NetGroup GroupOfAll(std::shared_ptr<NetMesh> mesh, SwitchPoints points = {}) {
  std::vector<int> all(static_cast<size_t>(mesh->ranks()));
  std::iota(all.begin(), all.end(), 0);
  return {std::move(mesh), std::move(all), points};
}

/// Each rank in a thread of its own. No mesh goes before all are done.
inline void InMesh(int ranks, const std::function<void(std::shared_ptr<NetMesh>)>& body,
                   int streams = 2, bool wire_mac = false) {
  NetAcceptors acceptors(ranks, streams, wire_mac);
  std::vector<std::shared_ptr<NetMesh>> meshes(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto& mesh = meshes[static_cast<size_t>(rank)];
      mesh = acceptors.Mesh(rank);
      if (mesh != nullptr) body(mesh);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tony::collective
