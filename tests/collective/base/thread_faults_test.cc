// A rank that cannot have its threads: it says so, and the others hear of it.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tests/collective/api/no_threads.h"
#include "tests/collective/base/process_entries.h"
#include "tests/collective/engine/engine_ranks.h"

namespace tony::collective {
namespace {

constexpr int kRanks = 3;
constexpr char kSentence[] =
    "no thread can be started (raise the limit of processes, ulimit -u or the container's "
    "pids.max, or of memory): Resource temporarily unavailable";

class ThreadFaultsTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!WithoutThreads([] {})) GTEST_SKIP() << "this kernel does not refuse threads to a thread";
    before_ = ProcessEntries();
    auto acceptor = HostAcceptor::Open();
    ASSERT_TRUE(acceptor.ok());
    acceptor_ = std::move(*acceptor);
  }
  void TearDown() override {
    if (IsSkipped()) return;
    acceptor_.reset();
    ExpectProcessEntries(before_);
    // All of them can begin again.
    EnginesInThreads(kRanks, [](Engine& engine, int) { MeetAgain(engine); });
  }

  /// The others wait for the parameter's rank, which does `fails`.
  void Ranks(const std::function<void(int rank)>& fails, const std::string& told) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] {
        if (rank == GetParam()) return fails(rank);
        Engine engine(Meet(rank), {});
        for (const char* name : {"a", "b"}) {
          float value = 1;
          Promise done;
          Status ended = engine.AllReduce(Floats(name, 1), &value, &value, done.Callback());
          if (ended.ok()) ended = done.Get();
          EXPECT_EQ(ended.code(), Code::kAborted);
          EXPECT_EQ(ended.message(), told);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::unique_ptr<Members> Meet(int rank) { return MeetAtAcceptor(*acceptor_, rank, kRanks); }

 private:
  std::vector<ptrdiff_t> before_;
  std::unique_ptr<HostAcceptor> acceptor_;
};

void ExpectNoThread(const std::function<void()>& body) {
  WithoutThreads([&] {
    try {
      body();
      ADD_FAILURE() << "there was one";
    } catch (const std::system_error& error) {
      EXPECT_STREQ(error.what(), kSentence);
    }
  });
}

TEST_P(ThreadFaultsTest, OfItsEngine) {
  Ranks(
      [&](int rank) {
        std::unique_ptr<Members> members = Meet(rank);
        ExpectNoThread([&] { const Engine engine(std::move(members), {}); });
      },
      "rank " + std::to_string(GetParam()) + ": " + kSentence);
}

TEST_P(ThreadFaultsTest, OfItsLinks) {
  Ranks([&](int rank) { ExpectNoThread([&] { Meet(rank); }); },
        "rank " + std::to_string(GetParam()) + " has ended");
}

INSTANTIATE_TEST_SUITE_P(EachRank, ThreadFaultsTest, ::testing::Range(0, kRanks));

}  // namespace
}  // namespace tony::collective
