// Reading and writing of journal entries, each the JSON of a tony.v1.JournalEntry.
#include "appmaster/journal.h"

#include <google/protobuf/util/json_util.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rpc/convert.h"

namespace tony::appmaster {
namespace {

std::string NameOf(int number) {
  char name[32];
  std::snprintf(name, sizeof name, "journal/%08d.json", number);
  return name;
}

absl::StatusOr<core::Decisions> DecisionsOf(const v1::JournalEntry& entry,
                                            const std::string& path) {
  core::Decisions decisions;
  for (const v1::Decision& proto : entry.decisions()) {
    absl::StatusOr<core::Decision> decision = rpc::FromProto(proto);
    if (!decision.ok()) {
      return absl::DataLossError(
          absl::StrCat(path, ": ", std::string(decision.status().message())));
    }
    decisions.push_back(std::move(*decision));
  }
  return decisions;
}

}  // namespace

absl::StatusOr<Journal> Journal::Open(std::unique_ptr<backend::JobFiles> files,
                                      const Clock& clock) {
  Journal journal(std::move(files), clock);
  TONY_RETURN_IF_ERROR(journal.Read());
  ++journal.incarnation_;
  TONY_RETURN_IF_ERROR(journal.Write({}));
  return journal;
}

absl::StatusOr<v1::JournalEntry> Journal::ReadEntry(const std::string& name) {
  TONY_ASSIGN_OR_RETURN(const std::string text, files_->Read(name));
  v1::JournalEntry entry;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &entry);
  if (!status.ok()) return absl::DataLossError(absl::StrCat(name, ": ", status.ToString()));
  return entry;
}

absl::Status Journal::Read() {
  const TimePoint now = clock_->Now();
  const int64_t now_millis = clock_->UnixMillis();
  for (;; ++next_) {
    const std::string name = NameOf(next_);
    absl::StatusOr<v1::JournalEntry> entry = ReadEntry(name);
    if (absl::IsNotFound(entry.status())) return absl::OkStatus();
    TONY_RETURN_IF_ERROR(entry.status());
    TONY_ASSIGN_OR_RETURN(core::Decisions decisions, DecisionsOf(*entry, name));
    incarnation_ = entry->incarnation();
    // A clock that was set back makes nothing happen in the future.
    const auto age =
        std::chrono::milliseconds(std::max<int64_t>(0, now_millis - entry->unix_millis()));
    if (!decisions.empty()) past_.push_back({std::move(decisions), now - age});
  }
}

absl::Status Journal::Write(const core::Decisions& decisions) {
  unwritten_.insert(unwritten_.end(), decisions.begin(), decisions.end());
  v1::JournalEntry entry;
  entry.set_incarnation(incarnation_);
  entry.set_unix_millis(clock_->UnixMillis());
  for (const core::Decision& decision : unwritten_) *entry.add_decisions() = rpc::ToProto(decision);
  std::string text;
  const auto converted = google::protobuf::util::MessageToJsonString(entry, &text);
  if (!converted.ok()) return absl::InternalError(converted.ToString());
  const absl::Status written = files_->Create(NameOf(next_), text + "\n");
  if (absl::IsAlreadyExists(written)) {
    return absl::AbortedError(
        absl::StrCat("another ApplicationMaster has taken over: ", std::string(written.message())));
  }
  TONY_RETURN_IF_ERROR(written);
  ++next_;
  unwritten_.clear();
  return absl::OkStatus();
}

}  // namespace tony::appmaster
