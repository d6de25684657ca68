// Each limit keeps the set of its group's running types; the clock starts when that set becomes
// empty.
#include "core/schedule/group_deadlines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tony::core {
namespace {

std::string SentenceOf(const DependencyTimeout& timeout) {
  const double seconds =
      static_cast<double>(std::chrono::milliseconds(timeout.limit).count()) / 1000.0;
  const std::string key =
      absl::StrCat("tony.application.dependency.", timeout.type, ".timeout.after.", timeout.group);
  return absl::StrCat(
      timeout.type, " had not ended ", seconds, " s after group ", timeout.group, " (",
      absl::StrJoin(timeout.group_types, ", "), ") had, which is the limit of ", key,
      timeout.ignored
          ? "; it is not waited for any longer"
          : absl::StrCat("; raise it, or set ", key, ".ignored to true to go on without it"));
}

}  // namespace

GroupDeadlines::GroupDeadlines(std::vector<DependencyTimeout> timeouts) {
  for (DependencyTimeout& timeout : timeouts) {
    Limit limit;
    limit.running.insert(timeout.group_types.begin(), timeout.group_types.end());
    limit.timeout = std::move(timeout);
    limits_.push_back(std::move(limit));
  }
}

bool GroupDeadlines::Counts(const Limit& limit) const {
  return limit.deadline && !over_.contains(limit.timeout.type);
}

void GroupDeadlines::OnTypeEnded(const std::string& type, TimePoint now) {
  over_.insert(type);
  for (Limit& limit : limits_) {
    if (limit.running.erase(type) > 0 && limit.running.empty()) {
      limit.deadline = now + limit.timeout.limit;
    }
  }
}

void GroupDeadlines::OnTypeRestarted(const std::string& type, TimePoint now) {
  over_.erase(type);
  for (Limit& limit : limits_) {
    // The clock of the restarted type starts again; a group with a restarted type has not ended any
    // more.
    if (limit.deadline && limit.timeout.type == type) limit.deadline = now + limit.timeout.limit;
    const std::vector<std::string>& group = limit.timeout.group_types;
    if (std::find(group.begin(), group.end(), type) == group.end()) continue;
    limit.running.insert(type);
    limit.deadline.reset();
  }
}

std::optional<TimePoint> GroupDeadlines::NextDeadline() const {
  std::optional<TimePoint> next;
  for (const Limit& limit : limits_) {
    if (Counts(limit) && (!next || *limit.deadline < *next)) next = limit.deadline;
  }
  return next;
}

std::vector<OverdueType> GroupDeadlines::TakeDue(TimePoint now) {
  std::vector<const Limit*> due;
  for (const Limit& limit : limits_) {
    if (Counts(limit) && *limit.deadline <= now) due.push_back(&limit);
  }
  std::stable_sort(due.begin(), due.end(), [](const Limit* left, const Limit* right) {
    return *left->deadline < *right->deadline;
  });
  std::vector<OverdueType> overdue;
  for (const Limit* limit : due) {
    const DependencyTimeout& timeout = limit->timeout;
    if (!over_.insert(timeout.type).second) continue;
    overdue.push_back({timeout.type, timeout.ignored, SentenceOf(timeout)});
  }
  return overdue;
}

}  // namespace tony::core
