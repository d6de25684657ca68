// A thread writes the files. It batches the lines that arrive during a write or a pause, and merges
// small files from time to time.
#include "appmaster/record/event_archive.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::appmaster {
namespace {

std::string PathOf(const storage::EventFile& file) {
  return absl::StrCat(storage::kEventFolder, "/", file.name);
}

absl::StatusOr<rpc::HistoryEnd> ReadEndOnce(storage::JobFiles& files) {
  TONY_ASSIGN_OR_RETURN(storage::EventFiles listed, storage::ListEventFiles(files));
  rpc::HistoryEnd end;
  for (; end.sequence == 0 && !listed.kept.empty(); listed.kept.pop_back()) {
    TONY_ASSIGN_OR_RETURN(const std::string text, files.Read(PathOf(listed.kept.back())));
    end = rpc::FindHistoryEnd(text);
  }
  end.bytes = end.rest = 0;
  return end;
}

}  // namespace

absl::StatusOr<rpc::HistoryEnd> EventArchive::ReadEnd(storage::JobFiles& files) {
  return storage::ReadWhileMerging([&] { return ReadEndOnce(files); });
}

absl::StatusOr<std::unique_ptr<EventArchive>> EventArchive::Open(
    std::unique_ptr<storage::JobFiles> files, Duration pause) {
  TONY_ASSIGN_OR_RETURN(storage::EventFiles listed, storage::ListEventFiles(*files));
  for (const storage::EventFile& file : listed.kept) {
    if (file.first == 0) {
      return absl::DataLossError(absl::StrCat(PathOf(file), " is no file of events"));
    }
  }
  return std::unique_ptr<EventArchive>(
      new EventArchive(std::move(files), pause, std::move(listed)));
}

EventArchive::EventArchive(std::unique_ptr<storage::JobFiles> files, Duration pause,
                           storage::EventFiles listed)
    : files_(std::move(files)),
      pause_(pause),
      kept_(std::move(listed.kept)),
      covered_(std::move(listed.covered)) {
  small_ = static_cast<size_t>(std::count_if(
      kept_.begin(), kept_.end(), [](const storage::EventFile& file) { return !file.merged(); }));
  thread_ = std::thread([this] { Run(); });
}

EventArchive::~EventArchive() {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  LogDebug("waiting for the last events to be kept");
  changed_.notify_one();
  thread_.join();
}

void EventArchive::Add(const std::string& lines) {
  {
    std::lock_guard lock(mutex_);
    lines_ += lines;
  }
  changed_.notify_one();
}

void EventArchive::KeepUsage(const std::string& lines) {
  {
    std::lock_guard lock(mutex_);
    usage_ = lines;
  }
  changed_.notify_one();
}

void EventArchive::KeepMetrics(const std::string& path) {
  {
    std::lock_guard lock(mutex_);
    metrics_path_ = path;
  }
  changed_.notify_one();
}

void EventArchive::KeepFile(const std::string& name, const std::string& contents) {
  {
    std::lock_guard lock(mutex_);
    small_files_[name] = contents;
  }
  changed_.notify_one();
}

void EventArchive::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] {
      return leaving_ || usage_ || metrics_path_ || !small_files_.empty() || !lines_.empty();
    });
    // While this object is being destroyed the events come first, then the metrics, which have a
    // last file then. The newest measurements of tasks that have ended are of no use any more.
    if (usage_ && !leaving_) {
      const std::string usage = *std::exchange(usage_, std::nullopt);
      lock.unlock();
      WriteUsage(usage);
      lock.lock();
    }
    if (metrics_path_ && (!leaving_ || lines_.empty())) {
      const std::string path = *std::exchange(metrics_path_, std::nullopt);
      lock.unlock();
      WriteMetrics(path);
      lock.lock();
    }
    if (!small_files_.empty() && (!leaving_ || lines_.empty())) {
      const auto files = std::exchange(small_files_, {});
      lock.unlock();
      WriteFiles(files);
      lock.lock();
    }
    if (lines_.empty()) {
      if (leaving_) return;
      continue;
    }
    const std::string lines = std::exchange(lines_, "");
    const bool last_try = leaving_;
    lock.unlock();
    const bool written = WriteEvents(lines);
    if (!last_try) MergeIfMany();
    lock.lock();
    // Lines that could not be written go back to the front, so that the events stay in order.
    if (!written && !last_try) lines_ = lines + lines_;
    if (!written && last_try) LogError("the last events are lost", {{"bytes", lines.size()}});
    changed_.wait_for(lock, pause_, [this] { return leaving_; });
  }
}

