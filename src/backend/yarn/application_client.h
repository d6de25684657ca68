// A client's calls to the ResourceManager.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
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

/// The state of an application.
enum class ApplicationState {
  kSubmitted,  ///< not yet in a queue
  kAccepted,   ///< its ApplicationMaster has no container yet, or has not registered
  kRunning,
  kFinished,  ///< the ApplicationMaster has reported how the application ended
  kFailed,    ///< the ApplicationMaster never reported an end
  kKilled,
};

/// How an application ended: reported by its ApplicationMaster, or by YARN if that could not
/// report.
enum class FinalStatus { kUnknown, kSucceeded, kFailed, kKilled };

/// An application as the ResourceManager sees it. A plain value.
struct ApplicationReport {
  std::string id;  ///< "application_1700000000000_0042"
  ApplicationState state = ApplicationState::kSubmitted;
  std::string name;
  std::string user;
  std::string queue;
  std::string host;  ///< the ApplicationMaster's host; empty until it has registered
  int port = 0;
  int attempt = 0;  ///< number of the ApplicationMaster, from 1; less: there was none
  FinalStatus final_status = FinalStatus::kUnknown;  ///< kUnknown until it is over
  std::string diagnostics;                           ///< why the application waits, or how it ended
  int64_t submitted_millis = 0;
  int64_t finished_millis = 0;  ///< 0 while the application lives

  bool over() const { return state >= ApplicationState::kFinished; }
};

/// The application to submit. A plain value.
struct ApplicationRequest {
  std::string id;
  std::string name;
  std::string type;
  std::string queue;
  std::vector<std::string> tags;
  int priority = 0;
  std::string node_label;  ///< required of the ApplicationMaster's node; empty: the queue's default
  core::Resources resources;  ///< of the ApplicationMaster
  std::string gpu_resource;   ///< the resource type that stands for a GPU
  int max_attempts = 1;       ///< number of ApplicationMasters, one after the other
  /// The tokens are not the application's own: others use them after its end.
  bool keeps_tokens = false;
  LaunchTemplate launch;  ///< how each of them is started
};

/// Each call blocks for at most `timeout`. Every call can fail with these codes: DeadlineExceeded –
/// no ResourceManager answers. Unauthenticated – it does not know this user. Otherwise the codes of
/// its exceptions. Not thread safe.
class ApplicationClient {
 public:
  struct NewApplication {
    std::string id;
    core::Resources largest;  ///< the largest container
    /// The largest amounts of other resource types; the cluster lacks the types that are missing
    /// here.
    std::map<std::string, int64_t> largest_others;
  };

  /// `stop`: ends the call that is under way, and each later one, with Cancelled.
  ApplicationClient(hadoop::RpcClientOptions options, Duration timeout, std::stop_token stop = {})
      : rpc_(std::move(options), std::move(stop)), timeout_(timeout) {}

  /// Creates an application id. `gpu_resource`: the resource type that stands for a GPU.
  absl::StatusOr<NewApplication> Create(const std::string& gpu_resource);
  /// The labels that nodes may have, whether or not a node has one now.
  absl::StatusOr<std::set<std::string>> NodeLabels();
  /// InvalidArgument – the ResourceManager refuses the queue, a resource or a label.
  absl::Status Submit(const ApplicationRequest& request);
  /// NotFound – the ResourceManager does not know the application (any more). InvalidArgument –
  /// `id` is not an application id.
  absl::StatusOr<ApplicationReport> Report(const std::string& id);
  /// Returns when the ResourceManager has noted the wish; it shows `sentence` as the reason. Codes
  /// as for Report().
  absl::Status Kill(const std::string& id, const std::string& sentence);
  /// All applications of tony that `user` submitted and the ResourceManager still knows.
  absl::StatusOr<std::vector<ApplicationReport>> List(const std::string& user);

 private:
  hadoop::BlockingRpcClient rpc_;
  const Duration timeout_;
};

/// Polls an application's report, because YARN sends no notifications. Not thread safe: owned by
/// the event loop.
class ApplicationWatch {
 public:
  /// Receives each report. An error concerns one question only; the next one follows.
  using OnReport = std::function<void(const absl::StatusOr<ApplicationReport>&)>;

  /// `loop` must outlive this object. `timeout`: for one answer.
  ApplicationWatch(EventLoop& loop, hadoop::RpcClientOptions options, std::string id,
                   Duration timeout, OnReport on_report);

  /// Asks now and then every `interval`, until Stop().
  void Start(Duration interval);
  void Stop();
  /// Like ApplicationClient::Kill(), but returns at once. `done` is called from within this call or
  /// from the loop, but not after this object is destroyed.
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
  bool asked_ = false;  ///< an answer is pending
  std::unique_ptr<EventLoop::Handle> next_;
};

/// Whether `text` has the form of an application id.
bool IsApplicationId(const std::string& text);
/// Whether `left` was created before `right`: compares the start time of the ResourceManager that
/// created them, then its counter. A text that is not an id comes first.
bool IsOlderApplication(const std::string& left, const std::string& right);
/// Those of `names` that are ids of applications, newest first.
std::vector<std::string> NewestApplications(std::vector<std::string> names);

/// The tag that every application of tony has.
inline constexpr char kApplicationTag[] = "tony";

}  // namespace tony::backend
