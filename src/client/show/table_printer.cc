// The table is rendered as text, and drawn only when it differs from the text on the screen.
#include "client/show/table_printer.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/show/change_lines.h"
#include "client/show/job_table.h"

namespace tony::client {

void TablePrinter::OnEvent(const core::JobEvent& event) {
  if (over_ || event.sequence <= job_.view.last_sequence) return;
  job_.Apply(event);
  if (const auto* change = std::get_if<core::TaskChanged>(&event.body)) {
    absl::StrAppend(&lasting_, DescribeFailure(*change));
  } else if (std::holds_alternative<core::EpochOpened>(event.body) ||
             std::holds_alternative<core::JobNote>(event.body)) {
    absl::StrAppend(&lasting_, DescribeJobChange(event));
  } else if (std::holds_alternative<core::JobEnded>(event.body)) {
    Draw(/*leave=*/true);
    over_ = true;
    const Screen screen = screen_();
    write_(SafeLines(RenderVerdict(job_.view, screen), PaintOf(screen)));
  }
}

void TablePrinter::OnMeasurement(const core::JobEvent& measurement) {
  if (const auto* measured = std::get_if<core::TaskMeasured>(&measurement.body)) {
    job_.view.Measure(*measured);
  }
}

void TablePrinter::Refresh() {
  if (!over_ && job_.view.last_sequence > 0) Draw(/*leave=*/false);
}

void TablePrinter::Notice(const std::string& sentence) {
  // Without a table nobody would draw it.
  if (over_ || !table_.drawn()) return PrintNotice(sentence);
  absl::StrAppend(&lasting_, SafeText(sentence), "\n");
  Refresh();
}

void TablePrinter::OnStop(Duration grace) {
  grace_ = grace;
  if (over_ || !table_.drawn()) return ProgressPrinter::OnStop(grace);
  Refresh();
}

void TablePrinter::Suspend() {
  if (!over_ && table_.drawn()) Draw(/*leave=*/true);
}

void TablePrinter::Close() {
  if (!over_ && table_.drawn()) Draw(/*leave=*/true);
  over_ = true;
}

std::string TablePrinter::Render(const Screen& screen) {
  const int64_t now = clock_.UnixMillis();
  std::string stopping;
  if (grace_ && !job_.view.verdict) {
    const std::string text = absl::StrCat(
        RenderStopping(job_.view, now, *grace_ / std::chrono::milliseconds(1)), "; ", kHowToLeave);
    stopping = absl::StrCat(absl::StrJoin(WrapToWidth(text, screen.width), "\n"), "\n");
  }
  // One line of the screen stays free: the last line end would scroll the table's first line away.
  const ptrdiff_t rows = screen.rows == 0 ? std::numeric_limits<ptrdiff_t>::max()
                                          : screen.rows - 1 - CountLines(stopping);
  Screen rest = screen;
  if (rest.rows > 0)
    rest.rows = std::max<int>(1, rest.rows - static_cast<int>(CountLines(stopping)));
  const std::string table = RenderJobTable(job_, now, rest, lines_.Read(job_.view));
  return SafeLines(absl::StrCat(ClipLines(table, rows), stopping), PaintOf(screen));
}

void TablePrinter::Draw(bool leave) {
  const Screen screen = screen_();
  table_.Draw(Render(screen), SafeLines(std::exchange(lasting_, "")), screen, leave);
}

}  // namespace tony::client
