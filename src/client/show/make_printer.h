// Chooses how a running job is shown as its events arrive: a live table, plain lines, JSON lines,
// notices, or only the verdict.
#pragma once

#include <functional>
#include <memory>

#include "client/show/progress_printer.h"
#include "common/clock.h"

namespace tony::client {

enum class ProgressStyle {
  kTable,    ///< table, redrawn in place; for a terminal
  kLines,    ///< one line for each change
  kQuiet,    ///< the verdict only
  kNotices,  ///< what concerns a job whose output is shown besides; the verdict after that
  kNone,     ///< nothing
  kJson,     ///< each event, and the newest measurements, as one line of JSON
};

/// Makes the printer. `write` gets text that has passed SafeLines() or SafeJson() and may be
/// written unchanged; the table's text contains the escape sequences that draw it. `notice` gets
/// the notices of kNotices, and needs not be set for others. `clock` must outlive the printer.
std::unique_ptr<ProgressPrinter> MakeProgressPrinter(ProgressStyle style, Writer write,
                                                     ScreenSource screen, const Clock& clock,
                                                     Writer notice = nullptr);

/// Makes a printer of the style kNone that calls `on_first` at the first event; null: it does not.
std::unique_ptr<ProgressPrinter> MakeFirstEventPrinter(std::function<void()> on_first);

}  // namespace tony::client
