// The folder's time of modification changes when a job comes or goes, which costs one stat() a
// round, however many jobs there are.
#include "portal/index/indexer.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/folder_trust.h"
#include "portal/index/job_place.h"
#include "portal/index/tony_history.h"

namespace tony::portal {
namespace {

namespace fs = std::filesystem;

/// Time of modification is not finer than this, so a folder that has just changed may change once
/// more without a new time.
constexpr int64_t kTimeGrain = 2'000'000'000;

int64_t ModifiedNanoseconds(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

Indexer::Indexer(std::vector<std::string> locations, JobIndex& index, const Clock& clock,
                 const std::vector<std::string>& tony_histories)
    : index_(index), clock_(clock) {
  for (std::string& folder : locations) locations_.push_back({std::move(folder), -1, {}});
  for (const std::string& folder : tony_histories) {
    locations_.push_back({.folder = folder, .listed = {}, .of_tony = true});
  }
}

IndexProgress Indexer::progress() const {
  std::lock_guard lock(progress_mutex_);
  IndexProgress progress = progress_;
  if (!progress.trouble.empty()) return progress;
  for (const auto& [location, trouble] : source_troubles_) {
    absl::StrAppend(&progress.trouble, progress.trouble.empty() ? "" : " ", trouble);
  }
  return progress;
}

void Indexer::SetSourceTrouble(const std::string& location, const std::string& trouble) {
  std::lock_guard lock(progress_mutex_);
  source_troubles_.erase(location);
  if (!trouble.empty()) source_troubles_[location] = trouble;
}

void Indexer::Say(const std::function<void(IndexProgress&)>& change) {
  std::lock_guard lock(progress_mutex_);
  change(progress_);
}

absl::Status Indexer::Begin() {
  if (index_.broken()) {
    TONY_RETURN_IF_ERROR(index_.StartAnew());
    LogInfo("the index is made anew", {{"why", "it was damaged or could not be opened"}});
    Say([](IndexProgress& progress) {
      progress.complete = false;
      progress.done = 0;
    });
  }
  TONY_ASSIGN_OR_RETURN(known_, index_.KnownJobs());
  living_.clear();
  for (const auto& [key, known] : known_) {
    if (known.alive) living_.insert(key);
  }
  next_sweep_ = clock_.Now();
  for (Location& location : locations_) location.listed_time = -1;
  begun_ = true;
  return absl::OkStatus();
}

// A walk through all folders is dear, and nobody waits for these: TonY's jobs have come this way
// for as long as they ran.
void Indexer::ListHistories(Location& location, bool always) {
  if (!always && location.was_listed) return;
  absl::StatusOr<std::map<std::string, ReadJob>> found = FindHistories(location.folder);
  if (!found.ok()) {
    Say([&](IndexProgress& progress) { progress.trouble = std::string(found.status().message()); });
    return;
  }
  location.histories = *std::move(found);
  location.listed.clear();
  for (const auto& [id, history] : location.histories) location.listed.insert(id);
  location.listed_time = 0;
  location.was_listed = true;
}

const ReadJob* Indexer::FindHistory(const JobKey& key) const {
  for (const Location& location : locations_) {
    if (!location.of_tony || location.folder != key.first) continue;
    const auto found = location.histories.find(key.second);
    if (found != location.histories.end()) return &found->second;
  }
  return nullptr;
}

void Indexer::List(Location& location, bool always) {
  if (location.of_tony) return ListHistories(location, always);
  const std::string jobs = storage::JobsFolder(location.folder);
  const int64_t time = ModifiedNanoseconds(jobs);
  if (!always && time == location.listed_time) return;
  std::set<std::string> names;
  // Others could put traps there.
  absl::Status own = os::OpenOwnFolder(jobs).status();
  // Before the first job there is no folder of jobs, but a location that is gone may be on a disk
  // that is not mounted.
  if (absl::IsNotFound(own)) own = os::OpenOwnFolder(location.folder).status();
  if (!own.ok()) {
    Say([&](IndexProgress& progress) { progress.trouble = std::string(own.message()); });
    return;
  }
  std::error_code error;
  fs::directory_iterator entry(jobs, error);
  while (!error && entry != fs::directory_iterator()) {
    std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (IsJobName(name) && entry->is_directory(ignored)) names.insert(std::move(name));
    entry.increment(error);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    // What was listed before is kept: jobs do not vanish because a disk cannot be read for a while.
    Say([&](IndexProgress& progress) {
      progress.trouble = absl::StrCat("cannot read ", jobs, ": ", error.message());
    });
    return;
  }
  const int64_t now = clock_.UnixMillis() * 1'000'000;
  location.listed_time = now - time < kTimeGrain ? -1 : time;
  location.listed = std::move(names);
  location.was_listed = true;
}

void Indexer::Look(const JobKey& key, std::vector<ReadJob>& batch) {
  if (const ReadJob* const history = FindHistory(key)) {
    const auto known = known_.find(key);
    if (known != known_.end() && known->second.mark == history->mark) return;
    known_[key] = {history->mark, false};
    return batch.push_back(*history);
  }
  const storage::JobFolder folder = FolderOf(key.first, key.second);
  // A job that was removed is forgotten with its name; any other one is as it was, only out of
  // reach.
  struct stat status {};
  if (::stat(folder.root().c_str(), &status) != 0) return;
  const FileMark mark = JobReader::MarkOf(folder);
  const auto found = known_.find(key);
  if (found != known_.end() && found->second.mark == mark) {
    // A living job without news may have been lost.
    if (!found->second.alive || JobReader::Lives(key.first, key.second)) return;
  }
  ReadJob read = reader_.Read(key.first, key.second, mark);
  known_[key] = {mark, read.job.alive};
  read.job.alive ? (void)living_.insert(key) : (void)living_.erase(key);
  batch.push_back(std::move(read));
}

absl::Status Indexer::Write(std::vector<ReadJob>& batch) {
  absl::Status written = index_.Put(batch);
  batch.clear();
  return written;
}

absl::StatusOr<bool> Indexer::ForgetRemoved() {
  std::vector<JobKey> removed;
  for (const auto& [key, known] : known_) {
    const auto location =
        std::find_if(locations_.begin(), locations_.end(),
                     [&key = key](const Location& each) { return each.folder == key.first; });
    const bool listed = location != locations_.end() && location->was_listed;
    if (location == locations_.end() || (listed && !location->listed.contains(key.second))) {
      removed.push_back(key);
    }
  }
  TONY_RETURN_IF_ERROR(index_.Remove(removed));
  for (const JobKey& key : removed) {
    known_.erase(key);
    living_.erase(key);
  }
  return !removed.empty();
}

absl::StatusOr<bool> Indexer::Round(const std::atomic<bool>& stop) {
  absl::StatusOr<bool> done = TryRound(stop);
  if (done.ok()) return done;
  // Nobody knows what of the last transactions is there.
  begun_ = false;
  Say([&](IndexProgress& progress) { progress.trouble = std::string(done.status().message()); });
  return done;
}

absl::StatusOr<bool> Indexer::TryRound(const std::atomic<bool>& stop) {
  // A reader may have found damage that no round would meet.
  if (!begun_ || index_.broken()) TONY_RETURN_IF_ERROR(Begin());
  const bool sweep = clock_.Now() >= next_sweep_;
  const bool first = !progress().complete;
  Say([](IndexProgress& progress) { progress.trouble.clear(); });
  std::vector<JobKey> wanted;
  if (!sweep) wanted.assign(living_.begin(), living_.end());
  size_t listed = 0;
  bool changed_list = false;
  for (Location& location : locations_) {
    const int64_t before = location.listed_time;
    List(location, sweep);
    changed_list = changed_list || sweep || location.listed_time != before || before == -1;
    listed += location.listed.size();
    for (const std::string& name : location.listed) {
      JobKey key{location.folder, name};
      if (sweep || !known_.contains(key)) wanted.push_back(std::move(key));
    }
  }
  Say([&](IndexProgress& progress) { progress.total = static_cast<int64_t>(listed); });
  std::vector<ReadJob> batch;
  bool changed = false;
  const auto work = [&]() -> absl::Status {
    for (const JobKey& key : wanted) {
      if (stop) return Write(batch);
      Look(key, batch);
      changed = changed || !batch.empty();
      if (batch.size() >= kBatch) TONY_RETURN_IF_ERROR(Write(batch));
      if (first) Say([](IndexProgress& progress) { ++progress.done; });
    }
    TONY_RETURN_IF_ERROR(Write(batch));
    if (changed_list) {
      TONY_ASSIGN_OR_RETURN(const bool removed, ForgetRemoved());
      changed = changed || removed;
    }
    return index_.Publish();
  };
  TONY_RETURN_IF_ERROR(work());
  if (stop) return changed;
  if (sweep) next_sweep_ = clock_.Now() + kSweepPause;
  Say([](IndexProgress& progress) { progress.complete = true; });
  return changed;
}

IndexerThread::IndexerThread(Indexer& indexer) : indexer_(indexer) {
  thread_ = std::thread([this] { Run(); });
}

IndexerThread::~IndexerThread() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void IndexerThread::Run() {
  std::string said;  // the same failure is not said each second
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const absl::StatusOr<bool> done = indexer_.Round(stop_);
    const std::string trouble(done.status().message());
    if (!done.ok() && trouble != said) LogWarning("the index is not renewed: " + trouble);
    said = trouble;
    lock.lock();
    stopped_.wait_for(lock, kPause, [this] { return stop_.load(); });
  }
}

}  // namespace tony::portal
