// Finds the job that a person's word means: an id, a part of one, or "latest".
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::client {

/// Chooses one of `ids`, which are sorted from the newest to the oldest: the id equal to `wish`,
/// the only id that begins or ends with it, or the newest for "latest" or "". `where` is used in
/// messages and says where the jobs are, such as "under /var/tmp/tony". NotFound – no such job; the
/// message names the newest ones. InvalidArgument – several such jobs; the message names them.
absl::StatusOr<std::string> ChooseJob(const std::vector<std::string>& ids, const std::string& wish,
                                      const std::string& where);

}  // namespace tony::client
