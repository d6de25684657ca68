// At most one call is in flight; each answer, or a timer that it sets, makes the next call.
#include "backend/yarn/master_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "hadoop/auth/token_message.h"
#include "hadoop/rpc/protocols.h"
#include "hadoop/rpc/remote_exception.h"

namespace tony::backend {
namespace {

namespace yarn = ::hadoop::yarn;
using hadoop::RemoteExceptionName;

constexpr char kNotRegistered[] = "ApplicationMasterNotRegisteredException";
constexpr char kAlreadyRegistered[] = "InvalidApplicationMasterRequestException";
constexpr char kAttemptNotFound[] = "ApplicationAttemptNotFoundException";
constexpr char kInvalidToken[] = "InvalidToken";

// Timeout of one call. It makes the client leave a hanging server for the other one of the pair.
constexpr Duration kAnswerTimeout = std::chrono::seconds(30);

}  // namespace

MasterSession::MasterSession(EventLoop& loop, MasterSessionOptions options, Events events)
    : loop_(loop),
      options_(std::move(options)),
      events_(std::move(events)),
      client_(loop, {.protocol = hadoop::kApplicationMaster,
                     .servers = options_.scheduler,
                     .identity = {.token = options_.token, .protection = options_.protection}}) {}

void MasterSession::Start() { Register(); }

bool MasterSession::answered_lately() const {
  return clock_.Now() - last_answer_ < 2 * options_.slow_heartbeat;
}

void MasterSession::Register() {
  state_ = State::kRegistering;
  client_.Call<RegisterResponse>("registerApplicationMaster", options_.registration,
                                 options_.away_limit, hadoop::Retry::kUntilDeadline,
                                 [this](const auto& response) { OnRegistered(response); });
}

void MasterSession::OnRegistered(const absl::StatusOr<RegisterResponse>& response) {
  last_answer_ = clock_.Now();
  // "Already registered" means that an earlier call succeeded and its answer was lost with the
  // connection, so it counts as success.
  const bool repeated = RemoteExceptionName(response.status()) == kAlreadyRegistered;
  if (repeated) LogDebug("already registered: the first answer was lost");
  if (!response.ok() && !repeated) {
    LogWarning("the ResourceManager refuses the registration",
               {{"why", response.status().message()}});
    if (finished_) return EndFinish(response.status());
    if (Deposed(response.status())) return;
    return Fail(Annotate(response.status(), "cannot register with the ResourceManager"));
  }
  response_id_ = 0;
  const bool again = std::exchange(was_registered_, true);
  if (finished_) return SendFinish();
  state_ = State::kHeartbeating;
  events_.registered(response.ok() ? *response : RegisterResponse(), again);
  Poke();
}

void MasterSession::Poke() {
  poked_ = true;
  // Allocates on the next turn of the loop, so that everything said in this turn goes into one
  // call.
  if (state_ == State::kHeartbeating && !in_flight_) AllocateAfter(Duration::zero());
}

void MasterSession::AllocateAfter(Duration delay) {
  timer_ = loop_.After(delay, [this] { Allocate(); });
}

void MasterSession::Allocate() {
  timer_ = nullptr;
  poked_ = false;
  allocate_.Clear();
  allocate_.set_response_id(response_id_);
  events_.fill(allocate_);
  SendAllocate();
}

void MasterSession::SendAllocate() {
  in_flight_ = true;
  client_.Call<AllocateResponse>("allocate", allocate_,
                                 std::min(kAnswerTimeout, options_.away_limit),
                                 hadoop::Retry::kUntilDeadline, [this](const auto& response) {
                                   in_flight_ = false;
                                   OnAllocated(response);
                                 });
}

void MasterSession::OnAllocated(const absl::StatusOr<AllocateResponse>& response) {
  if (state_ == State::kFinishing) return SendFinish();
  if (state_ != State::kHeartbeating) return LogDebug("a late answer to a heartbeat is ignored");
  if (!response.ok()) return OnAllocateFailed(response.status());
  last_answer_ = clock_.Now();
  // Releases before Hadoop 2.6 send commands in the answer instead of exceptions.
  if (response->has_a_m_command()) {
    LogInfo("the ResourceManager sends a command", {{"command", response->a_m_command()}});
    if (response->a_m_command() == yarn::AM_RESYNC) return Register();
    return Depose("the ResourceManager told it to shut down");
  }
  response_id_ = response->response_id();
  if (response->has_am_rm_token()) client_.SetToken(hadoop::TokenOf(response->am_rm_token()));
  events_.allocated(*response);
  NextHeartbeat();
}

void MasterSession::OnAllocateFailed(const absl::Status& status) {
  if (RemoteExceptionName(status) == kNotRegistered) {
    LogInfo("the ResourceManager was restarted: registering again");
    return Register();
  }
  if (Deposed(status)) return;
  if (clock_.Now() - last_answer_ >= options_.away_limit) {
    return Fail(Annotate(status, "the ResourceManager is away for too long"));
  }
  // Repeats the identical call. The ResourceManager may have taken it already; the response id
  // tells it that this is the same call.
  if (absl::IsDeadlineExceeded(status)) {
    LogInfo("the ResourceManager does not answer: the heartbeat is repeated",
            {{"response_id", response_id_}, {"why", status.message()}});
    return SendAllocate();
  }
  LogWarning("the ResourceManager refused a heartbeat", {{"why", status.ToString()}});
  events_.refused(status);
  if (!absl::IsInvalidArgument(status)) return AllocateAfter(options_.slow_heartbeat);
  last_answer_ = clock_.Now();
  NextHeartbeat();
}

void MasterSession::NextHeartbeat() {
  if (state_ != State::kHeartbeating) return;
  if (poked_) return AllocateAfter(Duration::zero());
  AllocateAfter(events_.awaiting() ? options_.fast_heartbeat : options_.slow_heartbeat);
}

void MasterSession::Finish(yarn::FinishApplicationMasterRequestProto request,
                           std::function<void(const absl::Status&)> done) {
  finish_ = std::move(request);
  finished_ = std::move(done);
  timer_ = nullptr;
  const State before = std::exchange(state_, State::kFinishing);
  if (before == State::kEnded) {
    state_ = State::kEnded;
    timer_ = loop_.After(Duration::zero(), [this] {
      EndFinish(absl::FailedPreconditionError("this attempt is over"));
    });
  } else if (before == State::kRegistering) {
    state_ = State::kRegistering;  // the answer to the registration continues with the finish
  } else if (before == State::kNew) {
    Register();
  } else if (!in_flight_) {
    SendFinish();
  }
}

void MasterSession::SendFinish() {
  state_ = State::kFinishing;
  client_.Call<FinishResponse>("finishApplicationMaster", finish_, options_.away_limit,
                               hadoop::Retry::kUntilDeadline,
                               [this](const auto& response) { OnFinished(response); });
}

void MasterSession::OnFinished(const absl::StatusOr<FinishResponse>& response) {
  if (RemoteExceptionName(response.status()) == kNotRegistered) {
    LogInfo("the ResourceManager was restarted at the job's end: registering again");
    return Register();
  }
  if (!response.ok()) return EndFinish(response.status());
  if (response->isunregistered()) return EndFinish(absl::OkStatus());
  // The ResourceManager has not stored the end yet, so the call is repeated.
  LogDebug("the ResourceManager has not stored the end yet: telling it again");
  timer_ = loop_.After(options_.fast_heartbeat, [this] { SendFinish(); });
}

void MasterSession::EndFinish(const absl::Status& status) {
  state_ = State::kEnded;
  if (const auto done = std::exchange(finished_, nullptr)) done(status);
}

bool MasterSession::Deposed(const absl::Status& status) {
  const std::string name = RemoteExceptionName(status);
  // The ResourceManager forgets the token of an attempt that is over. Before the first registration
  // the same exception only means that the token is bad.
  if (name != kAttemptNotFound && (name != kInvalidToken || !was_registered_)) return false;
  Depose(std::string(status.message()));
  return true;
}

void MasterSession::Depose(const std::string& sentence) {
  LogWarning("this attempt does not count any more", {{"why", sentence}});
  state_ = State::kEnded;
  events_.deposed(absl::StrCat("this attempt is not the one that counts any more: ", sentence));
}

void MasterSession::Fail(const absl::Status& status) {
  LogError("the session with the ResourceManager failed", {{"why", status.message()}});
  state_ = State::kEnded;
  events_.failed(status);
}

}  // namespace tony::backend
