// Which jobs stay open when more are looked at than the portal follows.
#include "portal/site/open_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "os/files/files.h"
#include "tests/client/job_folders.h"
#include "tests/common/loop_driver.h"

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
    jobs_.Handle({local_.path(), id}, "/", request, absl::StrCat("api/v1/jobs/", id, "/", what),
                 true, [&](web::HttpResponse response) {
                   got = std::move(response);
                   driver_.Changed();
                 });
    EXPECT_TRUE(driver_.Await([&] { return got.has_value(); })) << id;
    return got.value_or(web::HttpResponse{});
  }

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

}  // namespace
}  // namespace tony::portal
