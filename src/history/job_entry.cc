// Each field stands once, in VisitFields(), which both directions use.
#include "history/job_entry.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"
#include "core/record/verdict.h"

namespace tony::history {
namespace {

using Json = nlohmann::ordered_json;

/// Calls `visit(name, member)` for every field.
template <typename Entry, typename Visit>
void VisitFields(Entry& entry, const Visit& visit) {
  visit("schema_version", entry.schema_version);
  visit("job_id", entry.job_id);
  visit("name", entry.name);
  visit("user", entry.user);
  visit("queue", entry.queue);
  visit("framework", entry.framework);
  visit("backend", entry.backend);
  visit("tags", entry.tags);
  visit("state", entry.state);
  visit("reason", entry.reason);
  visit("sentence", entry.sentence);
  visit("guilty", entry.guilty);
  visit("exit_code", entry.exit_code);
  visit("submitted_millis", entry.submitted_millis);
  visit("started_millis", entry.started_millis);
  visit("ended_millis", entry.ended_millis);
  visit("tasks", entry.tasks);
  visit("gpus", entry.gpus);
  visit("memory_mb", entry.memory_mb);
  visit("epochs", entry.epochs);
  visit("conf_digest", entry.conf_digest);
  visit("advice", entry.advice);
  visit("events_bytes", entry.events_bytes);
}

/// A history may say anything, and sums of what it says must not overflow.
constexpr int64_t kMostOfType = 1'000'000'000;
constexpr int64_t kMostOfJob = 1'000'000'000'000'000;

/// `sum` with what `instances` tasks of a type have asked for.
int64_t AddAsked(int64_t sum, int64_t instances, int64_t each) {
  const int64_t more =
      std::clamp<int64_t>(instances, 0, 1'000'000) * std::clamp<int64_t>(each, 0, kMostOfType);
  return std::min(sum + more, kMostOfJob);
}

/// The first bytes of the text, up to the end of a character.
std::string CutText(const std::string& text) {
  size_t end = kMostEntryText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return ToUtf8(text.substr(0, end));
}

// Names and sentences come from users and their programs.
void CutTexts(JobEntry& entry) {
  VisitFields(entry, [](const char*, auto& member) {
    if constexpr (std::is_same_v<decltype(member), std::string&>) {
      if (member.size() > kMostEntryText) member = CutText(member);
    }
  });
}

/// A number of protobuf's JSON, which is a text if it may have 64 bits.
int64_t NumberOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  int64_t number = 0;
  if (found == object.end()) return 0;
  if (found->is_number_integer()) return found->get<int64_t>();
  if (found->is_string() && absl::SimpleAtoi(found->get<std::string>(), &number)) return number;
  return 0;
}

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

JobEntry EntryOf(const core::ObservedJob& job, const JobTraits& traits) {
  const core::JobView& view = job.view;
  JobEntry entry;
  entry.schema_version = core::kJobEventVersion;
  entry.job_id = view.job.job_id;
  entry.name = view.job.name;
  entry.user = view.job.user;
  entry.framework = view.job.framework;
  entry.backend = view.job.backend;
  entry.queue = traits.queue;
  entry.tags = traits.tags;
  entry.conf_digest = traits.conf_digest;
  entry.state = job.StateName();
  entry.submitted_millis = view.submitted_millis;
  entry.started_millis =
      view.attempts.empty() ? view.attempt_began_millis : view.attempts.front().began_millis;
  entry.ended_millis = view.ended_millis;
  for (const core::JobSubmitted::Type& type : view.job.types) {
    entry.tasks = AddAsked(entry.tasks, type.instances, 1);
    entry.gpus = AddAsked(entry.gpus, type.instances, type.gpus);
    entry.memory_mb = AddAsked(entry.memory_mb, type.instances, type.memory_mb);
  }
  entry.epochs = view.epoch + 1;
  if (view.verdict) {
    entry.reason = core::ReasonName(view.verdict->reason);
    entry.sentence = view.verdict->sentence;
    if (view.verdict->guilty) entry.guilty = view.verdict->guilty->ToString();
    entry.exit_code = core::ExitCode(*view.verdict);
  } else if (job.lost) {
    entry.ended_millis = job.last_millis;
  }
  CutTexts(entry);
  return entry;
}

std::string EntryToJson(const JobEntry& entry) {
  Json json;
  VisitFields(entry, [&json](const char* name, const auto& member) { json[name] = member; });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<JobEntry> EntryFromJson(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return absl::InvalidArgumentError("it is no JSON object");
  JobEntry entry;
  std::string wrong;
  VisitFields(entry, [&](const char* name, auto& member) {
    using Member = std::remove_reference_t<decltype(member)>;
    const auto found = json.find(name);
    if (found == json.end()) return;
    if constexpr (std::is_same_v<Member, std::string>) {
      if (!found->is_string()) return wrong = name, void();
      member = found->template get<std::string>();
    } else {
      if (!found->is_number_integer()) return wrong = name, void();
      const auto number = found->template get<int64_t>();
      if (number != static_cast<Member>(number)) return wrong = name, void();
      member = static_cast<Member>(number);
    }
  });
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("its field ", wrong, " is of another type"));
  }
  CutTexts(entry);
  return entry;
}

JobEntry EntryOfNewer(absl::string_view first_line) {
  JobEntry entry;
  const Json json = Json::parse(first_line.begin(), first_line.end(), nullptr, false);
  if (!json.is_object()) return entry;
  entry.submitted_millis = NumberOf(json, "unix_millis");
  const auto found = json.find("submitted");
  if (found == json.end() || !found->is_object()) return entry;
  const Json& submitted = *found;
  entry.job_id = TextOf(submitted, "job_id");
  entry.name = TextOf(submitted, "name");
  entry.user = TextOf(submitted, "user");
  entry.framework = TextOf(submitted, "framework");
  entry.backend = TextOf(submitted, "backend");
  entry.schema_version = static_cast<int>(NumberOf(submitted, "schema_version"));
  const auto types = submitted.find("types");
  if (types != submitted.end() && types->is_array()) {
    for (const Json& type : *types) {
      if (!type.is_object()) continue;
      const int64_t instances = NumberOf(type, "instances");
      entry.tasks = AddAsked(entry.tasks, instances, 1);
      entry.gpus = AddAsked(entry.gpus, instances, NumberOf(type, "gpus"));
      entry.memory_mb = AddAsked(entry.memory_mb, instances, NumberOf(type, "memory_mb"));
    }
  }
  CutTexts(entry);
  return entry;
}

}  // namespace tony::history
