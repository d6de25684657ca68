// Reads logs that lie on the machines of the tasks for the page's API.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "appmaster/page/node_reads.h"
#include "common/clock.h"
#include "common/worker.h"
#include "logs/log_lookup.h"
#include "logs/log_merge.h"
#include "web/api/job_logs.h"

namespace tony::appmaster {

/// Asks the executors of tasks' containers, which read, search and merge the logs where they lie. A
/// task whose container is gone has no log here any more. What can be had of several tasks is
/// given, with a sentence for each task that does not answer. Not thread safe: owned by the event
/// loop.
class NodeLogs : public web::JobLogs {
 public:
  /// Tasks whose logs are merged, or searched for an error, at once.
  static constexpr size_t kMostTasks = 64;

  /// `own_log`: path of this process's own log. All references must outlive this object.
  NodeLogs(EventLoop& loop, const Clock& clock, const core::JobMachine& machine,
           rpc::ExecutorService& executors, std::string own_log)
      : clock_(clock),
        machine_(machine),
        reads_(loop, clock, machine, executors),
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
  void TakeLines(const std::string& container, v1::LogLines lines) {
    reads_.TakeLines(container, std::move(lines));
  }

 private:
  /// Tasks to ask, in their order, and sentences about those that are not asked.
  struct Chosen {
    std::vector<core::TaskId> tasks;
    std::vector<std::string> notes;
  };

  /// The tasks of `selection` (history::LogSelection::task) that have a container.
  Chosen Choose(const core::JobView& view, const std::string& selection) const;
  void AskForBlock(NodeQuestion question, Take<logs::LogBlock> take);
  void MergeOwn(const web::MergeWish& wish, Abandoned abandoned, Take<web::MergedLines> take);
  /// The page of what the executors have answered.
  web::MergedLines PageOf(std::vector<NodeAnswer> answers, std::vector<std::string> notes,
                          const web::MergeWish& wish);
  /// Whether a page goes on only when this task's executor has answered, which it did until a
  /// moment ago.
  bool WaitsFor(const NodeAnswer& answer);
  /// Goes on to the errors of other tasks than the guilty one. `own_millis`: when that one printed
  /// its own, by this host's clock; 0: not known.
  void FindAfter(const core::JobView& view, int64_t own_millis, web::JobErrors errors,
                 Abandoned abandoned, Take<web::JobErrors> take);

  const Clock& clock_;
  const core::JobMachine& machine_;
  NodeReads reads_;
  const std::string own_log_;
  std::map<core::TaskId, TimePoint> silent_since_;  ///< of executors that do not answer merges
  const std::shared_ptr<int> downloads_ = std::make_shared<int>(0);
  Worker worker_;
  logs::LogLookup lookup_;  ///< of this process's own log
};

}  // namespace tony::appmaster
