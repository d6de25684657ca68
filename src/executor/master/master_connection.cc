// A new number for each stream makes callbacks of older streams recognizable. Retries use
// exponential backoff, which starts anew with each message that is heard.
#include "executor/master/master_connection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/logging.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{2000};
/// A new stream that breaks within this time was refused by the machine, so the ApplicationMaster
/// is gone. If it is only silent, its kernel accepts the connection, which then waits for longer.
constexpr milliseconds kRefusedAtOnce{2000};

}  // namespace

MasterConnection::MasterConnection(EventLoop& loop, Options options, Callbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      address_(options_.address) {}

// Callbacks come on threads of gRPC and are posted to the loop. A posted callback may arrive after
// another stream was opened, so each carries the number of its stream.
void MasterConnection::Open() {
  const int stream = ++stream_;
  no_sign_.reset();
  tried_at_ = SystemClock().Now();
  session_ = std::make_unique<rpc::ExecutorSession>(
      address_, options_.credentials,
      rpc::ExecutorSession::Callbacks{
          [this, stream](v1::MasterMessage message) {
            loop_.Post([this, stream, message = std::move(message)] { OnHeard(stream, message); });
          },
          [this, stream](absl::Status status) {
            loop_.Post([this, stream, status] { OnStreamClosed(stream, status); });
          }});
  session_->Send(callbacks_.hello());
}

// Any message proves that the ApplicationMaster is there, so it clears every deadline and the
// backoff.
void MasterConnection::OnHeard(int stream, const v1::MasterMessage& message) {
  if (stream != stream_ || over_) {
    return LogDebug("a message of an earlier stream is ignored",
                    {{"stream", stream}, {"peer", address_}});
  }
  if (deadline_ != nullptr) LogDebug("the ApplicationMaster is heard again", {{"peer", address_}});
  no_sign_.reset();
  deadline_.reset();
  silent_ = false;
  pause_ = Duration::zero();
  callbacks_.on_message(message);
}

void MasterConnection::Send(v1::ExecutorMessage message) {
  if (session_ != nullptr) session_->Send(std::move(message));
}

void MasterConnection::Close() {
  closing_ = true;
  retry_.reset();
  deadline_.reset();
  no_sign_.reset();
  if (session_ != nullptr) return session_->Close();
  over_ = true;
  loop_.Post([this] { callbacks_.on_closed(); });
}

void MasterConnection::Refuse() { OnBroken("it is an older ApplicationMaster's"); }

void MasterConnection::AwaitSign() {
  // If there is a deadline, another stream is already being opened.
  if (closing_ || over_ || deadline_ != nullptr || session_ == nullptr) return;
  silent_ = true;
  LogInfo("the ApplicationMaster is silent: opening another stream", {{"peer", address_}});
  AwaitAnswer("it is silent");
  no_sign_ = loop_.After(patience_.sign, [this] { Open(); });
}

void MasterConnection::OnStreamClosed(int stream, const absl::Status& status) {
  if (stream != stream_ || over_) return;
  if (closing_) {
    over_ = true;
    LogDebug("the stream to the ApplicationMaster is closed", {{"peer", address_}});
    callbacks_.on_closed();
    return;
  }
  if (absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status)) {
    return Lose(status.ToString());
  }
  OnBroken(status.ToString());
}

// A stream to a silent ApplicationMaster that breaks at once shows that the ApplicationMaster is
// gone; the longer patience for a silent one then gives way to that for a lost one.
void MasterConnection::OnBroken(const std::string& why) {
  session_.reset();
  no_sign_.reset();
  if (options_.next == nullptr) return Lose(why);
  if (deadline_ == nullptr)
    LogInfo("the stream to the ApplicationMaster broke", {{"peer", address_}, {"why", why}});
  if (silent_ && SystemClock().Now() < tried_at_ + kRefusedAtOnce) {
    silent_ = false;
    deadline_.reset();
  }
  AwaitAnswer(why);
  pause_ = std::clamp<Duration>(pause_ * 2, kFirstPause, kLongestPause);
  TryAgainLater();
}

void MasterConnection::AwaitAnswer(const std::string& why) {
  why_ = why;
  if (deadline_ != nullptr) return;
  deadline_ = loop_.After(silent_ ? patience_.silent : patience_.gone, [this] { Lose(why_); });
}

void MasterConnection::TryAgainLater() {
  retry_ = loop_.After(options_.next->interval(), [this] {
    options_.next->LookUp(
        [this](const absl::StatusOr<std::string>& address) { TryAgain(address); });
  });
}

// A new address is tried at once. The same address is tried again only after the backoff, because
// the file may still name an ApplicationMaster that was lost.
void MasterConnection::TryAgain(const absl::StatusOr<std::string>& address) {
  if (closing_ || over_) return;
  if (absl::IsNotFound(address.status())) {
    // An ApplicationMaster that ends in good order removes its address.
    return Lose(absl::StrCat("the job is over: ", std::string(address.status().message())));
  }
  if (!address.ok()) {
    LogDebug("the ApplicationMaster's address is not known", {{"why", address.status().message()}});
    return TryAgainLater();
  }
  const bool another = *address != address_;
  if (!another && SystemClock().Now() < tried_at_ + pause_) return TryAgainLater();
  if (another) pause_ = Duration::zero();
  LogDebug("connecting to the ApplicationMaster again",
           {{"peer", *address}, {"another", another ? "yes" : "no"}});
  address_ = *address;
  Open();
}

void MasterConnection::Lose(const std::string& why) {
  if (std::exchange(over_, true)) return;
  LogWarning("the ApplicationMaster is given up", {{"peer", address_}, {"why", why}});
  retry_.reset();
  deadline_.reset();
  no_sign_.reset();
  session_.reset();
  callbacks_.on_lost(why);
}

}  // namespace tony::executor
