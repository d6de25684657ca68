// Each getter looks up the key's row for type and default, so a default exists only in the table.
#include "jobfile/configuration/configuration.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jobfile/keys/key_table.h"
#include "jobfile/keys/value_check.h"
#include "jobfile/values/paths.h"
#include "jobfile/values/secret_urls.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

const Key* KeyOf(const std::string& name) {
  const std::optional<KeyMatch> match = FindKey(name);
  return match ? match->key : nullptr;
}

std::string DefaultOf(const std::string& name) {
  const Key* const key = KeyOf(name);
  return key == nullptr ? "" : key->default_value;
}

// The parsed value of the key, or the parsed default if the value fails the key's own check. The
// check may be stricter than `parse`: it includes the range.
template <typename Value>
Value ParseOrDefault(const Configuration& configuration, const std::string& name,
                     std::optional<Value> (*parse)(const std::string&)) {
  const Key* const key = KeyOf(name);
  if (key == nullptr) return Value{};
  const std::string text = configuration.GetText(name);
  const bool good = !CheckValue(*key, text).has_value();
  return parse(good ? text : key->default_value).value_or(Value{});
}

}  // namespace

std::string Origin::Text() const { return line > 0 ? absl::StrCat(file, ":", line) : file; }

std::string Entry::Value() const {
  if (settings.size() == 1) return settings.front().value;
  std::vector<std::string> items;
  for (const Setting& setting : settings) {
    for (const std::string& item : SplitList(setting.value)) items.push_back(item);
  }
  return JoinList(items);
}

std::string Entry::ShownValue() const {
  const std::optional<KeyMatch> match = FindKey(key);
  const bool secret = match && match->key->type == ValueType::kSecretUrls;
  return secret ? ShownSecretUrls(Value()) : Value();
}

std::string Entry::OriginText() const {
  return absl::StrJoin(settings, ", ", [](std::string* text, const Setting& setting) {
    absl::StrAppend(text, setting.origin.Text());
  });
}

std::string Entry::RecordedOrigin() const {
  const std::string& recorded = settings.back().recorded_origin;
  return recorded.empty() ? OriginText() : recorded;
}

Configuration::Configuration(std::string home_folder, std::string job_file)
    : home_folder_(std::move(home_folder)), job_file_(std::move(job_file)) {}

std::optional<Problem> Configuration::Set(const std::string& key, Setting setting) {
  setting.value = std::string(absl::StripAsciiWhitespace(setting.value));
  const auto [position, added] = index_.try_emplace(key, entries_.size());
  if (added) entries_.push_back({key, {}});
  std::vector<Setting>& settings = entries_[position->second].settings;
  // `final` binds later layers, not other settings of its own layer. The command line may set a
  // key several times.
  for (const Setting& earlier : settings) {
    if (!earlier.final || earlier.origin.layer == setting.origin.layer) continue;
    return Problem{setting.origin.file, setting.origin.line, key,
                   absl::StrCat("may not be changed: ", earlier.origin.Text(), " makes it final"),
                   "remove it"};
  }
  // A value of the command line for a list that adds up keeps the earlier settings. Each keeps its
  // own origin, so that a problem can name the line of its item.
  const Key* const row = KeyOf(key);
  const bool append = setting.origin.layer == Layer::kCommandLine && row != nullptr && row->appends;
  if (!append) settings.clear();
  settings.push_back(std::move(setting));
  return std::nullopt;
}

const Entry* Configuration::Find(const std::string& key) const {
  const auto position = index_.find(key);
  return position == index_.end() ? nullptr : &entries_[position->second];
}

std::string Configuration::GetText(const std::string& key) const {
  if (const Entry* const entry = Find(key)) {
    const std::string value = entry->Value();
    if (!value.empty()) return value;
  }
  const Key* const row = KeyOf(key);
  if (row == nullptr) return "";
  if (row->type == ValueType::kFolder) return ResolvePath(row->default_value, "", home_folder_);
  return row->default_value;
}

bool Configuration::GetBoolean(const std::string& key) const {
  return ParseOrDefault(*this, key, ParseBoolean);
}

int64_t Configuration::GetNumber(const std::string& key) const {
  return ParseOrDefault(*this, key, ParseWholeNumber);
}

int64_t Configuration::GetMemoryMb(const std::string& key) const {
  return ParseOrDefault(*this, key, ParseMemoryMb);
}

std::chrono::milliseconds Configuration::GetDuration(const std::string& key) const {
  const Key* const row = KeyOf(key);
  const int64_t number = std::max<int64_t>(0, GetNumber(key));
  const bool seconds = row != nullptr && row->type == ValueType::kSeconds;
  return std::chrono::milliseconds(seconds ? number * 1000 : number);
}

std::vector<std::string> Configuration::GetList(const std::string& key) const {
  const Entry* const entry = Find(key);
  return SplitList(entry == nullptr ? DefaultOf(key) : entry->Value());
}

std::map<std::string, std::string> Configuration::GetKeyValues(const std::string& key) const {
  return ParseKeyValues(GetText(key));
}

}  // namespace tony::jobfile
