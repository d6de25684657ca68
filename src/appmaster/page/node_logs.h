// Reads logs that lie on the machines of the tasks for the page's API.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/event_loop.h"
#include "common/worker.h"
#include "core/job/job_machine.h"
#include "logs/log_lookup.h"
#include "rpc/services/executor_service.h"
#include "web/api/job_logs.h"

namespace tony::appmaster {

/// Asks the executor of a task's container, which reads and filters the log where it lies. A task
/// whose container is gone has no log here any more. Unimplemented – whatever needs the logs of
/// several tasks at once, or all of one. Not thread safe: owned by the event loop.
class NodeLogs : public web::JobLogs {
 public:
  /// The time within which an executor must answer.
  static constexpr std::chrono::seconds kPatience{5};
  /// Requests that wait at the same time. An answer has some 2 MiB at most.
  static constexpr size_t kMostWaiting = 32;

  /// `own_log`: path of this process's own log. All references must outlive this object.
  NodeLogs(EventLoop& loop, const Clock& clock, const core::JobMachine& machine,
           rpc::ExecutorService& executors, std::string own_log)
      : loop_(loop),
        machine_(machine),
        executors_(executors),
        own_log_(std::move(own_log)),
        worker_(loop),
        lookup_(worker_, clock) {}

  void ReadBlock(const web::LogName& name, int64_t offset, size_t limit, Abandoned abandoned,
                 Take<logs::LogBlock> take) override;
  void Search(const web::LogName& name, const logs::LogSearch& search, Abandoned abandoned,
              Take<logs::LogBlock> take) override;
  void Merge(const core::JobView& view, const web::MergeWish& wish, Abandoned abandoned,
             Take<web::MergedLines> take) override;
  void FindErrors(const core::JobView& view, Abandoned abandoned,
                  Take<web::JobErrors> take) override;
  void OpenRaw(const web::LogName& name, Abandoned abandoned, Take<web::RawLog> take) override;

  /// An executor's answer. One that comes late, or that nobody has asked for, is dropped.
  void TakeLines(const std::string& container, v1::LogLines lines);

 private:
  struct Waiting {
    std::string container;
    Take<logs::LogBlock> take;
    std::unique_ptr<EventLoop::Handle> deadline;
  };

  /// Sends `wish`, without its number, to the executor of the log's task.
  void Ask(const web::LogName& name, v1::ReadLog wish, Take<logs::LogBlock> take);
  void OnDeadline(int64_t request);

  EventLoop& loop_;
  const core::JobMachine& machine_;
  rpc::ExecutorService& executors_;
  const std::string own_log_;
  int64_t last_request_ = 0;
  std::map<int64_t, Waiting> waiting_;  ///< by request
  Worker worker_;
  logs::LogLookup lookup_;  ///< of this process's own log
};

}  // namespace tony::appmaster
