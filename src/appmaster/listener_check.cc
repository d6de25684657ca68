// A timer alternates between opening a connection and judging whether the acceptor has shown a sign
// of life since.
#include "appmaster/listener_check.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace tony::appmaster {
namespace {

/// A single failure is tolerated: the machine may have been suspended or overloaded.
constexpr int kMostFailures = 2;

}  // namespace

ListenerCheck::ListenerCheck(EventLoop& loop, const rpc::ConnectionAcceptor& acceptor,
                             Timing timing, std::function<void(const std::string& why)> on_deaf)
    : loop_(loop), acceptor_(acceptor), timing_(timing), on_deaf_(std::move(on_deaf)) {
  timer_ = loop_.After(timing_.interval, [this] { Begin(); });
}

uint64_t ListenerCheck::Signs() const {
  const rpc::ConnectionAcceptor::Counts counts = acceptor_.counts();
  return counts.accepted + counts.refused + counts.pauses;
}

void ListenerCheck::Begin() {
  signs_before_ = Signs();
  attempt_ = TcpSocket::Connect(loop_, acceptor_.number(), acceptor_.port(),
                                [this](absl::StatusOr<std::unique_ptr<TcpSocket>> socket) {
                                  if (socket.ok()) connection_ = *std::move(socket);
                                });
  timer_ = loop_.After(timing_.patience, [this] { Judge(); });
}

void ListenerCheck::Judge() {
  attempt_.reset();
  connection_.reset();
  failures_ = Signs() > signs_before_ ? 0 : failures_ + 1;
  if (failures_ > 0) {
    LogWarning("the own port does not answer", {{"port", acceptor_.port()}, {"times", failures_}});
  }
  if (failures_ >= kMostFailures) {
    return on_deaf_(absl::StrCat("nobody can connect to port ", acceptor_.port(),
                                 " of this ApplicationMaster any more"));
  }
  timer_ = loop_.After(timing_.interval, [this] { Begin(); });
}

}  // namespace tony::appmaster
