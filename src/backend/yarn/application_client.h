// What a client says to the ResourceManager.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/yarn/launch_request.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/model/job_description.h"
#include "hadoop/rpc/blocking_rpc.h"

namespace tony::backend {

/// What an application is at.
enum class ApplicationState {
  kSubmitted,  ///< not yet in a queue
  kAccepted,   ///< its ApplicationMaster has no container, or has not registered
  kRunning,
  kFinished,  ///< the ApplicationMaster has said how it ended
  kFailed,    ///< it never said
  kKilled,
};

/// How an application ended, as its ApplicationMaster has said, or YARN of one that could not.
enum class FinalStatus { kUnknown, kSucceeded, kFailed, kKilled };

/// An application as the ResourceManager sees it. A plain value.
struct ApplicationReport {
  std::string id;  ///< "application_1700000000000_0042"
  ApplicationState state = ApplicationState::kSubmitted;
  std::string name;
  std::string user;
  std::string queue;
  std::string host;  ///< of the ApplicationMaster; empty until it has registered
  int port = 0;
  int attempt = 0;  ///< number of the ApplicationMaster, from 1; less: there was none
  FinalStatus final_status = FinalStatus::kUnknown;  ///< until it is over
  std::string diagnostics;                           ///< why it waits, or how it ended
  int64_t submitted_millis = 0;
  int64_t finished_millis = 0;  ///< 0 while it lives

  bool over() const { return state >= ApplicationState::kFinished; }
};

/// What is submitted. A plain value.
struct ApplicationRequest {
  std::string id;
  std::string name;
  std::string type;
  std::string queue;
  std::vector<std::string> tags;
  int priority = 0;
  std::string node_label;     ///< of the ApplicationMaster's node; empty: the queue's own
  core::Resources resources;  ///< of the ApplicationMaster
  std::string gpu_resource;   ///< the resource type that a GPU is
  int max_attempts = 1;       ///< ApplicationMasters, one after the other
  LaunchTemplate launch;      ///< of each of them
};

/// Each call blocks for `timeout` at most. All of them: DeadlineExceeded – no ResourceManager
/// answers; Unauthenticated – it does not know who we are; otherwise the codes of its exceptions.
/// Not thread safe.
class ApplicationClient {
 public:
  struct NewApplication {
    std::string id;
    core::Resources largest;  ///< that a container may have
    /// Likewise, by resource type; those that are not in it the cluster does not have.
    std::map<std::string, int64_t> largest_others;
  };

  ApplicationClient(hadoop::RpcClientOptions options, Duration timeout)
      : rpc_(std::move(options)), timeout_(timeout) {}

  /// `gpu_resource`: the resource type that a GPU is.
  absl::StatusOr<NewApplication> Create(const std::string& gpu_resource);
  /// That nodes may have, whether or not one has them now.
  absl::StatusOr<std::set<std::string>> NodeLabels();
  /// InvalidArgument – the ResourceManager refuses it: the queue, a resource, a label.
  absl::Status Submit(const ApplicationRequest& request);
  /// NotFound – it knows of no such application (any more); InvalidArgument – `id` is none.
  absl::StatusOr<ApplicationReport> Report(const std::string& id);
  /// Returns when the wish is noted; `sentence` is shown as the reason. As Report.
  absl::Status Kill(const std::string& id, const std::string& sentence);
  /// All of ours that `user` submitted and that the ResourceManager still knows.
  absl::StatusOr<std::vector<ApplicationReport>> List(const std::string& user);

 private:
  hadoop::BlockingRpcClient rpc_;
  const Duration timeout_;
};

/// Asks for an application's report again and again, since YARN tells nobody by itself.
/// Not thread safe: owned by the event loop.
class ApplicationWatch {
 public:
  /// An error is that of one question; the next one follows.
  using OnReport = std::function<void(const absl::StatusOr<ApplicationReport>&)>;

  /// `loop` outlives this. `timeout`: for an answer.
  ApplicationWatch(EventLoop& loop, hadoop::RpcClientOptions options, std::string id,
                   Duration timeout, OnReport on_report);

  /// Asks now, and from then on every `interval`; until Stop().
  void Start(Duration interval);
  void Stop();
  /// As ApplicationClient::Kill, but returns at once. `done` is called at once or from the loop,
  /// but not after this is destroyed.
  void Kill(const std::string& sentence, std::function<void(absl::Status)> done);

 private:
  void Ask();

  EventLoop& loop_;
  hadoop::RpcClient rpc_;
  const std::string id_;
  const Duration timeout_;
  const OnReport on_report_;
  Duration interval_{0};
  bool on_ = false;
  bool asked_ = false;  ///< an answer is to come
  std::unique_ptr<EventLoop::Handle> next_;
};

/// Whether `text` looks like the id of an application.
bool IsApplicationId(const std::string& text);
/// Whether `left` was made before `right`: by the start of the ResourceManager that made them, and
/// its count. What is no id comes first.
bool IsOlderApplication(const std::string& left, const std::string& right);

/// A tag of every application of ours.
inline constexpr char kApplicationTag[] = "tony";

}  // namespace tony::backend
