// A variable's name decides first; the scanner sees the rest, and every other value.
#include "pagedata/config_keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jobfile/configuration/xml_writer.h"
#include "jobfile/keys/key_table.h"
#include "logs/secret_scanner.h"

namespace tony::pagedata {
namespace {

/// Whether a variable of that name may hold a secret.
bool SpeaksOfSecret(const std::string& name) {
  constexpr std::array kWords = {"SECRET", "TOKEN", "PASS", "PWD", "KEY", "CRED", "AUTH", "COOKIE"};
  const std::string upper = absl::AsciiStrToUpper(name);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](const char* word) { return absl::StrContains(upper, word); });
}

std::string ShownVariables(const jobfile::Configuration& configuration, const std::string& key) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : configuration.GetKeyValues(key)) {
    variables.push_back(SpeaksOfSecret(name)
                            ? absl::StrCat(name, "=", logs::kRedacted)
                            : logs::WithoutSecrets(absl::StrCat(name, "=", value)));
  }
  return absl::StrJoin(variables, ",");
}

}  // namespace

std::vector<web::ConfigKey> ConfigKeys(const jobfile::Configuration& configuration) {
  std::vector<web::ConfigKey> keys;
  for (const jobfile::Entry& entry : configuration.entries()) {
    const std::optional<jobfile::KeyMatch> match = jobfile::FindKey(entry.key);
    web::ConfigKey key{entry.key,    "",   entry.RecordedOrigin(),
                       std::nullopt, true, match.has_value()};
    const bool variables = match && match->key->type == jobfile::ValueType::kKeyValues;
    key.value = variables                             ? ShownVariables(configuration, entry.key)
                : SpeaksOfSecret(entry.key) && !match ? std::string(logs::kRedacted)
                                                      : logs::WithoutSecrets(entry.ShownValue());
    if (match && !match->key->default_value.empty()) {
      key.default_value = match->key->default_value;
      key.differs = entry.Value() != match->key->default_value;
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

std::string XmlWithoutSecrets(const jobfile::Configuration& configuration,
                              const std::vector<web::ConfigKey>& keys) {
  jobfile::Configuration shown(configuration.home_folder(), configuration.job_file());
  for (size_t i = 0; i < keys.size(); ++i) {
    // One setting each, which has the origins of all of them as its file.
    const jobfile::Layer layer = configuration.entries()[i].settings.back().origin.layer;
    (void)shown.Set(keys[i].key,
                    {.value = keys[i].value, .origin = {layer, keys[i].origin, /*line=*/0}});
  }
  return jobfile::WriteXml(shown);
}

}  // namespace tony::pagedata
