// The time limits of task types after a group of others has ended.
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
  bool ignored = false;  ///< true: stop waiting for the type; false: the job has failed
  std::string sentence;  ///< complete, without full stop

  bool operator==(const OverdueType&) const = default;
};

/// 1. A type has ended when all its tasks are over, whatever their result; a group has ended when
///    all its types have.
/// 2. From the end of a group, each type that depends on it by a DependencyTimeout has that long to
///    end. It makes no difference whether the type had begun by then.
/// 3. A limit is reported once. After an ignored limit the job no longer waits for the type, so the
///    type's other limits have no effect. Of several limits the earliest decides; at equal times,
///    the first in the job's order. Unlike in TonY, a type may have limits after several groups.
/// 4. A type that runs again has not ended. Its limits start anew, from its restart if the group is
///    still ended.
/// Not thread safe. Does no I/O.
class GroupDeadlines {
 public:
  explicit GroupDeadlines(std::vector<DependencyTimeout> timeouts);

  /// All tasks of `type` are over. Only the first of repeated calls counts.
  void OnTypeEnded(const std::string& type, TimePoint now);
  /// `type` runs again.
  void OnTypeRestarted(const std::string& type, TimePoint now);

  /// The time of the next limit; nullopt while no limit runs.
  std::optional<TimePoint> NextDeadline() const;
  /// The limits that have passed at `now`, the earliest first, and at most one for each type.
  std::vector<OverdueType> TakeDue(TimePoint now);

 private:
  struct Limit {
    DependencyTimeout timeout;
    std::set<std::string> running;      ///< types of the group that have not ended
    std::optional<TimePoint> deadline;  ///< set once the group has ended
  };

  bool Counts(const Limit& limit) const;

  std::vector<Limit> limits_;
  std::set<std::string> over_;  ///< types that have ended, or whose limit was reported
};

}  // namespace tony::core
