// A cursor is a small JSON array in base64, so that nobody relies on what it says.
#include "portal/index/job_wish.h"

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"

namespace tony::portal {

std::vector<std::string> SortNames() {
  return {"submitted", "duration", "name", "user", "state", "queue", "framework", "gpus"};
}

std::string CursorToText(const Cursor& cursor) {
  nlohmann::json json = nlohmann::json::array({cursor.sort});
  cursor.is_text ? json.push_back(cursor.text) : json.push_back(cursor.number);
  json.push_back(cursor.submitted_millis);
  json.push_back(cursor.id);
  return absl::WebSafeBase64Escape(
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

absl::StatusOr<Cursor> CursorFromText(const std::string& text) {
  std::string bytes;
  const bool decoded = absl::WebSafeBase64Unescape(text, &bytes);
  const nlohmann::json json = nlohmann::json::parse(decoded ? bytes : "", nullptr, false);
  if (!json.is_array() || json.size() != 4 || !json[0].is_string() ||
      !(json[1].is_string() || json[1].is_number_integer()) || !json[2].is_number_integer() ||
      !json[3].is_number_integer()) {
    return absl::InvalidArgumentError("The cursor is none that an earlier page gave.");
  }
  Cursor cursor;
  cursor.sort = json[0].get<std::string>();
  cursor.is_text = json[1].is_string();
  if (cursor.is_text) cursor.text = json[1].get<std::string>();
  if (!cursor.is_text) cursor.number = json[1].get<int64_t>();
  cursor.submitted_millis = json[2].get<int64_t>();
  cursor.id = json[3].get<int64_t>();
  return cursor;
}

}  // namespace tony::portal
