// Reads pages of events from a history, which may be long.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "web/api/job_source.h"

namespace tony::pagedata {

/// Remembers some places of the history, so that a page far behind does not cost all lines before
/// it, each time. Read() blocks. Not thread safe: one thread at a time.
class EventReader {
 public:
  /// `path`: of the history, which may still grow.
  explicit EventReader(std::string path) : path_(std::move(path)) {}

  /// The events behind `after`, at most `limit`; damaged lines are left out. `stop` is asked now
  /// and then: once it returns true, the page ends.
  web::EventPage Read(int64_t after, size_t limit, const std::function<bool()>& stop);

 private:
  /// Where the line of an event begins.
  struct Place {
    int64_t sequence = 0;
    int64_t offset = 0;
  };

  /// An offset at which a line begins, before which there are only events up to `after`.
  int64_t PlaceBefore(int64_t after) const;

  const std::string path_;
  std::vector<Place> places_;  ///< in the order of the history, one for many lines
};

}  // namespace tony::pagedata
