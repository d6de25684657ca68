// A reader waits in Next() until there is news. The version that it has got is all that is known of
// it, so a reader costs the same however slow it is.
#include "web/api/job_stream.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "web/api/render.h"

namespace tony::web {
namespace {

void AddEvent(const char* name, const Json& data, int64_t sequence, std::string& frame) {
  absl::StrAppend(&frame, "id: ", sequence, "\nevent: ", name, "\ndata: ", Dump(data), "\n");
}

}  // namespace

/// One reader's stream.
class JobBroadcast::Reader : public BodySource {
 public:
  Reader(JobBroadcast& broadcast, int64_t after, PageMeans means)
      : broadcast_(&broadcast), after_(after), means_(means) {
    broadcast.readers_.push_back(this);
  }
  ~Reader() override {
    if (broadcast_ != nullptr) broadcast_->Forget(this);
  }

  void Next(Take take) override {
    if (over_ || broadcast_ == nullptr) return take(nullptr);
    take_ = std::move(take);
    Send();
  }

  /// Gives the news, if the reader waits and there is some.
  void Send() {
    if (take_ == nullptr) return;
    std::shared_ptr<const std::string> frame = broadcast_->Frame(*this);
    if (frame == nullptr) return AwaitComment();
    version_ = broadcast_->source_.changes().version;
    over_ = broadcast_->finishing_;
    comment_.reset();
    std::exchange(take_, nullptr)(std::move(frame));
  }

  /// The broadcast is gone: the stream ends.
  void Detach() {
    broadcast_ = nullptr;
    comment_.reset();
    if (take_ != nullptr) std::exchange(take_, nullptr)(nullptr);
  }

  int64_t version() const { return version_; }
  int64_t after() const { return after_; }
  PageMeans means() const { return means_; }

 private:
  // A comment keeps connections open that are closed when nothing passes, and finds readers that
  // are gone.
  void AwaitComment() {
    if (comment_ != nullptr) return;
    comment_ = broadcast_->loop_.After(broadcast_->timing_.comment, [this] {
      comment_.reset();
      static const auto* const kComment =
          new std::shared_ptr<const std::string>(std::make_shared<const std::string>(":\n\n"));
      if (take_ != nullptr) std::exchange(take_, nullptr)(*kComment);
    });
  }

  JobBroadcast* broadcast_;
  const int64_t after_;
  const PageMeans means_;
  int64_t version_ = -1;  ///< -1: nothing was sent yet
  bool over_ = false;     ///< the last frame was sent
  Take take_;
  std::unique_ptr<EventLoop::Handle> comment_;
};

JobBroadcast::~JobBroadcast() {
  while (!readers_.empty()) {
    Reader* const reader = readers_.front();
    readers_.pop_front();
    reader->Detach();
  }
}

std::shared_ptr<BodySource> JobBroadcast::Open(int64_t after, PageMeans means) {
  return std::make_shared<Reader>(*this, after, means);
}

void JobBroadcast::Forget(const Reader* reader) {
  readers_.remove_if([reader](const Reader* other) { return other == reader; });
  if (readers_.empty() && done_) std::exchange(done_, nullptr)();
}

void JobBroadcast::OnChange() {
  if (readers_.empty()) return;
  changed_ = true;
  if (pause_ == nullptr) SendAll();
}

// A reader may go away while it gets its frame.
void JobBroadcast::SendAll() {
  changed_ = false;
  pause_ = loop_.After(timing_.pause, [this] {
    pause_.reset();
    if (changed_) SendAll();
  });
  for (auto reader = readers_.begin(); reader != readers_.end();) (*reader++)->Send();
}

void JobBroadcast::Finish(std::function<void()> done) {
  finishing_ = true;
  if (readers_.empty()) return done();
  done_ = std::move(done);
  for (auto reader = readers_.begin(); reader != readers_.end();) (*reader++)->Send();
}

std::shared_ptr<const std::string> JobBroadcast::Frame(const Reader& reader) {
  const core::ObservedJob& job = source_.Job();
  if (job.view.last_sequence == 0) return nullptr;  // the past is being read
  const int64_t version = source_.changes().version;
  if (reader.version() == version && !finishing_) return nullptr;
  if (frames_version_ != version) frames_.clear();
  frames_version_ = version;
  // Readers that have got something share by its version; new ones by what they know already.
  const std::string key = absl::StrCat(
      reader.version(), "/", reader.version() < 0 ? reader.after() : 0, "/", reader.means().post,
      reader.means().stop, reader.means().logs, reader.means().logs_note, "/", finishing_);
  auto& frame = frames_[key];
  if (frame == nullptr) frame = std::make_shared<const std::string>(MakeFrame(reader, job));
  std::shared_ptr<const std::string> result = frame;
  constexpr size_t kMostFrames = 16;
  if (frames_.size() > kMostFrames) frames_.clear();
  return result;
}

// A new reader also gets the tasks that run, since their measurements have no number by which it
// could be known whether the reader has them.
std::string JobBroadcast::MakeFrame(const Reader& reader, const core::ObservedJob& job) {
  const JobChanges& changes = source_.changes();
  const bool is_new = reader.version() < 0;
  const int64_t sequence = job.view.last_sequence;
  std::string frame;
  if (is_new || changes.job_version > reader.version()) {
    PageMeans means = reader.means();
    means.stop = means.stop && source_.can_stop();  // a job that was lost since cannot be ended
    AddEvent("job", JobSummary(job, source_.UnixMillis(), means, source_.recorded()), sequence,
             frame);
  }
  const Json tasks = TasksWhere(job, [&](const core::TaskId& id) {
    const auto found = changes.tasks.find(id);
    if (found == changes.tasks.end()) return is_new;
    if (!is_new) return found->second.version > reader.version();
    const auto* const task = job.view.FindTask(id);
    return found->second.sequence > reader.after() ||
           (task != nullptr && task->last.state == core::TaskState::kRunning);
  });
  if (!tasks["rows"].empty()) AddEvent("tasks", tasks, sequence, frame);
  if (finishing_) {
    AddEvent("bye", {{"reason", "The job is over, and its ApplicationMaster ends."}}, sequence,
             frame);
  }
  return frame;
}

}  // namespace tony::web