bool EventArchive::WriteEvents(const std::string& lines) {
  const int number = kept_.empty() ? 1 : kept_.back().last + 1;
  const storage::EventFile file = storage::EventFile::Of(number, number);
  const absl::Status written = files_->Create(PathOf(file), lines);
  if (written.ok()) {
    kept_.push_back(file);
    ++small_;
    said_loss_ = false;
  } else if (!std::exchange(said_loss_, true)) {
    LogError(absl::StrCat("events cannot be kept: ", std::string(written.message())));
  }
  return written.ok();
}

void EventArchive::MergeIfMany() {
  if (small_ < kMostSmallFiles) return;
  small_ = 0;
  absl::Status merged = Merge();
  if (merged.ok()) merged = RemoveCovered();
  if (!merged.ok()) {
    LogDebug(absl::StrCat("small files of events stay as they are for now: ",
                          std::string(merged.message())));
  }
}

absl::Status EventArchive::Merge() {
  // Collects the newest files backwards, as many as fit into kMostMergedBytes. The merged file is
  // created before the small ones are removed, so a crash in between loses nothing: readers leave
  // out the files that a larger one covers.
  std::string text;
  size_t begin = kept_.size();
  while (begin > 0) {
    TONY_RETURN_IF_ERROR(CheckStaying());
    TONY_ASSIGN_OR_RETURN(const std::string part, files_->Read(PathOf(kept_[begin - 1])));
    if (text.size() + part.size() > kMostMergedBytes) break;
    text.insert(0, part);
    --begin;
  }
  if (kept_.size() - begin < 2) return absl::OkStatus();
  const auto first = kept_.begin() + static_cast<std::ptrdiff_t>(begin);
  const std::vector<storage::EventFile> parts(first, kept_.end());
  const storage::EventFile whole = storage::EventFile::Of(parts.front().first, parts.back().last);
  TONY_RETURN_IF_ERROR(files_->Create(PathOf(whole), text));
  kept_.erase(first, kept_.end());
  kept_.push_back(whole);
  covered_.insert(covered_.end(), parts.begin(), parts.end());
  return absl::OkStatus();
}

absl::Status EventArchive::RemoveCovered() {
  for (; !covered_.empty(); covered_.pop_back()) {
    TONY_RETURN_IF_ERROR(CheckStaying());
    TONY_RETURN_IF_ERROR(files_->Remove(PathOf(covered_.back())));
  }
  return absl::OkStatus();
}

absl::Status EventArchive::CheckStaying() {
  std::lock_guard lock(mutex_);
  return leaving_ ? absl::CancelledError("the job ends") : absl::OkStatus();
}

void EventArchive::WriteUsage(const std::string& lines) {
  const absl::Status written = files_->Replace(storage::kUsageFile, lines);
  if (!written.ok() && !said_usage_loss_) {
    LogWarning(absl::StrCat("measurements cannot be kept: ", std::string(written.message())));
  }
  said_usage_loss_ = !written.ok();
}

void EventArchive::WriteMetrics(const std::string& path) {
  const absl::StatusOr<std::string> bytes = os::ReadFile(path);
  const absl::Status written =
      bytes.ok() ? files_->Replace(storage::kMetricFile, *bytes) : bytes.status();
  if (!written.ok()) {
    LogWarning(absl::StrCat("the job's metrics cannot be kept: ", std::string(written.message())));
  }
}

void EventArchive::WriteFiles(const std::map<std::string, std::string>& files) {
  for (const auto& [name, contents] : files) {
    const absl::Status written = files_->Replace(name, contents);
    if (!written.ok()) {
      LogWarning(absl::StrCat(name, " cannot be kept: ", std::string(written.message())));
    }
  }
}

}  // namespace tony::appmaster
