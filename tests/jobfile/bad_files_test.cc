// Files that a job file names: what is missing, unreadable or named twice is told with its place
// and a remedy.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using BadFilesTest = SmallJobTest;

TEST_F(BadFilesTest, FilesHaveToBeThere) {
  EXPECT_EQ(ProblemsWith({{"tony.application.src-dir", "src"}}),
            "job.xml:4: tony.application.src-dir: " + folder_.path() +
                "/src does not exist; correct the path\n");
  EXPECT_THAT(ProblemsWith({{"tony.application.python-venv", "venv.zip"}}),
              HasSubstr("/venv.zip does not exist"));
  EXPECT_THAT(ProblemsWith({{"tony.worker.resources", "a.txt::b,c.txt"}}),
              AllOf(HasSubstr("/a.txt does not exist"), HasSubstr("/c.txt does not exist")));
  ASSERT_EQ(mkfifo((folder_.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_THAT(ProblemsWith({{"tony.containers.resources", "pipe"}}),
              HasSubstr("is neither a file nor a folder; name a file or folder"));
}

TEST_F(BadFilesTest, FilesHaveToBeReadable) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  ASSERT_EQ(chmod(folder_.Write("secret.txt", "x").c_str(), 0), 0);
  EXPECT_THAT(ProblemsWith({{"tony.containers.resources", "secret.txt"}}),
              HasSubstr("secret.txt cannot be read: Permission denied"));
}

TEST_F(BadFilesTest, ResourcesFollowTheirGrammar) {
  EXPECT_THAT(ProblemsWith({{"tony.containers.resources", "a::b::c"}}),
              HasSubstr("'a::b::c' has more than one '::'; write path, path::localName"));
  EXPECT_THAT(ProblemsWith({{"tony.containers.resources", "a::../b"}}),
              HasSubstr("the local name '../b', which is no file name"));
}

TEST_F(BadFilesTest, RemoteFilesAreRefused) {
  EXPECT_EQ(ProblemsWith({{"tony.containers.resources", "hdfs://nn/data.zip#archive"}}),
            "job.xml:4: tony.containers.resources: hdfs://nn/data.zip is remote, and the local "
            "backend copies local files only; fetch it and name the local copy\n");
  EXPECT_THAT(ProblemsWith({{"tony.application.python-venv", "s3://b/venv.zip"}}),
              HasSubstr("is remote"));
  EXPECT_THAT(ProblemsWith({{"tony.local.dir", "hdfs://nn/jobs"}}),
              HasSubstr("is not on this machine; name a local folder"));
}

TEST_F(BadFilesTest, OnYarnNodesFetchRemoteFiles) {
  const auto problems = [this](const std::string& key, const std::string& value) {
    return ProblemsWith({{"tony.backend", "yarn"}, {key, value}});
  };
  EXPECT_EQ(problems("tony.containers.resources", "hdfs:///data.zip#archive,http://h/a::b"), "");
  EXPECT_EQ(problems("tony.containers.resources", "s3a://b/data.zip"),
            "job.xml:5: tony.containers.resources: s3a://b/data.zip is remote, and tony lets "
            "YARN's nodes "
            "fetch from hdfs, webhdfs, http, https only; copy it into the cluster's "
            "HDFS\n");
  EXPECT_THAT(problems("tony.application.python-venv", "hdfs:///venv.zip"),
              HasSubstr("is remote, and has to be packed here; fetch it"));
}

TEST_F(BadFilesTest, TwoFilesMayNotHaveOneName) {
  folder_.Write("a/data", "");
  folder_.Write("b/data", "");
  EXPECT_EQ(ProblemsWith({{"tony.containers.resources", "a/data"},
                          {"tony.worker.resources", "b/data"},
                          {"tony.ps.instances", "1"},
                          {"tony.ps.command", "true"}}),
            "job.xml:5: tony.worker.resources: " + folder_.path() + "/b/data and " +
                folder_.path() + "/a/data have one local name, data; rename one: " +
                folder_.path() + "/b/data::otherName\n");
  EXPECT_EQ(Load({{"tony.worker.instances", "1"},
                  {"tony.ps.instances", "1"},
                  {"tony.containers.command", "true"},
                  {"tony.containers.resources", "a/data,b/data"}})
                .result.problems.size(),
            1u)
      << "told once, not for each type";
  EXPECT_THAT(
      ProblemsWith({{"tony.application.python-venv", "a"}, {"tony.worker.resources", "b::venv"}}),
      HasSubstr("and the virtual environment have one local name, venv"));
}

TEST_F(BadFilesTest, ATokenIsForItsOwnerAloneAndLongEnough) {
  const std::string file = folder_.Write("token", std::string(32, 'a') + "\n");
  const auto problems = [&] { return ProblemsWith({{"tony.metrics.token-file", file}}); };
  const std::string place = "job.xml:4: tony.metrics.token-file: ";
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  EXPECT_EQ(problems(), place + "others than its owner have access to " + file +
                            "; run: chmod 600 " + file + "\n");
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  EXPECT_EQ(problems(), "");
  folder_.Write("token", "short");
  EXPECT_EQ(problems(), place + file +
                            " has no token of 32 to 1024 letters, digits and -._~+/=; run: "
                            "openssl rand -hex 32 > " +
                            file + "\n");
}

TEST_F(BadFilesTest, TheInterpreterIsNamedInsideItsEnvironment) {
  folder_.Write("venv/bin/python", "");
  std::filesystem::create_symlink("/no/such/python", folder_.path() + "/venv/bin/python3");
  const auto problems = [&](const std::string& interpreter) {
    return ProblemsWith({{"tony.application.python-venv", "venv"},
                         {"tony.application.python-binary-path", interpreter}});
  };
  const std::string place = "job.xml:5: tony.application.python-binary-path: there is no ";
  const std::string inside =
      " in the environment " + folder_.path() + "/venv; write the path inside the environment: ";
  EXPECT_EQ(problems("bin/python"), "");
  EXPECT_EQ(problems("bin/python3"), "") << "a link that leads out of the environment";
  EXPECT_EQ(problems("/usr/bin/python3"), "");
  EXPECT_EQ(problems("venv/bin/python"), place + "venv/bin/python" + inside + "bin/python\n");
  EXPECT_EQ(problems("python3"), place + "python3" + inside + "bin/python3\n");
  EXPECT_EQ(problems("x/pypy"), place + "x/pypy" + inside + "bin/python3, for example\n");
}

}  // namespace
}  // namespace tony::jobfile
