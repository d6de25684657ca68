// Where the ApplicationMasters of a job that is followed come from: one, or several in turn.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/record/verdict.h"
#include "history/recorded_events.h"
#include "rpc/services/job_client.h"

namespace tony::client {

/// Not thread safe: owned by the event loop.
class MasterSource {
 public:
  /// Called from the loop, never from within a call of this class.
  struct Callbacks {
    /// One is there, maybe after another that was lost. `client` has sent nothing yet.
    std::function<void(std::unique_ptr<rpc::JobClient> client)> found;
    /// None is there, and none will be. `verdict`: what the backend knows of the job's end, where
    /// the job's own events do not say it; without one `why` says what became of the job.
    std::function<void(const std::optional<core::Verdict>& verdict, const absl::Status& why)> over;
  };

  virtual ~MasterSource() = default;

  virtual void Start(Callbacks callbacks) = 0;
  /// The one that was found has taken the stream.
  virtual void OnAnswer() = 0;
  /// The one that was found does not answer; OnStreamClosed() follows.
  virtual void OnNoAnswer() = 0;
  /// The job's last event has come: from now on only the ApplicationMaster's end is awaited.
  virtual void OnConcluded() = 0;
  /// The stream with the one that was found has ended; `why` means nothing after OnConcluded().
  virtual void OnStreamClosed(const absl::Status& why) = 0;
  /// Ends a job that has no ApplicationMaster yet. `done` is called at once or from the loop, but
  /// not after this is destroyed; an error: nobody could be told, which may be tried again.
  virtual void Abandon(const std::string& sentence, std::function<void(absl::Status)> done) = 0;
  /// What was recorded, for events that did not come through a stream. Blocks. An error: not all of
  /// it could be read, which may be tried again; codes of backend::JobFiles.
  virtual absl::Status ReadEvents(const history::UseEvent& use) = 0;
  /// What becomes of a job that nobody has told to stop and that its client leaves.
  virtual std::string AfterLeaving() const = 0;
};

/// Makes where the job's ApplicationMasters come from; `loop` and `clock` outlive it.
using MakeSource =
    std::function<std::unique_ptr<MasterSource>(EventLoop& loop, const Clock& clock)>;

}  // namespace tony::client
