// An ApplicationMaster of a test's own, and executors that send logs through its tunnels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/follow/master_source.h"
#include "common/event_loop.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/log_piece.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/services/event_log.h"
#include "rpc/services/master_server.h"
#include "rpc/tunnel/log_sender.h"

namespace tony::client {

inline constexpr char kJob[] = "job-1";
inline constexpr std::chrono::seconds kPatience{30};

/// Lines and sentences that a test waits for. Thread safe.
class Heard {
 public:
  void Push(const std::string& text) {
    const std::lock_guard lock(mutex_);
    all_.push_back(text);
    changed_.notify_all();
  }
  bool WaitFor(const std::string& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, kPatience, [&] { return std::find(all_.begin(), all_.end(), text) != all_.end(); });
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
};

/// An ApplicationMaster, and executors that send the logs in folders, on a loop of their own.
class LogCluster {
 public:
  explicit LogCluster(const rpc::CertificateAuthority& authority) : authority_(authority) {
    server_ = rpc::MasterServer::Start("127.0.0.1", rpc::Peers::kOwnUser,
                                       authority_.Issue(rpc::ApplicationMasterRole(kJob)).value(),
                                       jobs_, executors_)
                  .value();
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~LogCluster() {
    relay_.Close("the job is over");
    loop_.Post([this] {
      senders_.clear();
      troubled_.reset();
      loop_.Stop();
    });
    thread_.join();
    server_.reset();
  }

  const std::string& address() const { return server_->address(); }
  void Run(const std::string& container, const std::string& folder) {
    loop_.Post([this, container, folder] {
      senders_[container] = std::make_unique<rpc::LogSenders>(loop_, folder);
    });
  }
  /// The executor leaves in order.
  void Finish(const std::string& container) {
    loop_.Post([this, container] { senders_[container]->Finish([] {}); });
  }
  /// The executor is gone.
  void Lose(const std::string& container) {
    loop_.Post([this, container] { senders_.erase(container); });
  }
  /// Makes the ApplicationMaster refuse the first `times` tunnels to the container.
  void Refuse(const std::string& container, const absl::Status& why, int times) {
    loop_.Post([this, container, why, times] { refusals_[container] = {why, times}; });
  }
  /// The executor can read one of the container's logs no further, and then ends.
  void Trouble(const std::string& container, const logs::LogPiece& piece) {
    loop_.Post([this, container, piece] { troubles_[container] = piece; });
  }
  void Say(const core::JobEvent& event) { log_.Append(rpc::ToProto(event)); }
  void Close() { log_.Close(); }

  Heard wishes;  ///< containers

 private:
  void Take(const rpc::TunnelRelay::Wish& wish) {
    const std::string container = wish.logs->container();
    wishes.Push(container);
    const auto refusal = refusals_.find(container);
    if (refusal != refusals_.end() && refusal->second.second-- > 0) {
      return relay_.Refuse(wish.tunnel, refusal->second.first);
    }
    const auto found = senders_.find(container);
    if (found == senders_.end()) {
      return relay_.Refuse(wish.tunnel, absl::NotFoundError("no such container"));
    }
    relay_.Expect(wish.tunnel, container);
    const auto dialer = std::make_shared<rpc::TunnelDialer>(
        address(), authority_.Issue(rpc::ExecutorRole(kJob, container)).value());
    const auto trouble = troubles_.find(container);
    if (trouble != troubles_.end()) return SendTrouble(wish.tunnel, *dialer, trouble->second);
    EXPECT_TRUE(found->second->Send(wish.tunnel, *wish.logs, dialer).ok());
  }
  void SendTrouble(int64_t tunnel, const rpc::TunnelDialer& dialer, const logs::LogPiece& piece) {
    v1::TunnelFrame log, end;
    *log.mutable_log() = rpc::ToProto(piece);
    end.mutable_end();
    const auto on_written = [this, frames = std::make_shared<std::deque<v1::TunnelFrame>>(
                                       std::deque<v1::TunnelFrame>{log, end})] {
      loop_.Post([this, frames] {
        if (frames->empty() || troubled_ == nullptr) return;
        troubled_->Write(frames->front());
        frames->pop_front();
      });
    };
    troubled_ = dialer.Answer(tunnel, absl::OkStatus(),
                              {[](const auto&) {}, on_written, [](const absl::Status&) {}});
    troubled_->Read();
  }

  const rpc::CertificateAuthority& authority_;
  EventLoop loop_;
  rpc::EventLog log_;
  rpc::TunnelRelay relay_{
      [this](const rpc::TunnelRelay::Wish& wish) { loop_.Post([this, wish] { Take(wish); }); }};
  rpc::JobService jobs_{kJob, log_, relay_, {}};
  rpc::ExecutorService executors_{kJob, relay_, {[](const core::JobInput&) {}}};
  std::map<std::string, std::unique_ptr<rpc::LogSenders>> senders_;
  std::map<std::string, std::pair<absl::Status, int>> refusals_;
  std::map<std::string, logs::LogPiece> troubles_;
  std::unique_ptr<rpc::TunnelEnd> troubled_;
  std::unique_ptr<rpc::MasterServer> server_;
  std::thread thread_;
};

/// Gives the ApplicationMasters at `addresses`, one after the other.
class Masters : public MasterSource {
 public:
  Masters(EventLoop& loop, std::vector<std::string> addresses, rpc::Credentials credentials)
      : loop_(loop), addresses_(std::move(addresses)), credentials_(std::move(credentials)) {}

  void Start(Callbacks callbacks) override {
    callbacks_ = std::move(callbacks);
    Next();
  }
  void OnAnswer() override {}
  void OnConcluded() override {}
  void OnStreamClosed(const absl::Status& /*why*/) override { Next(); }
  void OnNoAnswer() override {}
  void Abandon(const std::string& /*sentence*/, std::function<void(absl::Status)> done) override {
    done(absl::OkStatus());
  }
  absl::Status ReadEvents(const history::UseEvent& /*use*/) override { return absl::OkStatus(); }
  std::string AfterLeaving() const override { return ""; }

 private:
  void Next() {
    loop_.Post([this] {
      if (next_ == addresses_.size()) {
        return callbacks_.over(std::nullopt, absl::UnavailableError("no other one comes"));
      }
      callbacks_.found(std::make_unique<rpc::JobClient>(addresses_[next_++], credentials_));
    });
  }

  EventLoop& loop_;
  const std::vector<std::string> addresses_;
  const rpc::Credentials credentials_;
  size_t next_ = 0;
  Callbacks callbacks_;
};

}  // namespace tony::client
