// A write-ahead journal: each entry is one file with the JSON of a tony.v1.JournalEntry, and the
// exclusive creation of the next file is the fence against an older ApplicationMaster.
#include "appmaster/record/journal.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "rpc/convert/convert.h"

namespace tony::appmaster {
namespace {

std::string NameOf(int number) {
  char name[32];
  std::snprintf(name, sizeof name, "journal/%08d.json", number);
  return name;
}

/// Whether both entries were stamped by the same kernel's monotonic clock.
bool SameKernel(const v1::JournalEntry& one, const v1::JournalEntry& other) {
  return !one.boot_id().empty() && one.boot_id() == other.boot_id();
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

absl::StatusOr<Journal> Journal::Open(std::unique_ptr<storage::JobFiles> files, const Clock& clock,
                                      std::string boot_id) {
  Journal journal(std::move(files), clock, std::move(boot_id));
  TONY_ASSIGN_OR_RETURN(std::vector<Found> found, journal.Read());
  ++journal.incarnation_;
  const std::string announcement = NameOf(journal.next_);
  TONY_RETURN_IF_ERROR(journal.Write({}));
  const TimePoint now = clock.Now();
  TimePoint next = now;
  // Goes from the newest entry to the oldest. The newest entry of each kernel is the anchor with
  // which that kernel's earlier entries are compared.
  const Found* anchor = nullptr;
  Duration anchor_age{0};
  for (auto entry = found.rbegin(); entry != found.rend(); ++entry) {
    if (anchor == nullptr || !SameKernel(entry->entry, anchor->entry)) {
      anchor = &*entry;
      anchor_age = journal.AgeOf(*entry, announcement);
    }
    const std::chrono::nanoseconds before(anchor->entry.monotonic_nanos() -
                                          entry->entry.monotonic_nanos());
    // Clocks may disagree, but the entries were made in this order, so times never increase towards
    // the past.
    entry->past.at = next = std::min(next, now - anchor_age - before);
  }
  for (Found& entry : found) {
    if (!entry.past.decisions.empty()) journal.past_.push_back(std::move(entry.past));
  }
  return journal;
}

Duration Journal::AgeOf(const Found& found, const std::string& announcement) {
  const v1::JournalEntry& entry = found.entry;
  // The rules 1 to 3 of Open(), in this order.
  if (!entry.boot_id().empty() && entry.boot_id() == boot_id_) {
    return std::max<Duration>(Duration(0), clock_->Now().time_since_epoch() -
                                               std::chrono::nanoseconds(entry.monotonic_nanos()));
  }
  int64_t millis = clock_->UnixMillis() - entry.unix_millis();
  if (!entry.boot_id().empty()) {
    const absl::StatusOr<storage::StoredFile> then = files_->Describe(found.name);
    const absl::StatusOr<storage::StoredFile> now = files_->Describe(announcement);
    if (then.ok() && now.ok()) {
      millis = now->modified_millis - then->modified_millis;
    } else {
      LogWarning("an entry's age is taken from the clocks of two machines",
                 {{"entry", found.name}, {"why", (then.ok() ? now : then).status().message()}});
    }
  }
  return std::chrono::milliseconds(std::max<int64_t>(0, millis));
}

absl::StatusOr<v1::JournalEntry> Journal::ReadEntry(const std::string& name) {
  TONY_ASSIGN_OR_RETURN(const std::string text, files_->Read(name));
  v1::JournalEntry entry;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &entry);
  if (!status.ok()) return absl::DataLossError(absl::StrCat(name, ": ", status.ToString()));
  return entry;
}

absl::StatusOr<std::vector<Journal::Found>> Journal::Read() {
  std::vector<Found> found;
  for (;; ++next_) {
    const std::string name = NameOf(next_);
    absl::StatusOr<v1::JournalEntry> entry = ReadEntry(name);
    if (absl::IsNotFound(entry.status())) return found;
    TONY_RETURN_IF_ERROR(entry.status());
    TONY_ASSIGN_OR_RETURN(core::Decisions decisions, DecisionsOf(*entry, name));
    incarnation_ = entry->incarnation();
    entry->clear_decisions();
    found.push_back({name, *std::move(entry), {std::move(decisions), TimePoint()}});
  }
}

absl::Status Journal::Write(const core::Decisions& decisions) {
  // Decisions of earlier failed writes are at the front, so the entry keeps the order in which they
  // were made.
  unwritten_.insert(unwritten_.end(), decisions.begin(), decisions.end());
  v1::JournalEntry entry;
  entry.set_incarnation(incarnation_);
  entry.set_unix_millis(clock_->UnixMillis());
  entry.set_boot_id(boot_id_);
  entry.set_monotonic_nanos(clock_->Now().time_since_epoch().count());
  for (const core::Decision& decision : unwritten_) *entry.add_decisions() = rpc::ToProto(decision);
  std::string text;
  const auto converted = google::protobuf::util::MessageToJsonString(entry, &text);
  if (!converted.ok()) return absl::InternalError(converted.ToString());
  const absl::Status written = files_->Create(NameOf(next_), text + "\n");
  if (!written.ok()) {
    LogWarning(
        "a journal entry cannot be written",
        {{"entry", NameOf(next_)}, {"incarnation", incarnation_}, {"why", written.message()}});
  }
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
