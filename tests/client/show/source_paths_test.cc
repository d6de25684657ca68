// Paths that lead to the user's own files.
#include "client/show/source_paths.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

class SourcePathsTest : public ::testing::Test {
 protected:
  SourcePathsTest() {
    view_.job.log_folder = job_ + "/logs";
    std::filesystem::create_directories(job_);
    std::filesystem::create_directories(work_ + "/src/deep");
    os::Put(work_ + "/src/exc.py", "");
    os::Put(work_ + "/src/deep/my model.py", "");
    os::Put(job_ + "/job.xml",
            absl::StrCat("<configuration><property><name>tony.application.src-dir</name><value>",
                         work_, "/src</value></property></configuration>"));
  }

  std::string Rewrite(const std::string& line) const {
    return SourcePaths(view_, work_).Rewrite(line);
  }

  os::TemporaryFolder folder_;
  const std::string work_ = folder_ / "work";
  const std::string job_ = folder_ / "home/.tony/jobs/job-1";
  const std::string task_ = job_ + "/containers/job-1-c0002";
  core::JobView view_;
};

TEST_F(SourcePathsTest, ATracebackLeadsToTheUsersFile) {
  EXPECT_EQ(Rewrite(absl::StrCat("  File \"", task_, "/exc.py\", line 10, in <module>")),
            "  File \"src/exc.py:10\", in <module>");
  EXPECT_EQ(Rewrite(absl::StrCat("[rank1]:   File \"", task_, "/deep/my model.py\", line 7 in f")),
            "[rank1]:   File \"src/deep/my model.py:7\" in f");
  // From another folder the path is absolute.
  EXPECT_EQ(SourcePaths(view_, folder_ / "wor").Rewrite(absl::StrCat(task_, "/exc.py:3: error")),
            absl::StrCat(work_, "/src/exc.py:3: error"));
}

TEST_F(SourcePathsTest, OtherLinesKeepTheirPaths) {
  EXPECT_EQ(Rewrite(absl::StrCat(task_, "/exc.py:3:5 and ", task_, "/exc.py!")),
            absl::StrCat("src/exc.py:3:5 and exc.py!"));
  for (const std::string& line :
       {std::string("  File \"/usr/lib/python3.11/os.py\", line 5"), std::string(), task_,
        task_ + "/", job_ + "/containers/", absl::StrCat("File \"", task_)}) {
    EXPECT_EQ(Rewrite(line), line);
  }
}

TEST_F(SourcePathsTest, AFileThatIsNotThereIsNamedInsideTheProgram) {
  const std::string line = absl::StrCat("  File \"", task_, "/venv/lib/x.py\", line 10, in f");
  EXPECT_EQ(Rewrite(line), "  File \"venv/lib/x.py:10\", in f");
  std::filesystem::remove(job_ + "/job.xml");
  EXPECT_EQ(Rewrite(absl::StrCat("\"", task_, "/exc.py\", line x")), "\"exc.py\", line x");
}

TEST_F(SourcePathsTest, ALinkToTheFolderOfJobsDoesNotMatter) {
  std::filesystem::create_directory_symlink(folder_ / "home", folder_ / "link");
  view_.job.log_folder = folder_ / "link/.tony/jobs/job-1/logs";
  EXPECT_EQ(Rewrite(absl::StrCat("File \"", task_, "/exc.py\", line 1")), "File \"src/exc.py:1\"");
}

TEST_F(SourcePathsTest, OnAClusterThePathInsideTheProgramIsLeft) {
  view_.job.log_folder = "";
  const std::string folder =
      "/data/1/appcache/application_17_0001/container_e03_1700000000000_0001_01_000002";
  EXPECT_EQ(Rewrite(absl::StrCat("  File \"", folder, "/exc.py\", line 10, in f")),
            "  File \"exc.py:10\", in f");
  EXPECT_EQ(Rewrite(folder), folder);
  EXPECT_EQ(Rewrite("see container_1/x"), "see container_1/x");
}

}  // namespace
}  // namespace tony::client
