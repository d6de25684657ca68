// Recording of events.
#include "appmaster/history.h"

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "rpc/convert.h"
#include "rpc/event_json.h"

namespace tony::appmaster {

absl::StatusOr<History> History::Open(const std::string& path, const Clock& clock,
                                      rpc::EventLog& log) {
  TONY_ASSIGN_OR_RETURN(os::AppendFile file, os::AppendFile::Open(path));
  return History(std::move(file), clock, log);
}

void History::Record(core::JobEventBody body) {
  const core::JobEvent event{++last_sequence_, clock_->UnixMillis(), std::move(body)};
  const absl::Status written = file_.Append(rpc::EventToJsonLine(event) + "\n");
  if (!written.ok() && !said_loss_) {
    said_loss_ = true;
    LogError(absl::StrCat("the history is incomplete: ", std::string(written.message())));
  }
  log_->Append(rpc::ToProto(event));
}

}  // namespace tony::appmaster
