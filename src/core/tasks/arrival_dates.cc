// The way of a message takes milliseconds, which dates are late by.
#include "core/tasks/arrival_dates.h"

#include <algorithm>
#include <utility>

namespace tony::core {
namespace {

void Age(int64_t waited, int64_t& ago) {
  if (ago >= 0) ago += waited;
}

// Nothing happened before 1970; a date of 0 would mean that there is none.
void Date(int64_t now_millis, int64_t& ago, int64_t& date) {
  if (ago < 0) return;
  const int64_t past = std::exchange(ago, -1);
  date = std::max<int64_t>(1, now_millis - past);
}

}  // namespace

void AgeProgress(Duration waited, TaskUsage& usage) {
  if (!usage.progress) return;
  const int64_t millis = std::max<int64_t>(0, waited / std::chrono::milliseconds(1));
  Age(millis, usage.progress->first_step_ago_millis);
  if (usage.progress->checkpoint) Age(millis, usage.progress->checkpoint->ago_millis);
}

void DateProgress(int64_t now_millis, TaskUsage& usage) {
  if (!usage.progress) return;
  Progress& progress = *usage.progress;
  Date(now_millis, progress.first_step_ago_millis, progress.first_step_millis);
  if (progress.checkpoint) {
    Date(now_millis, progress.checkpoint->ago_millis, progress.checkpoint->millis);
  }
}

void DateExit(int64_t now_millis, TaskExit& exit) {
  Date(now_millis, exit.ended_ago_millis, exit.ended_millis);
}

int64_t ClockAhead(int64_t host_millis, int64_t master_millis) {
  if (host_millis <= 0 || master_millis <= 0) return 0;
  const int64_t ahead = host_millis - master_millis;
  return std::max(ahead, -ahead) <= kArrivalToleranceMillis ? 0 : ahead;
}

}  // namespace tony::core
