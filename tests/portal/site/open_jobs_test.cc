// Which jobs stay open when more are looked at than the portal follows.
#include "portal/site/open_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "tests/client/job_folders.h"
#include "tests/common/loop_driver.h"
#include "tests/portal/mirror/collected_job.h"

namespace tony::portal {
namespace {

using ::testing::HasSubstr;

class OpenJobsTest : public ::testing::Test {
 protected:
  /// Asks for the events of job `number`, as a stream or once, or for something else of it.
  web::HttpResponse Ask(size_t number, bool stream, const std::string& what = "events") {
    const std::string id = absl::StrCat("local-", number);
    if (!std::filesystem::exists(storage::JobsFolder(local_.path()) + "/" + id)) {
      client::SampleEvents job;
      job.Submit({{"worker", 1}}, id);
      job.End(core::Outcome::kSucceeded, core::Reason::kTasksSucceeded, "all done");
      client::WriteJob(local_.path(), id, job.events());
    }
    web::HttpRequest request;
    if (stream) request.accept = "text/event-stream";
    std::optional<web::HttpResponse> got;
    jobs_.Handle({local_.path(), id}, "/", visitor_, request,
                 absl::StrCat("api/v1/jobs/", id, "/", what), true,
                 [&](web::HttpResponse response) {
                   got = std::move(response);
                   driver_.Changed();
                 });
    EXPECT_TRUE(driver_.Await([&] { return got.has_value(); })) << id;
    return got.value_or(web::HttpResponse{});
  }

  Visitor visitor_{"alice", Role::kView, "password"};
  os::TemporaryFolder local_;
  LoopDriver driver_;
  FakeClock clock_;
  OpenJobs jobs_{driver_.loop(), clock_};
};

TEST_F(OpenJobsTest, AJobThatSomebodyReadsIsNotClosed) {
  std::vector<web::HttpResponse> streams;
  streams.push_back(Ask(0, true));
  for (size_t number = 1; number < OpenJobs::kMost + 3; ++number) {
    EXPECT_EQ(Ask(number, false).status, 200) << number;
  }
  // A stream's first frame comes from the job, so it is still open.
  bool framed = false;
  streams[0].source->Next([&](const absl::StatusOr<std::shared_ptr<const std::string>>& frame) {
    framed = frame.ok() && *frame != nullptr;
    driver_.Changed();
  });
  EXPECT_TRUE(driver_.Await([&] { return framed; }));
}

TEST_F(OpenJobsTest, OneMoreThanAreReadIsRefusedUntilOneIsLeft) {
  std::vector<web::HttpResponse> streams;
  for (size_t number = 0; number < OpenJobs::kMost; ++number) streams.push_back(Ask(number, true));
  const web::HttpResponse refused = Ask(OpenJobs::kMost, false);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("close one of them"));
  streams.pop_back();
  EXPECT_EQ(Ask(OpenJobs::kMost, false).status, 200);
}

/// A job that runs, as far as its folder tells, and what visitors may do about it.
class StopTest : public OpenJobsTest {
 protected:
  StopTest() {
    client::SampleEvents job;
    job.Submit({{"worker", 1}}, kId);
    job.State(core::JobState::kRunning);
    client::WriteJob(local_.path(), kId, job.events());
    lock_ = os::LockFile(folder_.am_lock()).value();
  }
  /// Answers a request below the job in the API, or with `page` below its page.
  web::HttpResponse Request(const web::HttpRequest& request, const std::string& place,
                            bool page = false) {
    std::optional<web::HttpResponse> got;
    const std::string in_api = absl::StrCat("api/v1/jobs/", kId, place);
    web::HttpRequest sent = request;
    sent.path = "/" + in_api;
    jobs_.Handle({local_.path(), kId}, "/", visitor_, sent, in_api, !page,
                 [&](web::HttpResponse response) {
                   got = std::move(response);
                   driver_.Changed();
                 });
    EXPECT_TRUE(driver_.Await([&] { return got.has_value(); })) << place;
    return got.value_or(web::HttpResponse{});
  }
  web::HttpResponse Post(const std::string& place = "/stop", bool page = false) {
    web::HttpRequest request;
    request.post = true;
    request.body = "{}";
    request.content_type = "application/json";
    request.origin = origin_;
    request.fetch_site = fetch_site_;
    return Request(request, place, page);
  }
  bool MayStop() { return nlohmann::json::parse(Request({}, "").body)["may"]["stop"].get<bool>(); }
  /// As the client has left it for whoever wants to end the job.
  void WriteCredentials() {
    ASSERT_TRUE(os::MakeFolders(folder_.secrets()).ok());
    ASSERT_TRUE(os::WriteFileAtomically(folder_.client_credentials(), "no certificate").ok());
  }

  static constexpr char kId[] = "local-running";
  const storage::JobFolder folder_{absl::StrCat(storage::JobsFolder(local_.path()), "/", kId)};
  os::UniqueFd lock_;
  std::string origin_ = "https://portal", fetch_site_ = "same-origin";
};

TEST_F(StopTest, WhoMayOnlyLookIsRefusedOnBothWays) {
  WriteCredentials();
  EXPECT_FALSE(MayStop());
  for (const bool page : {false, true}) {
    const web::HttpResponse refused = Post("/stop", page);
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, HasSubstr("Your role in this portal is view"));
    EXPECT_THAT(refused.body, HasSubstr("tony kill local-running"));
  }
}

