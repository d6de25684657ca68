// The listener of the proxy stays from the first opening on, so that the browser's address stays
// the same when the notebook or the ApplicationMaster was started again.
#include "client/verbs/notebook_printer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"

namespace tony::client {

void NotebookPrinter::OnEvent(const core::JobEvent& event) {
  printer_->OnEvent(event);
  if (const auto* submitted = std::get_if<core::JobSubmitted>(&event.body)) {
    job_id_ = submitted->job_id;
  }
  const auto* ready = std::get_if<core::VisualizationReady>(&event.body);
  if (ready != nullptr && !ready->url.empty()) Open(ready->task);
}

void NotebookPrinter::Open(const core::TaskId& task) {
  absl::StatusOr<std::unique_ptr<rpc::JobClient>> client = options_.connect(job_id_);
  absl::Status status = client.status();
  if (status.ok() && proxy_ != nullptr) return proxy_->Reconnect(*std::move(client));
  if (status.ok()) {
    auto proxy = TaskProxy::Open(loop_, *std::move(client), {task}, options_.port, options_.err);
    status = proxy.status();
    if (proxy.ok()) proxy_ = *std::move(proxy);
  }
  if (status.ok()) return options_.on_open(proxy_->port());
  options_.err(absl::StrCat("tony: the notebook runs, but it cannot be reached from here: ",
                            SafeText(std::string(status.message())), "\n"));
}

void NotebookPrinter::Close() {
  proxy_.reset();
  printer_->Close();
}

}  // namespace tony::client
