// Lines of the file, one after the other.
#include "client/recorded_events.h"

#include <fstream>
#include <sstream>
#include <string>

#include "backend/archived_events.h"
#include "common/status_macros.h"
#include "rpc/event_lines.h"

namespace tony::client {

void ForEachRecordedEvent(const backend::JobFolder& folder, const UseEvent& use) {
  std::ifstream file(folder.events(), std::ios::binary);
  rpc::ForEachEventLine(file, use);
}

absl::Status ForEachArchivedEvent(backend::JobFiles& files, const std::string& folder,
                                  const UseEvent& use) {
  TONY_ASSIGN_OR_RETURN(const std::string text, backend::ReadArchivedEvents(files, folder));
  std::istringstream lines(text);
  rpc::ForEachEventLine(lines, use);
  return absl::OkStatus();
}

void AddMeasurements(const std::string& lines, core::JobView& view) {
  for (const core::TaskMeasured& measured : rpc::ParseMeasurements(lines)) view.Measure(measured);
}

}  // namespace tony::client
