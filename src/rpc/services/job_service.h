// The ApplicationMaster's service for clients: following and stopping the job, its page, tunnels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/logging.h"
#include "core/feed/job_feeds.h"
#include "core/stacks/stack_report.h"
#include "rpc/services/event_log.h"
#include "rpc/tunnel/tunnel_relay.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {

/// Checks the role `client` on every call. Thread safe; callbacks come from gRPC's threads.
class JobService
    : public v1::JobService::WithCallbackMethod_Follow<v1::JobService::WithCallbackMethod_Stop<
          v1::JobService::WithCallbackMethod_Note<v1::JobService::WithRawCallbackMethod_Tunnel<
              v1::JobService::WithCallbackMethod_OpenPage<v1::JobService::WithCallbackMethod_Feeds<
                  v1::JobService::WithCallbackMethod_EndFeed<
                      v1::JobService::WithCallbackMethod_Stacks<v1::JobService::Service>>>>>>>> {
 public:
  /// Answers a request for the page. To be called once, from any thread; later calls do nothing.
  using AnswerPage = std::function<void(const absl::StatusOr<std::string>& url)>;
  /// Answers a request for the job's feeds, as AnswerPage does.
  using AnswerFeeds = std::function<void(const absl::StatusOr<core::JobFeeds>& feeds)>;
  /// Answers the end of a feed, as AnswerPage does.
  using AnswerEndFeed = std::function<void(const absl::Status& status)>;
  /// Answers a request for stacks, as AnswerPage does.
  using AnswerStacks = std::function<void(const absl::StatusOr<core::StackReport>& report)>;
  struct Callbacks {
    std::function<void(const std::string& reason)> on_stop;
    std::function<void()> on_owner_attached;
    /// The stream of the client that owns the job broke before the job's end.
    std::function<void()> on_owner_gone;
    /// A client asks for the job's page.
    std::function<void(AnswerPage answer)> on_page;
    /// A client wants the sentence among the job's notes.
    std::function<void(const std::string& sentence)> on_note = [](const std::string&) {};
    /// A client asks where and how the job is fed.
    std::function<void(AnswerFeeds answer)> on_feeds = [](const AnswerFeeds& answer) {
      answer(NotFed());
    };
    /// A client ends a feed.
    std::function<void(const std::string& feed, AnswerEndFeed answer)> on_end_feed =
        [](const std::string&, const AnswerEndFeed& answer) { answer(NotFed()); };
    /// A client wants the stacks of these tasks; of all, if there are none.
    std::function<void(const std::vector<core::TaskId>& tasks, AnswerStacks answer)> on_stacks =
        [](const std::vector<core::TaskId>&, const AnswerStacks& answer) {
          answer(absl::UnimplementedError("nobody collects stacks"));
        };
  };

  /// FailedPrecondition, with a sentence for people: the job is not fed.
  static absl::Status NotFed();

  /// `log` and `tunnels` must outlive the server.
  JobService(std::string job_id, EventLog& log, TunnelRelay& tunnels, Callbacks callbacks);

  grpc::ServerWriteReactor<v1::JobEvent>* Follow(grpc::CallbackServerContext* context,
                                                 const v1::FollowRequest* request) override;
  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext* context,
                                 const v1::StopRequest* request,
                                 v1::StopResponse* response) override;
  grpc::ServerUnaryReactor* Note(grpc::CallbackServerContext* context,
                                 const v1::NoteRequest* request,
                                 v1::NoteResponse* response) override;
  TunnelReactor* Tunnel(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* OpenPage(grpc::CallbackServerContext* context,
                                     const v1::OpenPageRequest* request,
                                     v1::OpenPageResponse* response) override;
  grpc::ServerUnaryReactor* Feeds(grpc::CallbackServerContext* context,
                                  const v1::FeedsRequest* request,
                                  v1::FeedsResponse* response) override;
  grpc::ServerUnaryReactor* EndFeed(grpc::CallbackServerContext* context,
                                    const v1::EndFeedRequest* request,
                                    v1::EndFeedResponse* response) override;
  grpc::ServerUnaryReactor* Stacks(grpc::CallbackServerContext* context,
                                   const v1::StacksRequest* request,
                                   v1::StacksResponse* response) override;

 private:
  const std::string job_id_;
  EventLog& log_;
  TunnelRelay& tunnels_;
  const Callbacks callbacks_;
  LogLimit refused_log_;
};

}  // namespace tony::rpc
