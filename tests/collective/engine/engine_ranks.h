// Ranks with an engine each for tests, as threads, and what their callbacks are told.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collective/engine/engine.h"
#include "collective/host/host_members.h"
#include "tests/collective/patience.h"

namespace tony::collective {

inline constexpr char kSecret[] = "secret";

inline Request Floats(const std::string& name, size_t count) {
  return {.name = name, .shape = {static_cast<int64_t>(count)}};
}

/// Stores the arguments of a callback, for a thread to wait for.
class Promise {
 public:
  using Told = std::pair<Status, Output>;

  Engine::OnDone Callback() {
    return [told = told_](const Status& status) { told->set_value(Told(status, Output{})); };
  }
  Engine::OnOutput OutputCallback() {
    return [told = told_](const Status& status, Output output) {
      told->set_value(Told(status, std::move(output)));
    };
  }
  Status Get() { return GetAll().first; }
  Told GetAll() {
    auto future = told_->get_future();
    if (future.wait_for(kPatience) != std::future_status::ready) {
      return Told(Status(Code::kDeadlineExceeded, "nobody was told"), Output{});
    }
    return future.get();
  }

 private:
  std::shared_ptr<std::promise<Told>> told_ = std::make_shared<std::promise<Told>>();
};

inline std::unique_ptr<Members> MeetAtAcceptor(HostAcceptor& acceptor, int rank, int ranks) {
  auto members =
      rank == 0 ? acceptor.Admit(ranks, kSecret, After(kPatience))
                : HostAcceptor::Enter(acceptor.address(), rank, ranks, kSecret, After(kPatience));
  EXPECT_TRUE(members.ok()) << members.status().message();
  return members.ok() ? std::move(*members) : nullptr;
}

/// Each rank in a thread of its own.
inline void EnginesInThreads(int ranks, const std::function<void(Engine&, int rank)>& body,
                             Engine::Options options = {}) {
  auto acceptor = HostAcceptor::Open();
  ASSERT_TRUE(acceptor.ok());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto members = MeetAtAcceptor(**acceptor, rank, ranks);
      ASSERT_NE(members, nullptr);
      Engine engine(std::move(members), options);
      body(engine, rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// So that no rank leaves before all others have done theirs.
inline void MeetAgain(Engine& engine) {
  Promise done;
  ASSERT_TRUE(engine.Barrier("end", done.Callback()).ok());
  const Status status = done.Get();
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace tony::collective
