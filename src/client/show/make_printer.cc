// Defines the three printers that need no file of their own, and chooses one of the six. Each
// printer drops events that it has seen already, by their sequence numbers.
#include "client/show/make_printer.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "client/show/job_table.h"
#include "client/show/line_printer.h"
#include "client/show/notice_printer.h"
#include "client/show/table_printer.h"
#include "common/safe_text.h"
#include "core/record/job_view.h"
#include "rpc/convert/event_json.h"

namespace tony::client {
namespace {

/// Prints the verdict only. Not thread safe: owned by the event loop.
class QuietPrinter : public ProgressPrinter {
 public:
  QuietPrinter(Writer write, ScreenSource screen)
      : write_(std::move(write)), screen_(std::move(screen)) {}

  void OnEvent(const core::JobEvent& event) override {
    if (event.sequence <= view_.last_sequence) return;
    view_.Apply(event);
    if (std::holds_alternative<core::JobEnded>(event.body)) write_(RenderVerdict(view_, screen_()));
  }
  void Refresh() override {}

 private:
  Writer write_;
  ScreenSource screen_;
  core::JobView view_;
};

/// Prints no event. Notices still go to standard error. Not thread safe.
class FirstEventPrinter : public ProgressPrinter {
 public:
  explicit FirstEventPrinter(std::function<void()> on_first) : on_first_(std::move(on_first)) {}

  void OnEvent(const core::JobEvent& /*event*/) override {
    if (const auto first = std::exchange(on_first_, nullptr)) first();
  }
  void Refresh() override {}

 private:
  std::function<void()> on_first_;
};

/// Prints each event as one line of JSON, and measurements, which have no sequence number. Not
/// thread safe: owned by the event loop.
class JsonPrinter : public ProgressPrinter {
 public:
  explicit JsonPrinter(Writer write) : write_(std::move(write)) {}

  void OnEvent(const core::JobEvent& event) override {
    if (event.sequence <= last_sequence_) return;
    last_sequence_ = event.sequence;
    Print(event);
  }
  bool shows_measurements() const override { return true; }
  void OnMeasurement(const core::JobEvent& measurement) override { Print(measurement); }
  void Refresh() override {}

 private:
  void Print(const core::JobEvent& event) {
    write_(absl::StrCat(SafeJson(rpc::EventToJsonLine(event)), "\n"));
  }

  Writer write_;
  int64_t last_sequence_ = 0;
};

/// A writer of whole lines that makes them safe: their parts come from programs, hosts and job
/// files.
Writer LineWriter(Writer write, ScreenSource screen) {
  return [write = std::move(write), screen = std::move(screen)](const std::string& text) {
    write(SafeLines(text, PaintOf(screen())));
  };
}

}  // namespace

std::unique_ptr<ProgressPrinter> MakeProgressPrinter(ProgressStyle style, Writer write,
                                                     ScreenSource screen, const Clock& clock,
                                                     Writer notice) {
  switch (style) {
    case ProgressStyle::kTable:
      return std::make_unique<TablePrinter>(std::move(write), std::move(screen), clock);
    case ProgressStyle::kLines:
      return std::make_unique<LinePrinter>(LineWriter(std::move(write), screen), screen, clock);
    case ProgressStyle::kQuiet:
      return std::make_unique<QuietPrinter>(LineWriter(std::move(write), screen), screen);
    case ProgressStyle::kNotices:
      return std::make_unique<NoticePrinter>(LineWriter(std::move(write), screen),
                                             LineWriter(std::move(notice), screen), screen, clock);
    case ProgressStyle::kNone:
      return MakeFirstEventPrinter(nullptr);
    case ProgressStyle::kJson:
      return std::make_unique<JsonPrinter>(std::move(write));
  }
  return nullptr;
}

std::unique_ptr<ProgressPrinter> MakeFirstEventPrinter(std::function<void()> on_first) {
  return std::make_unique<FirstEventPrinter>(std::move(on_first));
}

}  // namespace tony::client
