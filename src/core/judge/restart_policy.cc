// Budget, scope and exponential backoff, in this order; only a restart that is allowed is charged.
#include "core/judge/restart_policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

RestartScope ScopeOf(const RestartCause& cause) {
  const bool addresses_change = cause.container_lost || cause.port_taken;
  return addresses_change || !cause.running_since ? RestartScope::kJob : cause.scope;
}

GiveUp Exhausted(RestartBudget budget, int allowed) {
  const bool user = budget == RestartBudget::kUser;
  const char* const key = user ? "tony.am.retry-count" : "tony.am.infrastructure-retry-count";
  const char* const whose = user ? "failures of the program" : "losses of containers and executors";
  if (allowed == 0) return {budget, absl::StrCat(key, " allows no restart after ", whose)};
  return {budget, absl::StrCat(
                      allowed == 1 ? "the one restart" : absl::StrCat("all ", allowed, " restarts"),
                      " after ", whose, " that ", key, " allows ", allowed == 1 ? "is" : "are",
                      " used up")};
}

}  // namespace

RestartPolicy::RestartPolicy(const JobDescription& job, RestartState state)
    : user_allowed_(job.retry_count),
      infrastructure_allowed_(job.infrastructure_retry_count),
      backoff_(job.retry_backoff),
      backoff_max_(job.retry_backoff_max),
      state_(state) {}

RestartBudget RestartPolicy::BudgetOf(const RestartCause& cause) const {
  if (cause.exit.cause == TaskExit::Cause::kLost) return RestartBudget::kInfrastructure;
  if (cause.port_taken && state_.lost_port < kLostPortRestarts) return RestartBudget::kLostPort;
  return RestartBudget::kUser;
}

RestartDecision RestartPolicy::Decide(const RestartCause& cause, TimePoint now) {
  const RestartBudget budget = BudgetOf(cause);
  switch (budget) {
    case RestartBudget::kUser:
      if (state_.user >= user_allowed_) return Exhausted(budget, user_allowed_);
      ++state_.user;
      break;
    case RestartBudget::kInfrastructure:
      if (state_.infrastructure >= infrastructure_allowed_) {
        return Exhausted(budget, infrastructure_allowed_);
      }
      ++state_.infrastructure;
      break;
    case RestartBudget::kLostPort:
      ++state_.lost_port;
      break;
  }
  Restart restart;
  restart.scope = ScopeOf(cause);
  restart.not_before = now + NextDelay(cause, now);
  restart.budget = budget;
  // A job file that has changed since may allow less than the journaled restarts.
  restart.user_left = std::max(0, user_allowed_ - state_.user);
  restart.infrastructure_left = std::max(0, infrastructure_allowed_ - state_.infrastructure);
  restart.lost_port_left = std::max(0, kLostPortRestarts - state_.lost_port);
  return restart;
}

Duration RestartPolicy::NextDelay(const RestartCause& cause, TimePoint now) {
  if (cause.running_since && now - *cause.running_since > backoff_max_) state_.in_a_row = 0;
  const int doublings = state_.in_a_row++ - 1;
  if (doublings < 0) return Duration::zero();
  Duration delay = std::min(backoff_, backoff_max_);
  for (int i = 0; i < doublings && delay < backoff_max_ && delay > Duration::zero(); ++i) {
    delay = std::min(delay * 2, backoff_max_);
  }
  return delay;
}

}  // namespace tony::core
