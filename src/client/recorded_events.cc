// Lines of the file, one after the other.
#include "client/recorded_events.h"

#include <fstream>
#include <istream>
#include <sstream>
#include <string>

#include "backend/archived_events.h"
#include "common/status_macros.h"
#include "rpc/event_json.h"

namespace tony::client {
namespace {

void ForEachLine(std::istream& lines, const UseEvent& use) {
  std::string line;
  for (int number = 1; std::getline(lines, line) && !lines.eof(); ++number) {
    if (!use(number, rpc::EventFromJsonLine(line))) return;
  }
}

}  // namespace

void ForEachRecordedEvent(const backend::JobFolder& folder, const UseEvent& use) {
  std::ifstream file(folder.events(), std::ios::binary);
  ForEachLine(file, use);
}

absl::Status ForEachArchivedEvent(backend::JobFiles& files, const std::string& folder,
                                  const UseEvent& use) {
  TONY_ASSIGN_OR_RETURN(const std::string text, backend::ReadArchivedEvents(files, folder));
  std::istringstream lines(text);
  ForEachLine(lines, use);
  return absl::OkStatus();
}

}  // namespace tony::client
