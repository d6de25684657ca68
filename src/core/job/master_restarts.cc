// Exponential backoff from a fixed table, with a cap of two seconds while executors still wait.
#include "core/job/master_restarts.h"

#include <algorithm>
#include <iterator>

namespace tony::core {
namespace {

using std::chrono::milliseconds;

/// The wait before the first restart in a row, the second, …; the last one repeats.
constexpr milliseconds kPauses[] = {milliseconds(0),    milliseconds(200),  milliseconds(400),
                                    milliseconds(800),  milliseconds(1600), milliseconds(2000),
                                    milliseconds(2000), milliseconds(2000), milliseconds(4000),
                                    milliseconds(8000), milliseconds(10000)};

}  // namespace

std::optional<Duration> MasterRestarts::Next(Duration lived) {
  if (left_ <= 0) return std::nullopt;
  if (lived >= kGoodWhile) in_a_row_ = 0;
  --left_;
  ++used_;
  const int last = static_cast<int>(std::size(kPauses)) - 1;
  return kPauses[std::min(in_a_row_++, last)];
}

}  // namespace tony::core
