// The executor's way to its job's ApplicationMaster, whichever that is at the moment.
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

/// One stream after the other. When a stream breaks, the ApplicationMaster may have been lost, and
/// the next one is looked up:
///
///   open ──▶ heard ──▶ broken ──▶ looked up, opened anew … until heard again, or patience is over
///
/// One that is there but silent is given more time than one that is gone, which shows when a new
/// stream to it breaks at once. The stream that is there is kept, since one that cannot keep up
/// would do so less with a handshake for each executor. Only when nothing at all comes for long is
/// another one opened: the way there may be what is dead.
///
/// What is sent while no stream is there is dropped: the first message of the next one tells all
/// that counts. Not thread safe: owned by the event loop.
class MasterConnection {
 public:
  struct Options {
    std::string address;  ///< "host:port" of the first one
    rpc::Credentials credentials;
    std::unique_ptr<AddressSource> next;  ///< where others are found; null: there will be none
  };
  struct Callbacks {
    /// The first message of a stream.
    std::function<v1::ExecutorMessage()> hello;
    std::function<void(const v1::MasterMessage&)> on_message;
    /// There is no ApplicationMaster any more, and none has come in time. Once.
    std::function<void(const std::string& why)> on_lost;
    /// After Close(): what was queued has been sent, or never will be. Once.
    std::function<void()> on_closed;
  };

  MasterConnection(EventLoop& loop, Options options, Callbacks callbacks);

  /// "host:port" of the ApplicationMaster that is or was spoken with.
  const std::string& address() const { return address_; }

  void Open();
  void Send(v1::ExecutorMessage message);
  /// Sends what is queued and ends the stream; on_closed follows, not from within this call.
  void Close();
  /// Drops the stream as if it had broken: this is not the ApplicationMaster to obey.
  void Refuse();
  /// Something was due and has not come: when nothing at all comes, another stream is opened.
  void AwaitSign();
  struct Patience {
    Duration gone = std::chrono::seconds(10);    ///< to look for another ApplicationMaster
    Duration silent = std::chrono::seconds(10);  ///< to wait for one that is there
    Duration sign = std::chrono::seconds(10);    ///< before another stream is opened to it
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
  std::string address_;  ///< of the stream that is or was open
  Patience patience_;
  bool silent_ = false;  ///< nothing came on a stream that was there
  Duration pause_{0};    ///< before the same address is tried again
  TimePoint tried_at_;
  int stream_ = 0;  ///< number of the newest stream
  bool closing_ = false;
  bool over_ = false;  ///< on_lost or on_closed was called
  std::string why_;    ///< the last stream broke
  std::unique_ptr<EventLoop::Handle> retry_;
  std::unique_ptr<EventLoop::Handle> deadline_;    ///< while nobody is heard
  std::unique_ptr<EventLoop::Handle> no_sign_;     ///< since AwaitSign()
  std::unique_ptr<rpc::ExecutorSession> session_;  ///< last: its callbacks use the rest
};

}  // namespace tony::executor
