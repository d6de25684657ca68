// Finds the job that a person's word means: an id, a part of one, or "latest".
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::client {

/// Chooses one of `ids`, which are sorted from the newest to the oldest: the one with the name
/// `wish`, the only one that begins or ends with it, or the newest for "latest" or "". `where` says
/// in messages where the jobs are, as "under /var/tmp/tony". NotFound – none such, with the names
/// of the newest ones. InvalidArgument – several such, with their names.
absl::StatusOr<std::string> ChooseJob(const std::vector<std::string>& ids, const std::string& wish,
                                      const std::string& where);

}  // namespace tony::client
