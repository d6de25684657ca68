// Tries the addresses one after the other and overlapping in time, as in Happy Eyeballs (RFC 8305):
// a slow address does not delay the others, and the first valid reply wins.
#include "driver/worker_notifier.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/logging.h"
#include "common/tcp_socket.h"

namespace tony::driver {
namespace {

/// Upper bound of the addresses that a message names.
constexpr size_t kMostNamed = 4;

bool IsLoopback(const WorkerAddress::Endpoint& endpoint) {
  return absl::StartsWith(endpoint.address, "127.") || absl::StartsWith(endpoint.address, "0.");
}

std::string Name(const WorkerAddress::Endpoint& endpoint) {
  return absl::StrCat(endpoint.address, ":", endpoint.port, " (",
                      absl::Utf8SafeCHexEscape(endpoint.interface), ")");
}

}  // namespace

// The partition is stable, so the addresses of each kind stay in the worker's order.
std::vector<WorkerAddress::Endpoint> EndpointsToTry(const WorkerAddress& worker,
                                                    WorkerMachine machine) {
  std::vector<WorkerAddress::Endpoint> endpoints = worker.endpoints;
  const auto others = std::stable_partition(endpoints.begin(), endpoints.end(), IsLoopback);
  if (machine == WorkerMachine::kAnother && others != endpoints.end()) {
    endpoints.erase(endpoints.begin(), others);
  }
  return endpoints;
}

/// One request at one address.
class WorkerNotifier::Attempt {
 public:
  /// OK – the worker has acknowledged the request. Called once; may destroy the attempt.
  using OnOver = std::function<void(const absl::Status&)>;

  Attempt(EventLoop& loop, const WorkerAddress::Endpoint& endpoint, const std::string& secret,
          const std::string& request, OnOver on_over)
      : secret_(secret), on_over_(std::move(on_over)) {
    connecting_ =
        TcpSocket::Connect(loop, endpoint.address, endpoint.port, [this, request](auto socket) {
          if (!socket.ok()) return End(socket.status());
          socket_ = *std::move(socket);
          Send(request);
        });
  }

  bool over() const { return over_; }

 private:
  void Send(const std::string& request) {
    socket_->Write(request,
                   [this](const absl::Status& status) { status.ok() ? Read() : End(status); });
  }

  void Read() {
    socket_->Read([this](absl::StatusOr<std::string> bytes) {
      if (!bytes.ok()) return End(bytes.status());
      if (bytes->empty()) {
        return End(absl::UnavailableError("the connection was ended without an answer"));
      }
      reply_ += *bytes;
      if (reply_.size() < kReplyHeadBytes) return Read();
      const absl::StatusOr<size_t> whole = ReplyBytes(reply_);
      if (!whole.ok()) return End(whole.status());
      if (reply_.size() < *whole) return Read();
      End(CheckAck(secret_, reply_));
    });
  }

  void End(const absl::Status& status) {
    over_ = true;
    socket_.reset();
    // The callback may destroy this attempt and on_over_ with it, so a copy is called.
    const OnOver on_over = on_over_;
    on_over(status);
  }

  const std::string secret_;
  const OnOver on_over_;
  std::unique_ptr<EventLoop::Handle> connecting_;
  std::unique_ptr<TcpSocket> socket_;
  std::string reply_;
  bool over_ = false;
};

/// One notification, until the worker has acknowledged it or it has failed.
class WorkerNotifier::Notification {
 public:
  /// May destroy the notification.
  using OnOver = std::function<void(const absl::Status&)>;

  Notification(EventLoop& loop, Limits limits, std::vector<WorkerAddress::Endpoint> endpoints,
               std::string secret, absl::StatusOr<std::string> request, OnOver on_over)
      : loop_(loop),
        limits_(limits),
        endpoints_(std::move(endpoints)),
        secret_(std::move(secret)),
        request_(std::move(request)),
        on_over_(std::move(on_over)) {
    whole_time_ = loop_.After(limits_.in_all, [this] { OnTimeOver(); });
    // The first attempt starts from the loop, so that no callback comes from within the caller's
    // call.
    next_ = loop_.After(Duration::zero(), [this] { TryNext(); });
  }

