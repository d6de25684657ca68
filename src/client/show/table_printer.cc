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
namespace {

/// Back to the first column of the table's first line, and clear from there on.
constexpr char kErase[] = "\r\x1b[J";
/// Off and on: lines that are too long are continued in the next line. While it is off a line of
/// the table never becomes two, also where a character is wider than we know.
constexpr char kWrapOff[] = "\x1b[?7l";
constexpr char kWrapOn[] = "\x1b[?7h";

ptrdiff_t CountLines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

/// The first `most` lines of `text`; the last of them says how many are left out.
std::string ClipLines(const std::string& text, ptrdiff_t most) {
  const ptrdiff_t lines = CountLines(text);
  if (lines <= most) return text;
  size_t end = 0;
  for (ptrdiff_t line = 1; line < most; ++line) end = text.find('\n', end) + 1;
  return most <= 0 ? ""
                   : absl::StrCat(text.substr(0, end), "… ", lines - most + 1, " more lines\n");
}

}  // namespace

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

void TablePrinter::Refresh() {
  if (!over_ && job_.view.last_sequence > 0) Draw(/*leave=*/false);
}

void TablePrinter::Notice(const std::string& sentence) {
  // Without a table nobody would draw it.
  if (over_ || drawn_.empty()) return PrintNotice(sentence);
  absl::StrAppend(&lasting_, SafeText(sentence), "\n");
  Refresh();
}

void TablePrinter::OnStop(Duration grace) {
  grace_ = grace;
  if (over_ || drawn_.empty()) return ProgressPrinter::OnStop(grace);
  Refresh();
}

void TablePrinter::Suspend() {
  if (!over_ && !drawn_.empty()) Draw(/*leave=*/true);
}

void TablePrinter::Close() {
  if (!over_ && !drawn_.empty()) Draw(/*leave=*/true);
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
  std::string table = Render(screen);
  const bool resized = screen.width != drawn_on_.width || screen.rows != drawn_on_.rows;
  if (!leave && table == drawn_ && lasting_.empty() && !resized) return;
  std::string text =
      absl::StrCat(drawn_.empty() ? "" : kErase, SafeLines(lasting_), kWrapOff, table, kWrapOn);
  if (!leave) absl::StrAppend(&text, "\x1b[", CountLines(table), "A");
  // One write, so that the terminal never shows a half drawn table.
  write_(text);
  lasting_.clear();
  drawn_ = leave ? "" : std::move(table);
  drawn_on_ = screen;
}

}  // namespace tony::client
