// Reads logs that lie in the job's folder on this machine for the page's API.
#pragma once

#include "common/clock.h"
#include "common/worker.h"
#include "logs/log_lookup.h"
#include "storage/job_folder.h"
#include "web/api/job_logs.h"

namespace tony::pagedata {

/// Works on a thread, and for logs::kSearchTime at most on each search. Not thread safe: owned by
/// the event loop.
class FolderJobLogs : public web::JobLogs {
 public:
  /// Both must outlive this object.
  FolderJobLogs(EventLoop& loop, const Clock& clock, storage::JobFolder folder)
      : clock_(clock), folder_(std::move(folder)), worker_(loop), lookup_(worker_, clock) {}

  void ReadBlock(const web::LogName& name, int64_t offset, size_t limit, Abandoned abandoned,
                 Take<logs::LogBlock> take) override;
  void Search(const web::LogName& name, const logs::LogSearch& search, Abandoned abandoned,
              Take<logs::LogBlock> take) override;
  void Merge(const core::JobView& view, const web::MergeWish& wish, Abandoned abandoned,
             Take<web::MergedLines> take) override;
  void FindErrors(const core::JobView& view, Abandoned abandoned,
                  Take<web::JobErrors> take) override;
  void OpenRaw(const web::LogName& name, Abandoned abandoned, Take<web::RawLog> take) override;

 private:
  /// Path of the log's first segment.
  std::string PathOf(const web::LogName& name) const;

  const Clock& clock_;
  const storage::JobFolder folder_;
  Worker worker_;
  logs::LogLookup lookup_;
};

}  // namespace tony::pagedata
