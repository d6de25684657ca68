// Advice as JSON: one form for `tony advise --json` and the job's API.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/advice/advise.h"

namespace tony::core {

/// {"advice": [{"heuristic", "severity", …}], "xml": "<property>…"}
nlohmann::ordered_json AdviceJson(const JobAdvice& advice);

}  // namespace tony::core
