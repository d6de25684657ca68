#include "pagedata/merge_range.h"

#include <algorithm>

#include "common/status_macros.h"
#include "logs/level_filter.h"
#include "logs/log_block.h"

namespace tony::pagedata {

absl::StatusOr<logs::MergeRange> MergeRangeOf(const web::MergeWish& wish) {
  logs::MergeRange range;
  if (wish.cursor) range.place = wish.cursor->place;
  range.since = std::max<int64_t>(0, wish.since_millis);
  range.pattern = wish.match;
  range.lines = wish.limit;
  TONY_ASSIGN_OR_RETURN(range.level, logs::WantedLevel(wish.level));
  if (!wish.match.empty()) TONY_RETURN_IF_ERROR(logs::CheckLogPattern(wish.match));
  return range;
}

}  // namespace tony::pagedata
