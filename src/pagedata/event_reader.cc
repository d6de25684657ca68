// Only the lines that are wanted are parsed; of the others the number in front is looked at.
#include "pagedata/event_reader.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "history/record_file.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_json.h"

namespace tony::pagedata {
namespace {

/// So many lines apart are the places that are remembered, and the questions whether to stop.
constexpr int kLinesBetweenPlaces = 1000;

constexpr absl::string_view kSequence = "{\"sequence\":\"";

/// The number that the line begins with; 0: it does not begin with one, and is no event.
int64_t SequenceOf(absl::string_view line) {
  if (!absl::StartsWith(line, kSequence)) return 0;
  line.remove_prefix(kSequence.size());
  int64_t number = 0;
  return absl::SimpleAtoi(line.substr(0, line.find('"')), &number) ? number : 0;
}

}  // namespace

int64_t EventReader::PlaceBefore(int64_t after) const {
  const auto behind =
      std::partition_point(places_.begin(), places_.end(),
                           [after](const Place& each) { return each.sequence <= after; });
  return behind == places_.begin() ? 0 : std::prev(behind)->offset;
}

web::EventPage EventReader::Read(int64_t after, size_t limit, const std::function<bool()>& stop) {
  web::EventPage page;
  const absl::StatusOr<os::UniqueFd> opened = history::OpenRecordFile(path_);
  if (!opened.ok()) return page;
  std::ifstream file(absl::StrCat("/proc/self/fd/", opened->get()), std::ios::binary);
  int64_t offset = PlaceBefore(after);
  file.seekg(offset);
  int64_t last = after;
  int lines = 0;
  for (std::string line; std::getline(file, line) && !file.eof(); ++lines) {
    const int64_t sequence = SequenceOf(line);
    const int64_t begin = std::exchange(offset, offset + static_cast<int64_t>(line.size()) + 1);
    if (lines == kLinesBetweenPlaces) {
      lines = 0;
      const int64_t newest = places_.empty() ? 0 : places_.back().sequence;
      if (sequence > newest) places_.push_back({sequence, begin});
      if (stop()) break;
    }
    if (sequence <= last) continue;
    const absl::StatusOr<core::JobEvent> event = rpc::EventFromJsonLine(line);
    if (!event.ok()) continue;
    if (page.events.size() == limit) {
      page.next = last;
      break;
    }
    last = sequence;
    page.events.push_back(rpc::EventToNumericJson(rpc::ToProto(*event)));
  }
  return page;
}

}  // namespace tony::pagedata
