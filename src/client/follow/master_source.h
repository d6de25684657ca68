// Interface for the source of a followed job's ApplicationMasters: one, or several in turn.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/cli/terminal.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/record/verdict.h"
#include "history/recorded_events.h"
#include "rpc/services/job_client.h"

namespace tony::client {

/// Finds the job's ApplicationMasters, one after the other. Not thread safe: owned by the event
/// loop.
class MasterSource {
 public:
  /// Called from the loop, never from within a call of this class.
  struct Callbacks {
    /// An ApplicationMaster was found, maybe after another that was lost. `client` has sent nothing
    /// yet.
    std::function<void(std::unique_ptr<rpc::JobClient> client)> found;
    /// There is no ApplicationMaster and none will follow. `verdict`: what the backend knows of the
    /// job's end, where the job's own events do not say it; without a verdict `why` says what
    /// became of the job.
    std::function<void(const std::optional<core::Verdict>& verdict, const absl::Status& why)> over;
    /// Takes sentences for people; may be called at any time after Start().
    std::function<void(const std::string& sentence)> notice = PrintNotice;
  };

  virtual ~MasterSource() = default;

  virtual void Start(Callbacks callbacks) = 0;
  /// The found ApplicationMaster has accepted the stream.
  virtual void OnAnswer() = 0;
  /// The found ApplicationMaster does not answer; OnStreamClosed() follows.
  virtual void OnNoAnswer() = 0;
  /// The job's last event has come: from now on only the ApplicationMaster's end is awaited.
  virtual void OnConcluded() = 0;
  /// The stream with the found ApplicationMaster has ended; `why` means nothing after
  /// OnConcluded().
  virtual void OnStreamClosed(const absl::Status& why) = 0;
  /// Ends a job that has no ApplicationMaster yet. `done` is called at once or from the loop, but
  /// not after this object is destroyed; an error: nobody could be told, which may be tried again.
  virtual void Abandon(const std::string& sentence, std::function<void(absl::Status)> done) = 0;
  /// Reads the recorded events, for those that did not come through a stream. Blocks. An error: not
  /// all of them could be read, which may be tried again; codes of storage::JobFiles.
  virtual absl::Status ReadEvents(const history::UseEvent& use) = 0;
  /// A sentence for a user who leaves: what becomes of a job that nobody has told to stop.
  virtual std::string AfterLeaving() const = 0;
};

/// Makes the source of the job's ApplicationMasters; `loop` and `clock` outlive it.
using MakeSource =
    std::function<std::unique_ptr<MasterSource>(EventLoop& loop, const Clock& clock)>;

}  // namespace tony::client
