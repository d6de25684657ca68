// Shows what the tasks of a followed job print.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/catalog/job_catalog.h"
#include "common/clock.h"
#include "common/safe_text.h"
#include "history/job_logs.h"
#include "history/log_stream.h"
#include "os/files/stoppable_writer.h"
#include "os/files/unique_fd.h"

namespace tony::client {

/// Prints the lines of a job's logs as they are written, merged by time, each behind its task's
/// name, to the job's end.
///
/// The logs are files, and a thread of its own reads them. So an output that is slow, or takes
/// nothing for a while, delays neither the programs nor the job's events, and no memory fills. When
/// it is too far behind, lines are left out, and a line says how many. When its reader goes away
/// (`| head`), nothing more is printed; the job goes on.
///
/// Thread safe.
class JobOutput {
 public:
  /// Opens the catalog that has the job.
  using OpenCatalog = std::function<absl::StatusOr<std::unique_ptr<JobCatalog>>()>;

  struct Options {
    std::string job_id;
    OpenCatalog open_catalog;  ///< called on the output's thread
    history::LogSelection selection;
    bool terminal = false;       ///< the output is a terminal: lines are made harmless for it
    Paint paint = Paint::kNone;  ///< for a terminal
    int lines_per_second = 0;    ///< more lines are left out, and counted; 0: no limit
    /// Takes sentences for people; called on any thread.
    std::function<void(const std::string& sentence)> notice;
    /// Called on the output's thread when nothing more will be printed. Must not destroy this.
    std::function<void()> on_end;
  };

  /// Starts to print to `fd`, which outlives this. Errno codes – the machine has no descriptor
  /// left.
  static absl::StatusOr<std::unique_ptr<JobOutput>> Start(int fd, Options options);
  /// Stops. Waits for the answer of a node of a cluster that was asked, but for no reader.
  ~JobOutput();
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  /// Nothing more will come, although no event says so: prints what there is, and ends.
  void Finish() const;
  /// Prints nothing more.
  void Stop() const;
  /// The number of bytes printed so far: whether anything moves.
  int64_t printed() const { return printed_; }

 private:
  JobOutput(int fd, os::UniqueFd end, os::UniqueFd stop, Options options);
  void Run();
  /// OK – all was printed. The codes of StoppableWriter, JobCatalog and LogStream::Follow().
  absl::Status Print();
  /// Waits until the job has logs, or nothing more is to be followed. The codes of
  /// JobCatalog::Find() and FindLogs().
  absl::StatusOr<JobCatalog::Logs> FindLogs(JobCatalog& jobs) const;
  void OnLine(const history::LogFile& log, const logs::LogLine& line);
  void OnLeftOut(const history::LogFile& log, const logs::LogReader::LeftOut& left_out);
  /// Whether the line is within the limit.
  bool MayPrint();
  /// Says how many lines were left out since the last time, if any.
  void TellWithheld();
  void Append(const history::LogFile& log, const std::string& text);
  void Flush();

  const Options options_;
  const SystemClock clock_;
  const bool prefix_;
  const os::UniqueFd end_;   ///< an eventfd, readable once nothing more is to be followed
  const os::UniqueFd stop_;  ///< an eventfd, readable once nothing more is to be printed
  os::StoppableWriter writer_;
  std::string buffer_;    ///< lines to be written next
  absl::Status written_;  ///< the first error of the writer
  TimePoint second_{};    ///< begin of the second in which lines are counted
  int in_second_ = 0;
  int64_t withheld_ = 0;  ///< lines left out that nobody was told of yet
  std::atomic<int64_t> printed_ = 0;
  std::thread thread_;
};

}  // namespace tony::client
