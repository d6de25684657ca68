// The source is opened by the thread: each of its servers may take its time to answer.
#include "portal/mirror/mirror_thread.h"

#include <ctime>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/logging.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"

namespace tony::portal {
namespace {

/// The file is written no more often than this: rounds are seconds apart.
constexpr int64_t kNoteMillis = 60'000;

/// "2026-11-28 13:40:12 UTC"
std::string TimeText(int64_t unix_millis) {
  const std::time_t seconds = unix_millis / 1000;
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "?";
  char text[64];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text, size};
}

}  // namespace

MirrorThread::MirrorThread(MirrorSource source, const Clock& clock,
                           std::function<void(const std::string& trouble)> say)
    : source_(std::move(source)), clock_(clock), say_(std::move(say)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

MirrorThread::~MirrorThread() = default;

std::string MirrorThread::Round(const std::stop_token& stop) {
  const auto trouble = [this](const absl::Status& why) {
    const absl::string_view message = why.message();
    if (answered_millis_ == 0) {
      return absl::StrCat(source_.name, " cannot be read: ", message,
                          ". Its jobs are shown as far as an earlier portal has copied them.");
    }
    return absl::StrCat(source_.jobs, " are shown as they were when it last answered, at ",
                        TimeText(answered_millis_), ": ", message, ".");
  };
  if (mirror_ == nullptr) {
    absl::StatusOr<JobMirror::Cluster> opened = source_.open(stop);
    if (!opened.ok()) return trouble(opened.status());
    auto mirror = JobMirror::Open(source_.folder, *std::move(opened), clock_);
    if (!mirror.ok()) return trouble(mirror.status());
    mirror_ = *std::move(mirror);
  }
  const absl::StatusOr<size_t> left_out = mirror_->Round(stop);
  if (!left_out.ok()) return trouble(left_out.status());
  answered_millis_ = clock_.UnixMillis();
  NoteAnswer(/*always=*/false);
  if (*left_out == 0) return "";
  return absl::StrCat(source_.jobs, " are not all shown: the ", *left_out,
                      " oldest ones are not copied, since there are too many, or they are too "
                      "large; ",
                      source_.rest, ".");
}

void MirrorThread::NoteAnswer(bool always) {
  if (answered_millis_ == noted_millis_) return;
  if (!always && answered_millis_ - noted_millis_ < kNoteMillis) return;
  const absl::Status noted = os::WriteFileAtomically(
      absl::StrCat(source_.folder, "/", kAnsweredFile), absl::StrCat(answered_millis_));
  if (noted.ok()) noted_millis_ = answered_millis_;
}

void MirrorThread::Run(const std::stop_token& stop) {
  const absl::StatusOr<std::string> noted =
      os::ReadFile(absl::StrCat(source_.folder, "/", kAnsweredFile));
  if (noted.ok() && absl::SimpleAtoi(*noted, &noted_millis_)) answered_millis_ = noted_millis_;
  std::string said;
  while (!stop.stop_requested()) {
    const std::string trouble = Round(stop);
    if (trouble != said && !stop.stop_requested()) {
      if (!trouble.empty()) LogWarning(trouble);
      say_(trouble);
      said = trouble;
    }
    std::unique_lock lock(mutex_);
    pause_.wait_for(lock, stop, kPause, [] { return false; });
  }
  NoteAnswer(/*always=*/true);
}

}  // namespace tony::portal
