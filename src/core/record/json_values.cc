#include "core/record/json_values.h"

#include <nlohmann/json.hpp>

namespace tony::core {

using Json = nlohmann::ordered_json;

Json OrNull(int64_t number) { return number == 0 ? Json() : Json(number); }
Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace tony::core
