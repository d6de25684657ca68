// The executor's connection to its job's current ApplicationMaster.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "executor/master/address_source.h"
#include "rpc/security/credentials.h"
#include "rpc/services/executor_session.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// Keeps one stream at a time. When a stream breaks, the ApplicationMaster may have been lost, so
/// the next one is looked up:
///
///   open ──▶ heard ──▶ broken ──▶ looked up, opened anew … until heard again, or patience is over
///
/// An ApplicationMaster that is silent is given more time than one that is gone. A new stream that
/// breaks at once shows that it is gone. While the ApplicationMaster is only silent, the open
/// stream is kept: one that is overloaded would fall further behind if each executor added a
/// handshake. Another stream is opened only when nothing at all has come for long, because then the
/// connection itself may be dead.
///
/// Messages sent while no stream is open are dropped: the first message of the next stream reports
/// everything that counts. Not thread safe: owned by the event loop.
class MasterConnection {
 public:
  struct Options {
    std::string address;  ///< "host:port" of the first ApplicationMaster
    rpc::Credentials credentials;
    std::unique_ptr<AddressSource>
        next;  ///< source of the next addresses; null: there will be none
  };
  struct Callbacks {
    /// Makes the first message of a stream.
    std::function<v1::ExecutorMessage()> hello;
    std::function<void(const v1::MasterMessage&)> on_message;
    /// No ApplicationMaster was reached in time. Called once.
    std::function<void(const std::string& why)> on_lost;
    /// After Close(): everything queued was sent, or never will be. Called once.
    std::function<void()> on_closed;
  };

  MasterConnection(EventLoop& loop, Options options, Callbacks callbacks);

  /// "host:port" of the current or last ApplicationMaster.
  const std::string& address() const { return address_; }

  void Open();
  void Send(v1::ExecutorMessage message);
  /// Sends what is queued and ends the stream. on_closed follows, not from within this call.
  void Close();
  /// Drops the stream as if it had broken, because this ApplicationMaster has been replaced and
  /// must not be obeyed.
  void Refuse();
  /// Reports that an expected message has not come. If nothing at all comes from now on, another
  /// stream is opened.
  void AwaitSign();
  struct Patience {
    Duration gone = std::chrono::seconds(10);    ///< limit for finding another ApplicationMaster
    Duration silent = std::chrono::seconds(10);  ///< limit for a silent ApplicationMaster to answer
    Duration sign = std::chrono::seconds(10);    ///< time until another stream is opened to it
  };
  void set_patience(const Patience& patience) { patience_ = patience; }

 private:
  void OnHeard(int stream, const v1::MasterMessage& message);
  void OnStreamClosed(int stream, const absl::Status& status);
  void OnBroken(const std::string& why);
  void AwaitAnswer(const std::string& why);
  void TryAgainLater();
  void TryAgain(const absl::StatusOr<std::string>& address);
  void Lose(const std::string& why);

  EventLoop& loop_;
  const Options options_;
  const Callbacks callbacks_;
  std::string address_;  ///< address of the current or last stream
  Patience patience_;
  bool silent_ = false;  ///< a stream was open, but nothing came on it
  Duration pause_{0};    ///< backoff before the same address is tried again
  TimePoint tried_at_;
  int stream_ = 0;  ///< number of the newest stream
  bool closing_ = false;
  bool over_ = false;  ///< on_lost or on_closed was called
  std::string why_;    ///< why the last stream broke
  std::unique_ptr<EventLoop::Handle> retry_;
  std::unique_ptr<EventLoop::Handle> deadline_;    ///< runs while nothing is heard
  std::unique_ptr<EventLoop::Handle> no_sign_;     ///< runs since AwaitSign()
  std::unique_ptr<rpc::ExecutorSession> session_;  ///< last: its callbacks use the rest
};

}  // namespace tony::executor
