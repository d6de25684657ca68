// The states of a job as a stream of server-sent events, for any number of readers.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/event_loop.h"
#include "web/api/job_source.h"
#include "web/http/http_message.h"

namespace tony::web {

/// Sends each reader what has changed since the state that it got last:
///
///   event: job     data: JobSummary()             if the job has changed
///   event: tasks   data: TasksWhere(changed)      if tasks have changed
///   event: bye     data: {"reason": …}            the last one
///
/// Nothing is queued. A reader that is behind skips states: when it has taken its last frame, it
/// gets one with all that has changed since. Readers of the same state share the frame. Not thread
/// safe: owned by the event loop.
class JobBroadcast {
 public:
  struct Timing {
    Duration comment = std::chrono::seconds(15);  ///< pause after which a comment is sent
    Duration pause = std::chrono::seconds(1);     ///< between two frames
  };

  /// Both must outlive this object.
  JobBroadcast(EventLoop& loop, JobSource& source, Timing timing)
      : loop_(loop), source_(source), timing_(timing) {}
  ~JobBroadcast();

  /// A stream for a reader who has seen the events up to `after`.
  std::shared_ptr<BodySource> Open(int64_t after, PageMeans means);
  /// Something may have changed. Frames follow at once, unless the last ones were sent less than
  /// Timing::pause ago.
  void OnChange();
  /// Sends the last frames, with "bye"; `done` is called when all readers have taken them, possibly
  /// from within the call.
  void Finish(std::function<void()> done);
  bool has_readers() const { return !readers_.empty(); }

 private:
  class Reader;

  void SendAll();
  /// The events since `version` and `after`.
  std::shared_ptr<const std::string> Frame(const Reader& reader);
  std::string MakeFrame(const Reader& reader, const core::ObservedJob& job);
  void Forget(const Reader* reader);

  EventLoop& loop_;
  JobSource& source_;
  const Timing timing_;
  std::list<Reader*> readers_;
  std::unique_ptr<EventLoop::Handle> pause_;  ///< set while a pause lasts
  bool changed_ = false;                      ///< during the pause
  bool finishing_ = false;
  std::function<void()> done_;
  /// Frames for the version of `frames_version_`, by where their readers are.
  std::map<std::string, std::shared_ptr<const std::string>> frames_;
  int64_t frames_version_ = -1;
};

}  // namespace tony::web
