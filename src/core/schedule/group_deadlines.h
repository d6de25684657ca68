// When a task type has run on for too long after a group of others has ended.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "core/model/job_description.h"

namespace tony::core {

/// A limit that has passed.
struct OverdueType {
  std::string type;
  bool ignored = false;  ///< do not wait for the type any longer; else the job has failed
  std::string sentence;  ///< complete, without full stop

  bool operator==(const OverdueType&) const = default;
};

/// 1. A type has ended when all its tasks are over, whatever came of them; a group when all its
///    types have.
/// 2. From the end of a group, each type that depends on it by a DependencyTimeout has that long to
///    end. Whether it had begun by then makes no difference.
/// 3. A limit is reported once. After an ignored one the type is not waited for, so its other
///    limits do not matter any more; of several, the earliest decides, and the first in the job's
///    order where they are at one time. Unlike in TonY a type may have limits after several groups.
/// 4. A type that runs again has not ended. Its limits count anew, from its restart where the group
///    remains ended.
/// Not thread safe. Does no I/O.
class GroupDeadlines {
 public:
  explicit GroupDeadlines(std::vector<DependencyTimeout> timeouts);

  /// All tasks of `type` are over. Told again, the first time counts.
  void OnTypeEnded(const std::string& type, TimePoint now);
  /// `type` runs again.
  void OnTypeRestarted(const std::string& type, TimePoint now);

  /// When TakeDue() will have something; nothing while no limit runs.
  std::optional<TimePoint> NextDeadline() const;
  /// The limits that have passed at `now`, the earliest first, and not more than one of each type.
  std::vector<OverdueType> TakeDue(TimePoint now);

 private:
  struct Limit {
    DependencyTimeout timeout;
    std::set<std::string> running;      ///< types of the group that have not ended
    std::optional<TimePoint> deadline;  ///< once the group has
  };

  bool Counts(const Limit& limit) const;

  std::vector<Limit> limits_;
  std::set<std::string> over_;  ///< types that have ended, or whose limit was reported
};

}  // namespace tony::core
