#include "executor/output/progress_finder.h"

#include <re2/re2.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"

namespace tony::executor {
namespace {

constexpr std::chrono::milliseconds kPause{20};
constexpr absl::string_view kLineEnds = "\r\n";

}  // namespace

absl::StatusOr<std::unique_ptr<ProgressFinder>> ProgressFinder::Create(EventLoop& loop,
                                                                       const std::string& pattern,
                                                                       ProgramReports& reports) {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // output is bytes, not UTF-8
  options.set_log_errors(false);
  auto compiled = std::make_unique<re2::RE2>(pattern, options);
  if (!compiled->ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tony.task.progress-pattern is no pattern: ", compiled->error()));
  }
  if (compiled->NamedCapturingGroups().empty()) {
    return absl::InvalidArgumentError("tony.task.progress-pattern has no named group");
  }
  return std::unique_ptr<ProgressFinder>(new ProgressFinder(loop, std::move(compiled), reports));
}

ProgressFinder::ProgressFinder(EventLoop& loop, std::unique_ptr<re2::RE2> pattern,
                               ProgramReports& reports)
    : loop_(loop), pattern_(std::move(pattern)), reports_(reports) {
  const auto& groups = pattern_->NamedCapturingGroups();
  groups_.assign(groups.begin(), groups.end());
}

ProgressFinder::~ProgressFinder() = default;

// Output that is printed faster than it is looked at pushes the oldest out: memory is bounded, and
// the newest line is never missed.
void ProgressFinder::Add(int stream, const char* data, size_t size) {
  Stream& into = streams_[static_cast<size_t>(stream)];
  if (size > kMostWaiting) {
    data += size - kMostWaiting;
    size = kMostWaiting;
    into.waiting.clear();
    into.skips = true;
  }
  if (into.waiting.size() + size > kMostWaiting) {
    into.waiting.erase(0, into.waiting.size() + size - kMostWaiting);
    into.skips = true;
  }
  into.waiting.append(data, size);
  if (timer_ == nullptr) timer_ = loop_.After(kPause, [this] { LookAtAll(); });
}

// An unfinished line waits for its rest, until its first part is as long as what is looked at.
void ProgressFinder::LookAtAll() {
  timer_.reset();
  reports_.Arrive();
  for (Stream& stream : streams_) {
    absl::string_view rest = stream.waiting;
    for (size_t end = rest.find_first_of(kLineEnds); end != absl::string_view::npos;
         end = rest.find_first_of(kLineEnds)) {
      if (!stream.skips) LookAt(rest.substr(0, end));
      stream.skips = false;
      rest.remove_prefix(end + 1);
    }
    if (rest.size() >= kMostLineBytes) {
      if (!stream.skips) LookAt(rest);
      stream.skips = true;
      rest = {};
    }
    stream.waiting.erase(0, stream.waiting.size() - rest.size());
  }
}

void ProgressFinder::Finish() {
  LookAtAll();
  for (Stream& stream : streams_) {
    if (!stream.skips) LookAt(stream.waiting);
    stream = {};
  }
}

void ProgressFinder::LookAt(absl::string_view line) {
  if (line.empty()) return;
  const re2::StringPiece text(line.data(), std::min(line.size(), kMostLineBytes));
  std::vector<re2::StringPiece> found(static_cast<size_t>(pattern_->NumberOfCapturingGroups()) + 1);
  if (!pattern_->Match(text, 0, text.size(), re2::RE2::UNANCHORED, found.data(),
                       static_cast<int>(found.size()))) {
    return;
  }
  core::ReportLine report;
  for (const auto& [name, number] : groups_) {
    const re2::StringPiece& part = found[static_cast<size_t>(number)];
    if (part.data() == nullptr) continue;  // the group is in a branch that did not match
    const core::ReportPair pair{name, absl::string_view(part.data(), part.size())};
    if (core::IsReportPair(pair)) {
      report.pairs.push_back(pair);
    } else if (report.defect.empty()) {
      report.defect = pair.value;
    }
  }
  reports_.AddMatch(report, line);
}

}  // namespace tony::executor
