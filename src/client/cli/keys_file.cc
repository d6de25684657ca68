// An array becomes one list, in which the commas inside of items are escaped.
#include "client/cli/keys_file.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "jobfile/values/values.h"
#include "os/files/files.h"

namespace tony::client {
namespace {

constexpr char kOption[] = "--keys";
/// Far above any job; a stream without an end is refused there.
constexpr size_t kMostBytes = 64 << 20;
constexpr char kForm[] =
    "; write one JSON object, such as {\"tony.worker.instances\": 2, \"tony.execution.envs\": "
    "[\"A=1\", \"B=2\"]}";

/// The text of a value that is no array; nothing for a value of another kind.
std::optional<std::string> TextOf(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

absl::StatusOr<jobfile::Override> ToOverride(const std::string& key, const nlohmann::json& value) {
  const nlohmann::json items = value.is_array() ? value : nlohmann::json::array({value});
  std::vector<std::string> texts;
  for (const nlohmann::json& item : items) {
    const std::optional<std::string> text = TextOf(item);
    if (!text) {
      return absl::InvalidArgumentError(absl::StrCat(kOption, ": the value of ", key, " is ",
                                                     item.type_name(),
                                                     "; write a text, a number, a boolean or an "
                                                     "array of them"));
    }
    texts.push_back(*text);
  }
  return jobfile::Override{key, value.is_array() ? jobfile::JoinList(texts) : texts.front(),
                           kOption};
}

}  // namespace

absl::StatusOr<std::vector<jobfile::Override>> ReadKeysFile(const std::string& file) {
  const absl::StatusOr<std::string> text =
      file == "-" ? os::ReadAtMost(STDIN_FILENO, kMostBytes, "standard input") : os::ReadFile(file);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(kOption, ": ", text.status().message()));
  }
  const nlohmann::json keys = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!keys.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(
        kOption, ": ", file == "-" ? "standard input" : file, " is no JSON object", kForm));
  }
  std::vector<jobfile::Override> overrides;
  for (const auto& [key, value] : keys.items()) {
    TONY_ASSIGN_OR_RETURN(jobfile::Override given, ToOverride(key, value));
    overrides.push_back(std::move(given));
  }
  return overrides;
}

}  // namespace tony::client
