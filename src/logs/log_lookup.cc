// The readers are those of log_block.h; here they get a thread and a time limit.
#include "logs/log_lookup.h"

#include <utility>

namespace tony::logs {

std::function<bool()> OutOfTime(const Clock& clock, const Worker::Stop& stop) {
  return [&clock, stop, end = clock.Now() + kSearchTime] { return stop() || clock.Now() >= end; };
}

void LogLookup::ReadBlock(const std::string& path, int64_t offset, size_t limit,
                          Worker::Abandoned abandoned, Take take) {
  worker_.Run<LogBlock>(
      std::move(abandoned),
      [path, offset, limit](const Worker::Stop&) { return ReadLogBlock(path, offset, limit); },
      std::move(take));
}

void LogLookup::Search(const std::string& path, const LogSearch& search,
                       Worker::Abandoned abandoned, Take take) {
  worker_.Run<LogBlock>(
      std::move(abandoned),
      [&clock = clock_, path, search](const Worker::Stop& stop) {
        return SearchLog(path, search, OutOfTime(clock, stop));
      },
      std::move(take));
}

}  // namespace tony::logs
