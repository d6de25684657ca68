// The table, and its changes; the questions are in job_queries.cc.
#include "portal/index/job_index.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "portal/index/job_columns.h"

namespace tony::portal {
namespace {

constexpr int64_t kMappedBytes = int64_t{256} << 20;

/// An index for each order and for each filter: an equal value and then the newest first. SQLite
/// reads them in both directions.
std::string Schema() {
  std::string sql = absl::StrCat(
      "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS job(id INTEGER PRIMARY KEY, ",
      absl::StrJoin(AllColumns(), ", ",
                    [](std::string* text, const Column& column) {
                      absl::StrAppend(text, column.name, column.is_text ? " TEXT" : " INTEGER",
                                      " NOT NULL");
                    }),
      ", UNIQUE(location, job_id)); ",
      // Words and states are looked for in the index itself, which is a fifth of the table.
      "CREATE INDEX IF NOT EXISTS by_submitted_ms ON "
      "job(submitted_ms DESC, id DESC, state, search); ",
      "CREATE INDEX IF NOT EXISTS by_alive ON job(submitted_ms DESC, id DESC) WHERE alive = 1; ");
  for (const char* const column :
       {"duration_ms", "name", "user", "state", "queue", "framework", "gpus"}) {
    absl::StrAppend(&sql, "CREATE INDEX IF NOT EXISTS by_", column, " ON job(", column,
                    ", submitted_ms DESC, id DESC); ");
  }
  return absl::StrCat(sql, "PRAGMA user_version = ", JobIndex::kFormat, "; COMMIT");
}

bool Exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

/// A write-ahead log that belonged to another file of that name would damage the next one.
void RemoveDatabase(const std::string& path) {
  for (const char* const part : {"-wal", "-shm", ""}) {
    (void)::unlink(absl::StrCat(path, part).c_str());
  }
}

std::string PutStatement() {
  const auto& columns = AllColumns();
  const auto name = [](std::string* text, const Column& column) {
    absl::StrAppend(text, column.name);
  };
  const auto update = [](std::string* text, const Column& column) {
    absl::StrAppend(text, column.name, " = excluded.", column.name);
  };
  return absl::StrCat("INSERT INTO job(", absl::StrJoin(columns, ", ", name), ") VALUES(",
                      absl::StrJoin(std::vector<std::string>(columns.size(), "?"), ", "),
                      ") ON CONFLICT(location, job_id) DO UPDATE SET ",
                      absl::StrJoin(columns, ", ", update));
}

absl::Status NotOpen() {
  return absl::UnavailableError("the portal's index could not be opened again; is the disk full?");
}

/// Runs `work` in a transaction, which is undone if it fails.
template <typename Work>
absl::Status InTransaction(Database& database, const Work& work) {
  TONY_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  absl::Status status = work();
  if (status.ok()) status = database.Execute("COMMIT");
  if (!status.ok()) (void)database.Execute("ROLLBACK");
  return status;
}

absl::StatusOr<std::map<JobKey, KnownJob>> ReadKnown(Database& database) {
  TONY_ASSIGN_OR_RETURN(
      Statement statement,
      database.Prepare("SELECT location, job_id, alive, file_size, file_mtime_ns, file_inode, "
                       "summary_mtime_ns FROM job"));
  std::map<JobKey, KnownJob> known;
  for (;;) {
    TONY_ASSIGN_OR_RETURN(const bool any, statement.Step());
    if (!any) return known;
    known[{statement.Text(0), statement.Text(1)}] = {
        {statement.Number(3), statement.Number(4), statement.Number(5), statement.Number(6)},
        statement.Number(2) != 0};
  }
}

absl::Status PutJobs(const std::vector<ReadJob>& jobs, Database& database) {
  TONY_ASSIGN_OR_RETURN(Statement statement, database.Prepare(PutStatement()));
  return InTransaction(database, [&]() -> absl::Status {
    for (const ReadJob& job : jobs) {
      BindJob(job, statement);
      TONY_RETURN_IF_ERROR(statement.Run());
    }
    return absl::OkStatus();
  });
}

absl::Status RemoveJobs(const std::vector<JobKey>& jobs, Database& database) {
  TONY_ASSIGN_OR_RETURN(Statement statement,
                        database.Prepare("DELETE FROM job WHERE location = ? AND job_id = ?"));
  return InTransaction(database, [&]() -> absl::Status {
    for (const JobKey& job : jobs) {
      TONY_RETURN_IF_ERROR(statement.Bind(1, job.first).Bind(2, job.second).Run());
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobIndex>> JobIndex::Open(const std::string& folder) {
  std::unique_ptr<JobIndex> index(new JobIndex(folder));
  // A process that was killed in the middle leaves its log behind.
  const bool unclean = Exists(absl::StrCat(index->FinalPath(), "-wal"));
  if (Exists(index->FinalPath())) {
    absl::Status opened = index->OpenBoth(index->FinalPath());
    if (opened.ok()) opened = index->CheckFormat();
    if (opened.ok() && unclean) {
      const absl::StatusOr<int64_t> wrong =
          index->writer_->Ask("SELECT count(*) FROM pragma_quick_check WHERE quick_check <> 'ok'");
      opened = wrong.ok() && *wrong == 0 ? absl::OkStatus() : absl::DataLossError("it is damaged");
    }
    if (opened.ok()) {
      index->complete_ = true;
      return index;
    }
    LogInfo("the index is made anew", {{"file", index->FinalPath()}, {"why", opened.message()}});
  }
  TONY_RETURN_IF_ERROR(index->StartAnew());
  return index;
}

absl::Status JobIndex::CheckFormat() {
  TONY_ASSIGN_OR_RETURN(const int64_t format, writer_->Ask("PRAGMA user_version"));
  if (format == kFormat) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("its format is ", format, ", and this version's is ", kFormat));
}

absl::Status JobIndex::OpenBoth(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(writer_, Database::Open(path, Database::Mode::kWrite));
  TONY_RETURN_IF_ERROR(
      writer_->Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
                       "PRAGMA analysis_limit = 1000"));
  return OpenReader(path);
}

// Pages come from the kernel's cache without being copied; a scan reads most of them.
absl::Status JobIndex::OpenReader(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(reader_, Database::Open(path, Database::Mode::kRead));
  return reader_->Execute(absl::StrCat("PRAGMA mmap_size = ", kMappedBytes));
}

bool JobIndex::broken() {
  std::lock_guard writer_lock(writer_mutex_);
  std::lock_guard reader_lock(reader_mutex_);
  return damaged_ || !writer_ || !reader_;
}

absl::Status JobIndex::StartAnew() {
  std::lock_guard writer_lock(writer_mutex_);
  std::lock_guard reader_lock(reader_mutex_);
  complete_ = false;
  absl::Status filled = FillAnew();
  // Half an index is none: what was opened of it would hide that it has no table.
  damaged_ = !filled.ok();
  return filled;
}

absl::Status JobIndex::FillAnew() {
  reader_.reset();
  writer_.reset();
  RemoveDatabase(NewPath());
  TONY_ASSIGN_OR_RETURN(writer_, Database::Open(NewPath(), Database::Mode::kWrite));
  // Nothing is lost with a file that nobody opens again.
  TONY_RETURN_IF_ERROR(
      writer_->Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; "
                       "PRAGMA analysis_limit = 1000"));
  TONY_RETURN_IF_ERROR(writer_->Execute(Schema()));
  return OpenReader(NewPath());
}

// All connections are closed during the renaming, since SQLite finds a file's log by its name.
absl::Status JobIndex::Publish() {
  if (complete_) return absl::OkStatus();
  std::lock_guard writer_lock(writer_mutex_);
  if (!writer_) return NotOpen();
  TONY_RETURN_IF_ERROR(Noted(writer_->Execute("ANALYZE; PRAGMA synchronous = FULL")));
  std::lock_guard reader_lock(reader_mutex_);
  reader_.reset();
  TONY_RETURN_IF_ERROR(Noted(writer_->Execute("PRAGMA wal_checkpoint(TRUNCATE)")));
  writer_.reset();
  RemoveDatabase(FinalPath());
  if (::rename(NewPath().c_str(), FinalPath().c_str()) != 0) {
    absl::Status failed = os::ErrnoError(errno, FinalPath());
    (void)OpenBoth(NewPath());
    return failed;
  }
  TONY_RETURN_IF_ERROR(OpenBoth(FinalPath()));
  complete_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::map<JobKey, KnownJob>> JobIndex::KnownJobs() {
  std::lock_guard lock(writer_mutex_);
  return writer_ ? Noted(ReadKnown(*writer_)) : NotOpen();
}

absl::Status JobIndex::Put(const std::vector<ReadJob>& jobs) {
  if (jobs.empty()) return absl::OkStatus();
  std::lock_guard lock(writer_mutex_);
  return writer_ ? Noted(PutJobs(jobs, *writer_)) : NotOpen();
}

absl::Status JobIndex::Remove(const std::vector<JobKey>& jobs) {
  if (jobs.empty()) return absl::OkStatus();
  std::lock_guard lock(writer_mutex_);
  return writer_ ? Noted(RemoveJobs(jobs, *writer_)) : NotOpen();
}

}  // namespace tony::portal
