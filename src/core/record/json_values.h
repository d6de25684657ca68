// Values that may be unknown, as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tony::core {

/// null for 0 and "", which stand for unknown values in a job's state.
nlohmann::ordered_json OrNull(int64_t number);
nlohmann::ordered_json OrNull(const std::string& text);

}  // namespace tony::core
