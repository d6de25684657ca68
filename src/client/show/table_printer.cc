// The table is rendered as text, and drawn only when it differs from the text on the screen.
#include "client/show/table_printer.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "client/show/change_lines.h"
#include "client/show/job_table.h"

namespace tony::client {
namespace {

/// The escape sequence that moves the cursor to the first line of `drawn` and clears from there on.
std::string Erase(const std::string& drawn) {
  const auto lines = std::count(drawn.begin(), drawn.end(), '\n');
  return lines == 0 ? "" : absl::StrCat("\x1b[", lines, "A\r\x1b[J");
}

}  // namespace

void TablePrinter::OnEvent(const core::JobEvent& event) {
  if (event.sequence <= job_.view.last_sequence) return;
  job_.Apply(event);
  if (const auto* change = std::get_if<core::TaskChanged>(&event.body)) {
    absl::StrAppend(&lasting_, DescribeFailure(*change));
  } else if (std::holds_alternative<core::EpochOpened>(event.body) ||
             std::holds_alternative<core::JobNote>(event.body)) {
    absl::StrAppend(&lasting_, DescribeJobChange(event));
  } else if (std::holds_alternative<core::JobEnded>(event.body)) {
    Refresh();
    over_ = true;
    const Screen screen = screen_();
    write_(SafeLines(RenderVerdict(job_.view, screen), PaintOf(screen)));
  }
}

void TablePrinter::Refresh() {
  if (over_ || job_.view.last_sequence == 0) return;
  const Screen screen = screen_();
  std::string table = SafeLines(
      RenderJobTable(job_, clock_.UnixMillis(), screen, lines_.Read(job_.view)), PaintOf(screen));
  if (table == drawn_ && lasting_.empty()) return;
  // One write, so that the terminal never shows a half drawn table.
  write_(absl::StrCat(Erase(drawn_), SafeLines(lasting_), table));
  lasting_.clear();
  drawn_ = std::move(table);
}

}  // namespace tony::client
