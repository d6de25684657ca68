// nlohmann's parser without exceptions. The recursion of its dump() is bounded by nothing but the
// length of the text, so deep nesting is refused first.
#include "feed/hello.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::feed {
namespace {

using Json = nlohmann::json;

constexpr int kMostDepth = 64;
constexpr int64_t kMostTimeoutMs = int64_t{7} * 24 * 3600 * 1000;

// Brackets within strings do not count: they could hide, or feign, any depth.
bool IsDeep(const std::string& json) {
  int depth = 0;
  bool text = false;
  for (size_t at = 0; at < json.size(); ++at) {
    const char letter = json[at];
    if (text && letter == '\\') {
      ++at;  // an escaped quote does not end the string
    } else if (letter == '"') {
      text = !text;
    } else if (!text && (letter == '[' || letter == '{')) {
      if (++depth > kMostDepth) return true;
    } else if (!text && (letter == ']' || letter == '}')) {
      --depth;
    }
  }
  return false;
}

absl::Status Wrong(const char* field, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("HELLO: \"", field, "\" has to be ", what));
}

absl::StatusOr<int64_t> Number(const Json& hello, const char* field, int64_t otherwise,
                               int64_t most = std::numeric_limits<int64_t>::max()) {
  const auto found = hello.find(field);
  if (found == hello.end()) return otherwise;
  // An unsigned number beyond int64_t would turn negative.
  if (!found->is_number_integer()) return Wrong(field, "a whole number");
  if (found->is_number_unsigned() &&
      found->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Wrong(field, "a smaller number");
  }
  const int64_t number = found->get<int64_t>();
  if (number < 0 || number > most) return Wrong(field, "a number within its range");
  return number;
}

}  // namespace

absl::StatusOr<Hello> ParseHello(const std::string& json) {
  const Json hello =
      IsDeep(json) ? Json(Json::value_t::discarded) : Json::parse(json, nullptr, false);
  if (!hello.is_object()) return absl::InvalidArgumentError("HELLO is no JSON object");
  Hello result;
  const auto token = hello.find("token");
  if (token == hello.end() || !token->is_string()) return Wrong("token", "a text");
  result.token = token->get<std::string>();
  const auto feed = hello.find("feed");
  if (feed == hello.end() || !feed->is_string()) return Wrong("feed", "a text");
  result.partition.feed = feed->get<std::string>();
  if (!core::IsFeedName(result.partition.feed)) {
    return Wrong("feed", "1 to 64 letters, digits, '.', '_' or '-'");
  }
  TONY_ASSIGN_OR_RETURN(result.partition.epoch, Number(hello, "epoch", 0));
  TONY_ASSIGN_OR_RETURN(result.partition.partition, Number(hello, "partition", 0));
  TONY_ASSIGN_OR_RETURN(result.attempt, Number(hello, "attempt", 0));
  TONY_ASSIGN_OR_RETURN(const int64_t timeout,
                        Number(hello, "timeout_ms", result.timeout.count(), kMostTimeoutMs));
  result.timeout = std::chrono::milliseconds(timeout);
  const auto results = hello.find("results");
  if (results != hello.end()) {
    if (!results->is_boolean()) return Wrong("results", "true or false");
    result.results = results->get<bool>();
  }
  const auto schema = hello.find("schema");
  if (schema != hello.end()) {
    result.schema = schema->dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return result;
}

}  // namespace tony::feed
