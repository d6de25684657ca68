// Text of users goes through OneLine() first: nothing in it is trusted.
#include "core/alerts/alert.h"

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/utf8.h"
#include "core/record/json_values.h"

namespace tony::core {
namespace {

constexpr size_t kLongestText = 1000;
constexpr size_t kLongestName = 200;
constexpr char kCutMark[] = "…";

/// At most `most` bytes of `text` as one line of UTF-8. Only what is kept is looked at, so that a
/// long text costs no more than a short one.
std::string OneLine(const std::string& text, size_t most) {
  std::string line;
  for (size_t position = 0; position < text.size();) {
    const Utf8Character character = DecodeUtf8(text, position);
    const uint32_t code = character.code_point;
    // Controls, the lines' and paragraphs' ends, and what turns the direction of writing.
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0) ||
                         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    const std::string kept = control ? " " : EncodeUtf8(code);
    if (line.size() + kept.size() > most) return line + kCutMark;
    line += kept;
    position += character.bytes;
  }
  return line;
}

/// 2026-01-31T12:00:00Z.
std::string UtcTime(int64_t unix_millis) {
  namespace chrono = std::chrono;
  const chrono::sys_seconds time(chrono::seconds(unix_millis / 1000));
  const auto midnight = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(midnight);
  const chrono::hh_mm_ss clock(time - midnight);
  const auto two = [](auto number) { return absl::Dec(number, absl::kZeroPad2); };
  return absl::StrCat(absl::Dec(static_cast<int>(date.year()), absl::kZeroPad4), "-",
                      two(static_cast<unsigned>(date.month())), "-",
                      two(static_cast<unsigned>(date.day())), "T", two(clock.hours().count()), ":",
                      two(clock.minutes().count()), ":", two(clock.seconds().count()), "Z");
}

std::string GuiltyName(const Alert& alert) {
  return alert.guilty ? OneLine(alert.guilty->ToString(), kLongestName) : "";
}

std::string WhatHappened(const Alert& alert) {
  switch (alert.event) {
    case AlertEvent::kStart:
      return "has started";
    case AlertEvent::kRestart:
      return absl::StrCat("starts again, attempt ", alert.attempt);
    case AlertEvent::kHang:
      return "seems to hang";
    case AlertEvent::kEnd:
      return absl::StrCat("has ended: ", alert.state);
  }
  return "";
}

nlohmann::ordered_json CountOrNull(int count) {
  return count < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(count);
}

}  // namespace

std::string AlertEventName(AlertEvent event) {
  constexpr std::array kNames = {"start", "restart", "hang", "end"};
  return kNames[static_cast<size_t>(event)];
}

std::string AlertId(const Alert& alert, int number) {
  if (alert.event == AlertEvent::kEnd) return absl::StrCat(alert.job_id, ".end");
  return absl::StrCat(alert.job_id, ".", alert.master_attempt, ".", number);
}

std::string AlertJson(const Alert& alert, const std::string& id) {
  nlohmann::ordered_json json;
  json["version"] = 1;
  json["id"] = OneLine(id, kLongestName);
  json["event"] = AlertEventName(alert.event);
  json["time"] = UtcTime(alert.unix_millis);
  json["job"] = {{"id", OneLine(alert.job_id, kLongestName)},
                 {"name", OneLine(alert.name, kLongestName)},
                 {"user", OneLine(alert.user, kLongestName)},
                 {"framework", alert.framework},
                 {"backend", alert.backend},
                 {"page", OrNull(OneLine(alert.page, kLongestText))}};
  json["state"] = alert.state;
  json["reason"] = OrNull(alert.reason);
  json["sentence"] = OrNull(OneLine(alert.sentence, kLongestText));
  json["guilty"] = OrNull(GuiltyName(alert));
  json["attempt"] = alert.attempt;
  json["retries_left"] = CountOrNull(alert.retries_left);
  json["infrastructure_retries_left"] = CountOrNull(alert.infrastructure_retries_left);
  json["master_attempt"] = alert.master_attempt;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string AlertSlack(const Alert& alert) {
  std::string text = absl::StrCat("tony: job ", OneLine(alert.name, kLongestName), " (",
                                  OneLine(alert.job_id, kLongestName), ") of ",
                                  OneLine(alert.user, kLongestName), " ", WhatHappened(alert));
  if (!alert.sentence.empty()) {
    absl::StrAppend(&text, "\n", OneLine(alert.sentence, kLongestText));
  }
  if (!alert.page.empty()) absl::StrAppend(&text, "\n", OneLine(alert.page, kLongestText));
  // Slack wants these three escaped, and no others.
  text = absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
  nlohmann::ordered_json json;
  json["text"] = text;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tony::core
