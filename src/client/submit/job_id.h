// Makes the ids of jobs on the local backend.
#pragma once

#include <cstdint>
#include <string>

namespace tony::client {

/// Makes an id such as "local-20261121-224903-7f3a": it sorts by time, is easy to type, and is
/// unlikely to be given twice.
std::string MakeLocalJobId(int64_t unix_millis, uint32_t random);

}  // namespace tony::client
