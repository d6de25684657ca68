// A job's recorded events: of its ApplicationMaster; on a cluster's file system of everybody who
// may write there. The client and a restarted ApplicationMaster read them.
//
// Besides not crashing: an event is read again from the line that is made of it; a restarted
// ApplicationMaster's events follow those that it found, in their order, and what it records is
// what readers find last.
#include <memory>
#include <sstream>
#include <string>
#include <variant>

#include "appmaster/record/history.h"
#include "client/show/change_lines.h"
#include "common/fake_clock.h"
#include "common/logging.h"
#include "core/record/job_view.h"
#include "history/job_entry.h"
#include "history/recorded_events.h"
#include "os/files/files.h"
#include "rpc/convert/event_json.h"
#include "rpc/convert/event_lines.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/memory_file.h"
#include "tests/fuzz/support/memory_job_files.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

/// Reads the lines as a client does, and returns the last event.
core::JobEvent ReadAsClient(const std::string& lines) {
  auto stored = std::make_shared<FilesByName>();
  stored->emplace("events/00000001.jsonl", lines);
  MemoryJobFiles files(stored);
  core::JobView view;
  core::JobEvent last;
  const absl::Status read = history::ForEachArchivedEvent(
      files, "", [&](int number, const absl::StatusOr<core::JobEvent>& event) {
        Require(number > 0, "lines count from 1");
        if (!event.ok()) return true;
        const std::string line = rpc::EventToJsonLine(*event);
        Require(line.find('\n') == std::string::npos, "an event is one line");
        const auto again = rpc::EventFromJsonLine(line);
        Require(again.ok() && rpc::EventToJsonLine(*again) == line, "a line is its event");
        view.Apply(*event);
        (void)client::DescribeJobChange(*event);
        last = *event;
        return true;
      });
  Require(read.ok(), "lines that are none are passed over");
  return last;
}

/// As an ApplicationMaster that takes over.
void GoOnAsMaster(const std::string& lines) {
  const MemoryFile file(lines);
  const FakeClock clock;
  rpc::EventLog log;
  auto history = appmaster::History::Open(file.path(), clock, log);
  Require(history.ok(), "a history can be opened, whatever is in it");
  history->Record(core::JobNote{"sentinel"});
  const std::lock_guard lock(log.mutex());
  int64_t next = 1;
  while (const auto event = log.NextLocked(next)) {
    Require(event->sequence() >= next, "followers see events in their order");
    if (event->sequence() == INT64_MAX) break;
    next = event->sequence() + 1;
  }
  const auto text = os::ReadFile(file.path());
  Require(text.ok(), "a history can be read");
  const core::JobEvent last = ReadAsClient(*text);
  const auto* note = std::get_if<core::JobNote>(&last.body);
  Require(note != nullptr && note->sentence == "sentinel", "readers find what was recorded last");
}

/// As the portal, which lists the job: by its history, or by a file that sums it up.
void SumUp(const std::string& text) {
  const auto same = [](const history::JobEntry& entry) {
    const auto again = history::EntryFromJson(history::EntryToJson(entry));
    return again.ok() && *again == entry;
  };
  const auto entry = history::EntryFromJson(text);
  Require(!entry.ok() || same(*entry), "an entry is its file");
  Require(same(history::EntryOfNewer(text.substr(0, text.find('\n')))), "a newer job has an entry");
  core::ObservedJob job;
  std::istringstream lines(text);
  rpc::ForEachEventLine(lines, [&job](int, const absl::StatusOr<core::JobEvent>& event) {
    if (event.ok()) job.Apply(*event);
    return true;
  });
  Require(same(history::EntryOf(job, {})), "every job has an entry");
}

}  // namespace

void FuzzHistory(std::string_view input) {
  // A line that is no event is said in the log.
  [[maybe_unused]] static const bool quiet = SetUpLogging("/dev/null", LogLevel::kError).ok();
  const std::string lines(input);
  (void)ReadAsClient(lines);
  GoOnAsMaster(lines);
  SumUp(lines);
}

}  // namespace tony::fuzz
