// Lines are collected up to kFlushBytes or to a pause of the programs: a write for each line would
// be most of the work.
#include "client/follow/job_output.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/jobs/remove_job.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/wait_readable.h"

namespace tony::client {
namespace {

/// Pause between two looks at a job that has no ApplicationMaster yet.
constexpr std::chrono::milliseconds kLookPause{500};
constexpr size_t kFlushBytes = size_t{32} << 10;
/// How far the output may be behind. A terminal shows a few MiB in a second, and nobody reads more;
/// a file or another program is meant to have everything, and is fast.
constexpr int64_t kMostBehindTerminal = int64_t{4} << 20;
constexpr int64_t kMostBehind = int64_t{64} << 20;

/// Whether the lines need the name of their task: they do unless only one task is shown.
bool NeedsPrefix(const history::LogSelection& selection) {
  return !selection.of_master() && !absl::StrContains(selection.task, ":");
}

/// The part of a line that a terminal would still show. Progress bars go back to the line's start
/// with '\r' and write over it.
std::string LastOverwrite(const std::string& text) {
  const size_t end = text.find_last_not_of('\r');
  if (end == std::string::npos) return "";
  const size_t back = text.rfind('\r', end);
  return text.substr(back == std::string::npos ? 0 : back + 1, end - (back + 1) + 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobOutput>> JobOutput::Start(int fd, Options options) {
  os::UniqueFd end(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  os::UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!end.valid() || !stop.valid()) {
    return os::ErrnoError(errno, "cannot follow the tasks' output");
  }
  std::unique_ptr<JobOutput> output(
      new JobOutput(fd, std::move(end), std::move(stop), std::move(options)));
  output->thread_ = std::thread([output = output.get()] { output->Run(); });
  return output;
}

JobOutput::JobOutput(int fd, os::UniqueFd end, os::UniqueFd stop, Options options)
    : options_(std::move(options)),
      prefix_(NeedsPrefix(options_.selection)),
      end_(std::move(end)),
      stop_(std::move(stop)),
      writer_(fd, stop_.get()) {}

JobOutput::~JobOutput() {
  Stop();
  thread_.join();
}

void JobOutput::Finish() const { (void)eventfd_write(end_.get(), 1); }

void JobOutput::Stop() const {
  (void)eventfd_write(stop_.get(), 1);
  Finish();
}

void JobOutput::Run() {
  const absl::Status printed = Print();
  if (absl::IsFailedPrecondition(written_)) {
    options_.notice(
        absl::StrCat("nobody reads the output any more; the job goes on, Ctrl-C stops "
                     "it, and tony logs -f ",
                     options_.job_id, " shows it"));
  } else if (!printed.ok() && !absl::IsCancelled(printed)) {
    options_.notice(std::string(printed.message()));
  }
  options_.on_end();
}

absl::StatusOr<JobCatalog::Logs> JobOutput::FindLogs(JobCatalog& jobs) const {
  while (true) {
    TONY_ASSIGN_OR_RETURN(const StoredJob job, jobs.Find(options_.job_id));
    absl::StatusOr<JobCatalog::Logs> logs = jobs.FindLogs(job, {.selection = options_.selection,
                                                                .follow = true,
                                                                .handles_signals = false,
                                                                .notice = options_.notice});
    // A cluster may let the ApplicationMaster wait, and nothing has logs before it.
    if (!absl::IsUnavailable(logs.status())) return logs;
    if (os::WaitReadable(end_.get(), kLookPause)) return logs;
  }
}

absl::Status JobOutput::Print() {
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> jobs, options_.open_catalog());
  TONY_ASSIGN_OR_RETURN(const JobCatalog::Logs logs, FindLogs(*jobs));
  if (!logs.missing.empty()) options_.notice(logs.missing);
  history::LogStreamOptions following;
  following.selection = options_.selection;
  following.most_unread = options_.terminal ? kMostBehindTerminal : kMostBehind;
  following.on_left_out = [this](const history::LogFile& log,
                                 const logs::LogReader::LeftOut& left_out) {
    OnLeftOut(log, left_out);
  };
  following.on_pause = [this] { Flush(); };
  following.end_fd = end_.get();
  history::LogStream stream(
      logs.folder, std::move(following), clock_,
      [this](const history::LogFile& log, const logs::LogLine& line) { OnLine(log, line); });
  const absl::Status followed = stream.Follow();
  TellWithheld();
  Flush();
  TONY_RETURN_IF_ERROR(written_);
  TONY_RETURN_IF_ERROR(followed);
  return logs.result ? logs.result() : absl::OkStatus();
}

bool JobOutput::MayPrint() {
  if (options_.lines_per_second == 0) return true;
  const TimePoint now = clock_.Now();
  if (now - second_ >= std::chrono::seconds(1)) {
    TellWithheld();
    second_ = now;
    in_second_ = 0;
  }
  if (in_second_ < options_.lines_per_second) {
    ++in_second_;
    return true;
  }
  ++withheld_;
  return false;
}

void JobOutput::TellWithheld() {
  if (withheld_ == 0 || !written_.ok()) return;
  absl::StrAppend(&buffer_, "[tony leaves out ", withheld_, " lines, more than ",
                  options_.lines_per_second,
                  " in a second (tony.client.step-lines-per-second); tony logs ", options_.job_id,
                  " has them]\n");
  withheld_ = 0;
}

void JobOutput::OnLine(const history::LogFile& log, const logs::LogLine& line) {
  if (!MayPrint()) return;
  Append(log, options_.terminal ? LastOverwrite(line.text) : line.text);
}

void JobOutput::OnLeftOut(const history::LogFile& log, const logs::LogReader::LeftOut& left_out) {
  Append(log,
         absl::StrCat("[tony leaves out ", left_out.lines, " lines (", FormatBytes(left_out.bytes),
                      ") that came faster than they can be shown; tony logs ", options_.job_id, " ",
                      log.task, " has them]"));
}

void JobOutput::Append(const history::LogFile& log, const std::string& text) {
  if (!written_.ok()) return;
  const std::string line = absl::StrCat(prefix_ ? absl::StrCat(log.task, " | ") : "", text, "\n");
  buffer_ += options_.terminal ? SafeLines(line, options_.paint) : line;
  if (buffer_.size() >= kFlushBytes) Flush();
}

void JobOutput::Flush() {
  if (!written_.ok() || buffer_.empty()) return;
  written_ = writer_.Write(buffer_);
  printed_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
  if (!written_.ok()) Stop();
}

}  // namespace tony::client
