#include "executor/output/program_reports.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tony::executor {
namespace {

/// So much of a line that cannot be read is shown.
constexpr size_t kShownBytes = 80;

std::string Shown(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(text.substr(0, kShownBytes)),
                      text.size() > kShownBytes ? "…\"" : "\"");
}

}  // namespace

// All lines of one read have the same time of arrival: the tracker must not take the time between
// two of them for a step's duration.
void ProgramReports::Arrive() { now_ = clock_.Now(); }

void ProgramReports::AddBytes(const char* data, size_t size) {
  Arrive();
  const char* const end = data + size;
  while (data < end) {
    const void* found = memchr(data, '\n', static_cast<size_t>(end - data));
    const char* const stop = found == nullptr ? end : static_cast<const char*>(found);
    const size_t room =
        core::kMostReportLineBytes - std::min(line_.size(), core::kMostReportLineBytes);
    const size_t length = static_cast<size_t>(stop - data);
    if (!skips_) line_.append(data, std::min(length, room));
    if (!skips_ && length > room) {
      skips_ = true;
      NoteDefect("TONY_PROGRESS",
                 absl::StrCat("a line of more than ", core::kMostReportLineBytes, " bytes"), line_);
      line_.clear();
    }
    if (stop == end) return;
    EndLine();
    data = stop + 1;
  }
}

void ProgramReports::SkipLine() {
  line_.clear();
  skips_ = true;
}

void ProgramReports::EndLine() {
  if (!skips_) {
    const core::ReportLine line = core::ParseReportLine(line_);
    values_.Take(line);
    const std::string unusable = tracker_.Take(line, now_);
    const absl::string_view defect =
        line.defect.empty() ? absl::string_view(unusable) : line.defect;
    if (!defect.empty()) NoteDefect("TONY_PROGRESS", Shown(defect), line_);
  }
  skips_ = false;
  line_.clear();
}

void ProgramReports::AddMatch(const core::ReportLine& found, absl::string_view line) {
  values_.Take(found);
  const std::string unusable = tracker_.Take(found, now_);
  const absl::string_view defect =
      found.defect.empty() ? absl::string_view(unusable) : found.defect;
  if (!defect.empty()) NoteDefect("tony.task.progress-pattern", Shown(defect), line);
}

void ProgramReports::NoteDefect(const char* where, absl::string_view defect,
                                absl::string_view line) {
  if (++unread_ > 1) return;
  on_defect_(absl::StrCat("a report of its progress (", where, ") cannot be read: ", defect, " in ",
                          Shown(line),
                          "; write NAME=VALUE, such as step=120 loss=0.31, where step is a whole "
                          "number; further such lines are only counted"));
}

std::optional<core::Progress> ProgramReports::progress() const {
  std::optional<core::Progress> progress = tracker_.At(clock_.Now());
  if (unread_ == 0) return progress;
  if (!progress) progress.emplace();
  progress->unread_lines = unread_;
  return progress;
}

}  // namespace tony::executor
