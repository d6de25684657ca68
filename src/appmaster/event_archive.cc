// Names of the files, and the thread that makes them.
#include "appmaster/event_archive.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace tony::appmaster {
namespace {

std::string PathOf(const backend::EventFile& file) {
  return absl::StrCat(backend::kEventFolder, "/", file.name);
}

}  // namespace

absl::StatusOr<rpc::HistoryEnd> EventArchive::ReadEnd(backend::JobFiles& files) {
  TONY_ASSIGN_OR_RETURN(std::vector<backend::EventFile> kept, backend::ListEventFiles(files));
  rpc::HistoryEnd end;
  for (; end.sequence == 0 && !kept.empty(); kept.pop_back()) {
    TONY_ASSIGN_OR_RETURN(const std::string text, files.Read(PathOf(kept.back())));
    end = rpc::FindHistoryEnd(text);
  }
  end.bytes = 0;
  return end;
}

absl::StatusOr<std::unique_ptr<EventArchive>> EventArchive::Open(
    std::unique_ptr<backend::JobFiles> files, Duration pause) {
  TONY_ASSIGN_OR_RETURN(std::vector<backend::EventFile> kept, backend::ListEventFiles(*files));
  for (const backend::EventFile& file : kept) {
    if (file.first == 0) {
      return absl::DataLossError(absl::StrCat(PathOf(file), " is no file of events"));
    }
  }
  return std::unique_ptr<EventArchive>(new EventArchive(std::move(files), pause, std::move(kept)));
}

EventArchive::EventArchive(std::unique_ptr<backend::JobFiles> files, Duration pause,
                           std::vector<backend::EventFile> kept)
    : files_(std::move(files)), pause_(pause), kept_(std::move(kept)) {
  small_ = static_cast<size_t>(std::count_if(
      kept_.begin(), kept_.end(), [](const backend::EventFile& file) { return !file.merged(); }));
  thread_ = std::thread([this] { Run(); });
}

EventArchive::~EventArchive() {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
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

void EventArchive::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return leaving_ || usage_ || !lines_.empty(); });
    // The end of the job, or of this process, waits for events only.
    if (usage_ && !leaving_) {
      const std::string usage = *std::exchange(usage_, std::nullopt);
      lock.unlock();
      (void)WriteUsage(usage);
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
    if (!written && !last_try) lines_ = lines + lines_;
    changed_.wait_for(lock, pause_, [this] { return leaving_; });
  }
}

bool EventArchive::WriteEvents(const std::string& lines) {
  const int number = kept_.empty() ? 1 : kept_.back().last + 1;
  const backend::EventFile file = backend::EventFile::Of(number, number);
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
  const absl::Status merged = Merge();
  if (!merged.ok()) {
    LogDebug(absl::StrCat("small files of events stay as they are for now: ",
                          std::string(merged.message())));
  }
}

absl::Status EventArchive::Merge() {
  std::string text;
  size_t begin = kept_.size();
  while (begin > 0) {
    TONY_ASSIGN_OR_RETURN(const std::string part, files_->Read(PathOf(kept_[begin - 1])));
    if (text.size() + part.size() > kMostMergedBytes) break;
    text.insert(0, part);
    --begin;
  }
  if (kept_.size() - begin < 2) return absl::OkStatus();
  const auto first = kept_.begin() + static_cast<std::ptrdiff_t>(begin);
  const std::vector<backend::EventFile> parts(first, kept_.end());
  const backend::EventFile whole = backend::EventFile::Of(parts.front().first, parts.back().last);
  TONY_RETURN_IF_ERROR(files_->Create(PathOf(whole), text));
  kept_.erase(first, kept_.end());
  kept_.push_back(whole);
  // Until they are removed readers leave them out.
  for (const backend::EventFile& part : parts) {
    TONY_RETURN_IF_ERROR(files_->Remove(PathOf(part)));
  }
  return absl::OkStatus();
}

bool EventArchive::WriteUsage(const std::string& lines) {
  const absl::Status written = files_->Replace(backend::kUsageFile, lines);
  if (!written.ok() && !said_usage_loss_) {
    LogWarning(absl::StrCat("measurements cannot be kept: ", std::string(written.message())));
  }
  said_usage_loss_ = !written.ok();
  return written.ok();
}

}  // namespace tony::appmaster