 private:
  void TryNext() {
    next_.reset();
    if (!request_.ok()) return End(request_.status());
    if (attempts_.size() == endpoints_.size()) {
      // Attempts that are still open come back here through OnAnswer().
      if (failures_.size() == endpoints_.size()) EndWithFailures();
      return;
    }
    const WorkerAddress::Endpoint& endpoint = endpoints_[attempts_.size()];
    attempts_.push_back(std::make_unique<Attempt>(
        loop_, endpoint, secret_, *request_,
        [this, &endpoint](const absl::Status& status) { OnAnswer(endpoint, status); }));
    if (attempts_.size() < endpoints_.size()) {
      next_ = loop_.After(limits_.next_address, [this] { TryNext(); });
    }
  }

  void OnAnswer(const WorkerAddress::Endpoint& endpoint, const absl::Status& status) {
    if (status.ok()) return End(status);
    // The message of a refused connection already names the address.
    const std::string where = absl::StrCat(endpoint.address, ":", endpoint.port, ": ");
    LogDebug("a worker's address has not acknowledged the notification",
             {{"peer", Name(endpoint)}, {"why", status.message()}});
    failures_.push_back(
        absl::StrCat(Name(endpoint), ": ", absl::StripPrefix(status.message(), where)));
    TryNext();
  }

  // At the time-out, addresses that are still silent are listed with those that have failed, so
  // that the message says what happened at each.
  void OnTimeOver() {
    for (size_t i = 0; i < attempts_.size(); ++i) {
      if (!attempts_[i]->over()) failures_.push_back(Name(endpoints_[i]) + ": no answer");
    }
    const size_t untried = endpoints_.size() - attempts_.size();
    End(absl::DeadlineExceededError(
        absl::StrCat("the worker has not answered within ",
                     absl::FormatDuration(absl::FromChrono(limits_.in_all)), ": ", Failures(),
                     untried == 0 ? "" : absl::StrCat("; addresses not tried: ", untried))));
  }

  void EndWithFailures() {
    End(absl::UnavailableError(
        absl::StrCat("the worker cannot be told that the hosts have changed: ",
                     endpoints_.empty() ? "it has no address" : Failures())));
  }

  std::string Failures() const {
    const size_t named = std::min(failures_.size(), kMostNamed);
    const auto end = failures_.begin() + static_cast<std::ptrdiff_t>(named);
    const std::string text = absl::StrJoin(failures_.begin(), end, "; ");
    if (named == failures_.size()) return text;
    return absl::StrCat(text, "; and ", failures_.size() - named, " more");
  }

  void End(const absl::Status& status) {
    // The callback destroys this notification and on_over_ with it, so a copy is called.
    const OnOver on_over = on_over_;
    on_over(status);
  }

  EventLoop& loop_;
  const Limits limits_;
  const std::vector<WorkerAddress::Endpoint> endpoints_;
  const std::string secret_;
  const absl::StatusOr<std::string> request_;
  const OnOver on_over_;
  std::unique_ptr<EventLoop::Handle> whole_time_;
  std::unique_ptr<EventLoop::Handle> next_;  ///< timer of the next attempt; null: none is to come
  std::vector<std::unique_ptr<Attempt>> attempts_;  ///< in the order of endpoints_
  std::vector<std::string> failures_;               ///< one for each ended attempt
};

WorkerNotifier::WorkerNotifier(EventLoop& loop, Limits limits) : loop_(loop), limits_(limits) {}

WorkerNotifier::~WorkerNotifier() = default;

void WorkerNotifier::Notify(const WorkerAddress& worker, WorkerMachine machine, int64_t timestamp,
                            HostChange change, OnDone on_done) {
  notifications_.emplace_back();
  const auto place = std::prev(notifications_.end());
  *place = std::make_unique<Notification>(
      loop_, limits_, EndpointsToTry(worker, machine), worker.secret,
      HostsUpdatedRequest(worker.secret, timestamp, change),
      [this, place, on_done = std::move(on_done)](const absl::Status& status) {
        // erase() destroys the notification, its sockets and this lambda's `on_done`, and the
        // caller's callback may destroy the notifier. So the callback is copied and called last.
        const OnDone done = on_done;
        notifications_.erase(place);
        done(status);
      });
}

}  // namespace tony::driver