TEST_F(StopTest, AnotherSitesPageIsRefused) {
  WriteCredentials();
  visitor_.role = Role::kControl;
  EXPECT_TRUE(MayStop());
  for (const auto& [origin, fetch_site] : std::vector<std::pair<std::string, std::string>>{
           {"", "same-origin"}, {"https://portal", "cross-site"}, {"https://portal", ""}}) {
    origin_ = origin;
    fetch_site_ = fetch_site;
    EXPECT_EQ(Post().status, 403) << origin << fetch_site;
    EXPECT_EQ(Post("/stop", true).status, 403) << origin << fetch_site;
  }
}

TEST_F(StopTest, AJobThatCannotBeReachedIsNotEnded) {
  visitor_.role = Role::kControl;
  EXPECT_FALSE(MayStop()) << "like the copy of a cluster's job";
  const web::HttpResponse refused = Post();
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("tony kill local-running"));
  EXPECT_THAT(Post("/stacks").body, HasSubstr("tony stacks local-running"));
}

TEST_F(StopTest, AJobThatDoesNotAnswerIsSaid) {
  WriteCredentials();
  visitor_.role = Role::kControl;
  web::HttpResponse failed = Post();
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(failed.body, HasSubstr("has not published its address"));
  ASSERT_TRUE(os::WriteFileAtomically(folder_.am_address(), "127.0.0.1:1\n").ok());
  failed = Post();
  EXPECT_EQ(failed.status, 503);
  EXPECT_THAT(failed.body, HasSubstr("client.pem")) << "it is no certificate";
}

TEST_F(StopTest, ALostJobIsNotEnded) {
  WriteCredentials();
  visitor_.role = Role::kControl;
  lock_.Reset();
  EXPECT_FALSE(MayStop()) << "its ApplicationMaster is gone";
  EXPECT_EQ(Post().status, 409);
}

TEST_F(OpenJobsTest, ThePageHasTheStacksThatWereKept) {
  const auto kept = [this] { return nlohmann::json::parse(Ask(0, false, "stacks").body)["kept"]; };
  EXPECT_TRUE(kept().empty());
  const std::string folder =
      storage::JobsFolder(local_.path()) + "/local-0/logs/worker-0/attempt-1";
  ASSERT_TRUE(os::MakeFolders(folder).ok());
  ASSERT_TRUE(os::WriteFileAtomically(folder + "/stacks.txt", "    load_batch\n").ok());
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0]["task"], "worker:0");
  EXPECT_EQ(kept()[0]["text"], "    load_batch\n");
}

/// A job of a cluster that has collected its logs.
class LogsTest : public ::testing::Test {
 protected:
  LogsTest() { cluster_.Collect(job_, "node_1"); }

  /// Answers a request of the API, or below the job's page.
  web::HttpResponse Ask(const std::string& place, bool api) {
    std::optional<web::HttpResponse> got;
    web::HttpRequest request;
    request.path = "/" + place;
    jobs_.Handle({location_.path(), job_.id()}, "/", visitor_, request, place, api,
                 [&](web::HttpResponse response) {
                   got = std::move(response);
                   driver_.Changed();
                 });
    EXPECT_TRUE(driver_.Await([&] { return got.has_value(); })) << place;
    return got.value_or(web::HttpResponse{});
  }
  /// What the API says about the job's logs.
  nlohmann::json May() { return nlohmann::json::parse(Ask(in_api_, true).body)["may"]; }
  /// Waits until the cluster was asked.
  bool AwaitCopy() {
    return driver_.Await([this] { return asked_.load(); });
  }

  const Visitor visitor_{"alice", Role::kView, "password"};
  const os::TemporaryFolder location_;
  const CollectingCluster cluster_;
  const CollectedJob job_{location_.path(), 1};
  const std::string in_api_ = absl::StrCat("api/v1/jobs/", job_.id());
  LoopDriver driver_;
  FakeClock clock_;
  std::atomic<bool> asked_ = false;
  OpenJobs jobs_{
      driver_.loop(), clock_, OpenJobs::kMost, {{location_.path(), [this](const std::stop_token&) {
                                                   asked_ = true;
                                                   driver_.Changed();
                                                   return absl::StatusOr<backend::YarnCluster>(
                                                       cluster_.Find());
                                                 }}}};
};

TEST_F(LogsTest, AProgramThatListsJobsHasNothingCopied) {
  for (const char* resource : {"", "/tasks", "/timeline", "/config"}) Ask(in_api_ + resource, true);
  EXPECT_EQ(May()["logs"], false);
  EXPECT_EQ(May()["logs_note"], "The portal has not copied them from the cluster.");
  EXPECT_FALSE(asked_);
}

TEST_F(LogsTest, ThePageAndItsQuestionsHaveThemCopied) {
  EXPECT_EQ(Ask("", false).status, 200);
  EXPECT_TRUE(AwaitCopy());
}

// As when the job was closed here, while its page was not shown.
TEST_F(LogsTest, APageThatIsOpenAlreadyHasThemCopied) {
  EXPECT_EQ(Ask(in_api_, false).status, 200);
  EXPECT_TRUE(AwaitCopy());
}

TEST_F(LogsTest, WhoAsksForLogsOrErrorsHasThemCopied) {
  const web::HttpResponse refused = Ask(in_api_ + "/errors", true);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr(absl::StrCat("tony logs ", job_.id())));
  EXPECT_TRUE(AwaitCopy());
}

}  // namespace
}  // namespace tony::portal
