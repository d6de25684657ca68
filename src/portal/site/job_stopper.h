// Tells running jobs to end, for visitors who may.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "common/worker.h"
#include "rpc/services/job_client.h"
#include "storage/job_folder.h"

namespace tony::portal {

/// Asks a job's ApplicationMaster as `tony kill` does, with the client's certificate in the job's
/// folder, and does not wait for the job's end. Nothing of it blocks the loop. Not thread safe:
/// owned by the event loop.
class JobStopper {
 public:
  /// Jobs that are told at the same time.
  static constexpr size_t kMost = 16;
  /// For the ApplicationMaster to answer.
  static constexpr std::chrono::seconds kPatience{5};

  /// `loop` must outlive this object.
  explicit JobStopper(EventLoop& loop) : loop_(loop), worker_(loop) {}

  /// Whether the job's folder has what is needed. The copy of a cluster's job has not.
  static bool CanReach(const storage::JobFolder& folder);

  using Done = std::function<void(const absl::Status&)>;
  /// Tells the job in `folder` to end. `why`: a sentence for its verdict. `done` is called when the
  /// ApplicationMaster has noted it, not after this object is gone: ResourceExhausted – kMost are
  /// being told; the codes of rpc::ConnectByFiles() and of rpc::JobClient::Stop().
  void Stop(const storage::JobFolder& folder, const std::string& why, Done done);

 private:
  /// A job that is being told.
  struct Call {
    Done done;
    std::shared_ptr<rpc::JobClient> client;  ///< null: it is being made
  };
  using CallPlace = std::list<Call>::iterator;

  void Ask(CallPlace call, const std::string& why);
  void Finish(CallPlace call, const absl::Status& noted);

  EventLoop& loop_;
  std::list<Call> calls_;
  Lifetime lifetime_;
  Worker worker_;  ///< reads addresses and certificates
};

}  // namespace tony::portal
