// Both kinds of storage hold the same lines, so both are parsed by rpc::ForEachEventLine().
#include "history/recorded_events.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "history/record_file.h"
#include "rpc/convert/event_lines.h"
#include "storage/archived_events.h"

namespace tony::history {

void ForEachRecordedEvent(const storage::JobFolder& folder, const UseEvent& use) {
  const absl::StatusOr<os::UniqueFd> opened = OpenRecordFile(folder.events());
  if (!opened.ok()) return;
  // A stream cannot be made of a descriptor, but opens the very file again by it.
  std::ifstream file(absl::StrCat("/proc/self/fd/", opened->get()), std::ios::binary);
  rpc::ForEachEventLine(file, use);
}

absl::Status ForEachArchivedEvent(storage::JobFiles& files, const std::string& folder,
                                  const UseEvent& use) {
  TONY_ASSIGN_OR_RETURN(const std::string text, storage::ReadArchivedEvents(files, folder));
  std::istringstream lines(text);
  rpc::ForEachEventLine(lines, use);
  return absl::OkStatus();
}

void AddMeasurements(const std::string& lines, core::JobView& view) {
  for (const core::TaskMeasured& measured : rpc::ParseMeasurements(lines)) view.Measure(measured);
}

}  // namespace tony::history
