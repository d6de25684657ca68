// Shows a notebook's job, and opens the notebook as soon as it listens.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/show/progress_printer.h"
#include "client/exec/task_proxy.h"
#include "common/event_loop.h"
#include "rpc/services/job_client.h"

namespace tony::client {

/// Passes everything on to another printer, and opens a proxy to the task when the job's events say
/// that its visualization port has a listener. Not thread safe: owned by the event loop.
class NotebookPrinter : public ProgressPrinter {
 public:
  struct Options {
    int port = 0;  ///< to listen on; 0: any free one
    /// Makes a client of the ApplicationMaster of job `id`.
    std::function<absl::StatusOr<std::unique_ptr<rpc::JobClient>>(const std::string& id)> connect;
    /// The notebook is there for the first time, at this port of this machine.
    std::function<void(int port)> on_open;
    Writer err;
  };

  /// `loop` must outlive this.
  NotebookPrinter(EventLoop& loop, std::unique_ptr<ProgressPrinter> printer, Options options)
      : loop_(loop), printer_(std::move(printer)), options_(std::move(options)) {}

  void OnEvent(const core::JobEvent& event) override;
  void Refresh() override { printer_->Refresh(); }
  void Notice(const std::string& sentence) override { printer_->Notice(sentence); }
  void OnStop(Duration grace) override { printer_->OnStop(grace); }
  void Suspend() override { printer_->Suspend(); }
  void Close() override;

 private:
  void Open(const core::TaskId& task);

  EventLoop& loop_;
  const std::unique_ptr<ProgressPrinter> printer_;
  const Options options_;
  std::string job_id_;
  std::unique_ptr<TaskProxy> proxy_;
};

}  // namespace tony::client
