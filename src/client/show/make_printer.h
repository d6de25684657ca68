// Shows a running job as its events arrive: a live table, plain lines, JSON lines, or only the
// verdict.
#pragma once

#include <memory>

#include "client/show/progress_printer.h"
#include "common/clock.h"

namespace tony::client {

enum class ProgressStyle {
  kTable,  ///< redrawn in place; for a terminal
  kLines,  ///< a line for each change
  kQuiet,  ///< the verdict only
  kJson,   ///< each event, and the newest measurements, as one line of JSON
};

/// `write` gets what has passed SafeLines() or SafeJson(), as it is to be written, with the escape
/// sequences that draw the table. `clock` must outlive the printer.
std::unique_ptr<ProgressPrinter> MakeProgressPrinter(ProgressStyle style, Writer write,
                                                     ScreenSource screen, const Clock& clock);

}  // namespace tony::client
