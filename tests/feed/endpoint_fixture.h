// An endpoint on its own thread, with the table of leases that the ApplicationMaster has.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/feed/feed_table.h"
#include "feed/endpoint_thread.h"
#include "rpc/security/certificate_authority.h"
#include "tests/feed/feed_peer.h"
#include "tests/os/temporary_folder.h"

namespace tony::feed {

inline constexpr char kContainer[] = "c1";

/// An ApplicationMaster of one worker.
class EndpointTest : public ::testing::Test {
 protected:
  EndpointTest() {
    setting_.folder = folder_.path();
    setting_.task = "worker:0";
    setting_.token = "secret";
    setting_.buffer_bytes = 16 * kSlotBytes;
    setting_.credentials = rpc::CertificateAuthority::Create("job-1")
                               .value()
                               .Issue(rpc::ExecutorRole("job-1", kContainer))
                               .value();
    setting_.refusal = std::chrono::milliseconds(1);
    setting_.tick = std::chrono::milliseconds(20);
    setting_.report = [this](const core::FeedReport& report) { Take(report); };
  }

  void Start() {
    endpoint_ = EndpointThread::Start(setting_).value();
    endpoint_->Post([](Endpoint& endpoint) {
      endpoint.OnProgramStarted();
      endpoint.ReportAll();
    });
  }

  /// As the executor and the ApplicationMaster do, on the endpoint's thread.
  void Take(const core::FeedReport& report) {
    std::lock_guard lock(mutex_);
    for (const core::FeedTable::Effect& effect : table_->Apply(kContainer, report)) {
      if (effect.container != kContainer) continue;
      endpoint_->Post([order = effect.order](Endpoint& endpoint) { endpoint.OnOrder(order); });
    }
  }

  /// As a client does by the ApplicationMaster.
  void EndFeed() {
    std::lock_guard lock(mutex_);
    const core::FeedTable::Effects effects = table_->End("train").value();
    for (const core::FeedTable::Effect& effect : effects) {
      endpoint_->Post([order = effect.order](Endpoint& endpoint) { endpoint.OnOrder(order); });
    }
  }

  /// The ApplicationMaster is lost, and the next one, which knows nothing, awaits the endpoint's
  /// report.
  void ReplaceMaster() {
    {
      std::lock_guard lock(mutex_);
      table_.emplace(std::set<std::string>{kContainer}, TimePoint::max());
    }
    endpoint_->Post([](Endpoint& endpoint) { endpoint.ReportAll(); });
  }

  core::FeedTable::View View() {
    std::lock_guard lock(mutex_);
    const auto views = table_->Views();
    return views.empty() ? core::FeedTable::View{} : views[0];
  }

  FeedPeer Producer() const { return FeedPeer(endpoint_->producer_path()); }

  /// A program that is attached.
  FeedPeer Program(const std::string& feed = "train") {
    FeedPeer program(endpoint_->program_path());
    EXPECT_TRUE(
        program.Send(FrameType::kAttach, kVersion, absl::StrCat("{\"feed\":\"", feed, "\"}")));
    const Received attached = program.Next();
    EXPECT_EQ(attached.header.type, FrameType::kAttached) << attached.payload;
    EXPECT_EQ(attached.header.argument, kSlots);
    return program;
  }

  /// Sends one batch, once there is a credit.
  static void SendBatch(FeedPeer& producer, const std::string& data, uint64_t rows) {
    while (producer.credits == 0) {
      const Received frame = producer.Next();
      ASSERT_EQ(frame.header.type, FrameType::kCredit) << frame.payload;
      producer.credits += frame.header.argument;
    }
    --producer.credits;
    ASSERT_TRUE(producer.Send(FrameType::kBatch, rows, data, 5));
  }

  /// Returns when the endpoint has looked at all of its connections since `producer` got its first
  /// credit. For a producer that has read nothing yet, and a short setting_.alive.
  static void AwaitTicks(FeedPeer& producer) {
    const Received frame = producer.NextButAlive();
    ASSERT_EQ(frame.header.type, FrameType::kCredit) << frame.payload;
    for (int ticks = 0; ticks < 2; ++ticks) {
      ASSERT_EQ(producer.Next().header.type, FrameType::kAlive);
    }
  }

  static constexpr uint32_t kSlotBytes = 64 * 1024;

  os::TemporaryFolder folder_;
  EndpointSetting setting_;
  std::mutex mutex_;
  std::optional<core::FeedTable> table_{core::FeedTable({}, TimePoint())};
  std::unique_ptr<EndpointThread> endpoint_;
};

}  // namespace tony::feed
