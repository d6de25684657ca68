// A thread reads the history line by line and puts notes in place of events that were not kept.
#include "appmaster/record/past_reader.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "core/record/job_event.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_lines.h"

namespace tony::appmaster {
namespace {

v1::JobEvent NoteAt(int64_t sequence, int64_t unix_millis, std::string sentence) {
  return rpc::ToProto(core::JobEvent{sequence, unix_millis, core::JobNote{std::move(sentence)}});
}

}  // namespace

PastReader::PastReader(rpc::EventLog& log, int64_t last_sequence, Open open, int retries,
                       Duration pause)
    : log_(log),
      last_sequence_(last_sequence),
      open_(std::move(open)),
      retries_(retries),
      pause_(pause) {
  thread_ = std::thread([this] { Run(); });
}

PastReader::~PastReader() {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void PastReader::Run() {
  for (;;) {
    absl::StatusOr<std::unique_ptr<std::istream>> lines = open_();
    if (lines.ok()) {
      std::vector<v1::JobEvent> events = Read(**lines);
      if (leaving()) return;
      LogInfo(absl::StrCat("read ", events.size(), " events of earlier ApplicationMasters, up to ",
                           last_sequence_));
      return log_.AddPast(std::move(events));
    }
    // After the last retry a note takes the past's place. The log must get something: until
    // AddPast() it makes followers that lack the past wait.
    const std::string why(lines.status().message());
    if (retries_-- <= 0) {
      LogError(absl::StrCat("the events of earlier ApplicationMasters are not shown: ", why));
      return log_.AddPast(
          {NoteAt(last_sequence_, 0,
                  absl::StrCat("What happened before cannot be read, but is kept: ", why))});
    }
    LogWarning("the events of earlier ApplicationMasters cannot be read yet",
               {{"why", why}, {"retries_left", retries_}});
    if (!Pause()) return;
  }
}

std::vector<v1::JobEvent> PastReader::Read(std::istream& lines) {
  std::vector<v1::JobEvent> events;
  int64_t last = 0;
  // Moves on to the event `sequence` at `unix_millis`, and adds a note for the numbers in between.
  const auto advance = [&](int64_t sequence, int64_t unix_millis) {
    const int64_t missing = sequence - last - 1;
    last = sequence;
    if (missing <= 0) return;
    LogInfo("the history has a gap", {{"before", sequence}, {"missing", missing}});
    events.push_back(
        NoteAt(sequence - 1, unix_millis,
               absl::StrCat("Up to ", missing,
                            " events that happened here were not kept in the history")));
  };
  rpc::ForEachEventLine(
      lines,
      [&](int number, const absl::StatusOr<core::JobEvent>& event) {
        if (leaving()) return false;
        if (!event.ok() || event->sequence <= last) {
          LogError(absl::StrCat("line ", number, " of the history is no event: ",
                                event.ok()
                                    ? absl::StrCat("number ", event->sequence, " after ", last)
                                    : std::string(event.status().message())));
          return true;
        }
        if (event->sequence > last_sequence_) return false;
        advance(event->sequence, event->unix_millis);
        events.push_back(rpc::ToProto(*event));
        return true;
      },
      // Superseded measurements count only by their numbers: they are no gap in the history.
      [&](int64_t sequence) {
        if (sequence > last && sequence <= last_sequence_) advance(sequence, 0);
      });
  return events;
}

bool PastReader::leaving() {
  std::lock_guard lock(mutex_);
  return leaving_;
}

bool PastReader::Pause() {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, pause_, [this] { return leaving_; });
}

}  // namespace tony::appmaster
