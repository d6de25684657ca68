// The API of a job: which resource answers which request.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "web/api/job_logs.h"
#include "web/api/job_source.h"
#include "web/api/job_stacks.h"
#include "web/api/job_stream.h"
#include "web/api/parameters.h"
#include "web/http/http_message.h"

namespace tony::web {

/// Answers requests whose sender may see the job. openapi.json is its contract. Not thread safe:
/// owned by the event loop.
class Api {
 public:
  using Respond = std::function<void(HttpResponse)>;

  /// What the API uses; all must outlive it.
  struct Parts {
    EventLoop& loop;
    JobSource& job;
    JobLogs* logs = nullptr;  ///< null: the logs lie on other machines and cannot be read here
    /// Whether what `logs` reads is there (yet); null: it always is.
    std::function<LogsState()> logs_state = nullptr;
    JobStacks* stacks = nullptr;        ///< null: none can be taken
    KeptStacks* kept_stacks = nullptr;  ///< null: none are kept where this program could read them
    /// The API is reached directly. Otherwise a proxy lies between, which takes GET only, drops
    /// headers, holds streams back, and has one origin for all its users.
    bool direct = true;
    JobBroadcast::Timing timing = {};
  };

  /// Who has sent a request. Plain data.
  struct Sender {
    /// Tells why a request that wants to change something is refused; nothing: it is not.
    std::function<std::optional<HttpResponse>()> refuse_change;
    bool may_change = true;  ///< the sender may change the job, if the request is as it should be
    std::string name;        ///< for the job's history; empty: whoever is at the job's own page
  };

  explicit Api(const Parts& parts)
      : parts_(parts), broadcast_(parts.loop, parts.job, parts.timing) {}

  /// Whether `place`, a path below the base, belongs to the API.
  static bool Owns(const std::string& place);
  /// The methods of `place`: "GET, HEAD" or "POST".
  static std::string Allowed(const std::string& place);

  void Handle(const HttpRequest& request, const std::string& place, const Sender& sender,
              const Respond& respond);

  JobBroadcast& broadcast() { return broadcast_; }

 private:
  /// One request to the job, below "api/v1/jobs/JOB/".
  struct Call {
    const HttpRequest& request;
    const std::vector<std::string>& parts;  ///< of the path behind the job's id
    const core::ObservedJob& job;
    const Sender& sender;
    const Respond& respond;
  };

  void HandleJob(const HttpRequest& request, const std::string& place, const Sender& sender,
                 const Respond& respond);
  void ShowTasks(const Call& call);
  void ShowTask(const Call& call);
  void ShowEvents(const Call& call);
  void ShowConfig(const Call& call);
  void ShowPrevious(const Call& call);
  void ShowErrors(const Call& call);
  void ShowMetrics(const Call& call);
  void ShowAdvice(const Call& call);
  void ShowStacks(const Call& call);
  void TakeStacks(const Call& call);
  void MergeLogs(const Call& call);
  void ShowLog(const Call& call);
  void Stop(const Call& call);
  /// The log that `parts` of the path name; nothing: the job has none such.
  std::optional<LogName> FindLog(const Call& call) const;
  PageMeans MeansOf(const Sender& sender) const;
  LogsState StateOfLogs() const;
  /// Answers that logs cannot be read (yet), and why; false: they can.
  bool RefuseLogs(const Call& call) const;
  nlohmann::ordered_json Summary(const Sender& sender) const;
  std::string Tag(const std::string& more = "") const;
  /// Answers with `json`, or 304 if the client has that already.
  void Answer(const Call& call, const std::string& json, const std::string& tag) const;

  const Parts parts_;
  JobBroadcast broadcast_;
};

}  // namespace tony::web
