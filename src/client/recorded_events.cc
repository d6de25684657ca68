// Lines of the file, one after the other.
#include "client/recorded_events.h"

#include <fstream>
#include <string>

#include "rpc/event_json.h"

namespace tony::client {

void ForEachRecordedEvent(const backend::JobFolder& folder, const UseEvent& use) {
  std::ifstream file(folder.events(), std::ios::binary);
  std::string line;
  for (int number = 1; std::getline(file, line) && !file.eof(); ++number) {
    if (!use(number, rpc::EventFromJsonLine(line))) return;
  }
}

}  // namespace tony::client
