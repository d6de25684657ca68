// Names of the files, and the thread that makes them.
#include "appmaster/event_archive.h"

#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backend/archived_events.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace tony::appmaster {
namespace {

std::string NameOf(int number) {
  char name[32];
  std::snprintf(name, sizeof name, "%s/%08d.jsonl", backend::kEventFolder, number);
  return name;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventArchive>> EventArchive::Open(
    std::unique_ptr<backend::JobFiles> files, Duration pause) {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(backend::kEventFolder));
  int last = 0;
  if (!names.empty()) {
    const std::string& name = names.back();
    if (!absl::SimpleAtoi(name.substr(0, name.find('.')), &last)) {
      return absl::DataLossError(
          absl::StrCat(backend::kEventFolder, "/", name, " is no file of events"));
    }
  }
  return std::unique_ptr<EventArchive>(new EventArchive(std::move(files), pause, last + 1));
}

EventArchive::EventArchive(std::unique_ptr<backend::JobFiles> files, Duration pause, int next)
    : files_(std::move(files)), pause_(pause), next_(next) {
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

void EventArchive::Run() {
  bool said_loss = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return leaving_ || !lines_.empty(); });
    if (lines_.empty()) return;
    const std::string lines = std::exchange(lines_, "");
    const bool last_try = leaving_;
    lock.unlock();
    const absl::Status written = files_->Create(NameOf(next_), lines);
    if (!written.ok() && !std::exchange(said_loss, true)) {
      LogError(absl::StrCat("events cannot be kept: ", std::string(written.message())));
    }
    lock.lock();
    if (written.ok()) {
      ++next_;
      said_loss = false;
    } else if (!last_try) {
      lines_ = lines + lines_;
    }
    changed_.wait_for(lock, pause_, [this] { return leaving_; });
  }
}

}  // namespace tony::appmaster
