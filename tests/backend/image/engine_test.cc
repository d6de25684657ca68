// What engines answer, and the command by which they run an executor.
// tests/integration/images_test.py has the real ones.
#include "backend/image/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "backend/image/engine_run.h"
#include "backend/image/image_containers.h"
#include "backend/image/image_pull.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class EngineTest : public ::testing::Test {
 protected:
  void AddProgram(const std::string& name, const std::string& script) {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << script << "\n";
    ASSERT_EQ(::chmod((folder_ / name).c_str(), 0755), 0);
  }

  os::TemporaryFolder folder_;
};

TEST_F(EngineTest, AutoTakesPodmanFirst) {
  const std::vector<std::string> path = {"/no/such", "relative", folder_.path()};
  EXPECT_EQ(FindEngine("auto", path).status().message(),
            "neither podman nor docker is in PATH; install one of them (apt-get install podman)");
  EXPECT_EQ(FindEngine("docker", path).status().message(),
            "docker is not in PATH; install it, or set tony.docker.engine to auto");
  AddProgram("docker", "");
  EXPECT_EQ(FindEngine("auto", path)->name(), "docker");
  AddProgram("podman", "");
  EXPECT_EQ(FindEngine("auto", path)->name(), "podman");
  EXPECT_EQ(FindEngine("auto", path)->program, folder_ / "podman");
  EXPECT_EQ(FindEngine("docker", path)->name(), "docker");
}

TEST_F(EngineTest, FactsOfAnImage) {
  const auto facts =
      ParseImageFacts(R"([{"Architecture": "arm64", "Os": "linux", "Size": 5000000000}])");
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->architecture, "arm64");
  EXPECT_EQ(facts->system, "linux");
  EXPECT_EQ(facts->bytes, 5'000'000'000);
  for (const char* const bad : {"", "{}", "[]", "[1]", "Error: no"}) {
    EXPECT_FALSE(ParseImageFacts(bad).ok()) << bad;
  }
  EXPECT_TRUE(ParseImageFacts(R"([{"Size": "much", "Os": 1}])").ok()) << "what is missing is empty";
}

TEST_F(EngineTest, AMissingImageIsNoError) {
  const auto find = [&](const std::string& script) {
    AddProgram("podman", script);
    return FindImage({Engine::Kind::kPodman, folder_ / "podman"}, "x", std::chrono::seconds(20));
  };
  const auto missing = find("echo 'Error: inspecting object: x: image not known' >&2; exit 125");
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_EQ(*missing, std::nullopt);
  EXPECT_EQ(find("echo 'Error: no space left on device' >&2; exit 125").status().message(),
            "podman: no space left on device; free room: podman system prune, or docker system "
            "prune");
  EXPECT_EQ(find("exit 4").status().message(), "podman: it exited with code 4");
  EXPECT_EQ(find("echo nonsense").status().message(),
            "podman: its answer about the image is no JSON list of an object");
}

TEST_F(EngineTest, ComplaintsGetARemedyWhereOneIsKnown) {
  EXPECT_EQ(EngineComplaint(""), "");
  EXPECT_EQ(EngineComplaint("time=… level=warning\nError: OCI runtime error: bad\n"),
            "OCI runtime error: bad");
  EXPECT_EQ(
      EngineComplaint("time=\"2026\" level=error msg=\"Waiting for container 97: no such exit "
                      "code\"\n"),
      "Waiting for container 97: no such exit code");
  EXPECT_EQ(EngineComplaint("Error: setting up CDI devices: unresolvable CDI devices "
                            "nvidia.com/gpu=0"),
            "setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=0; describe the GPUs "
            "for podman: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml");
  EXPECT_THAT(EngineComplaint("docker: Error response from daemon: could not select device driver "
                              "\"\" with capabilities: [[gpu]]."),
              HasSubstr("could not select device driver \"\" with capabilities: [[gpu]].; install "
                        "nvidia-container-toolkit"));
}

EngineRun SomeRun() {
  EngineRun run;
  run.container_id = "local-1-c0001";
  run.image = "repo/image:1";
  run.job_folder = "/home/u/.tony/jobs/local-1";
  run.working_folder = run.job_folder + "/containers/local-1-c0001";
  run.runtime = {"/home/u/.tony/runtime/r/tony-runtime",
                 "/home/u/.tony/runtime/r/tony-runtime/lib/ld-linux-x86-64.so.2"};
  run.mounts = {{"/data", "/in", false, "rslave"}};
  run.writable_folders = {"/checkpoints"};
  run.user = 1000;
  run.group = 100;
  run.descriptors = 1;
  run.monitor_file = "/home/u/.tony/jobs/local-1/secrets/local-1-c0001.monitor";
  run.executor_file = "/home/u/.tony/jobs/local-1/secrets/local-1-c0001-executor.monitor";
  run.arguments = {"--container-id=local-1-c0001"};
  return run;
}

TEST_F(EngineTest, TheCommandOfPodman) {
  EngineRun run = SomeRun();
  run.gpus = {2, 5};
  run.rdma = true;
  const std::vector<std::string> command = RunCommand({Engine::Kind::kPodman, "/bin/podman"}, run);
  EXPECT_THAT(
      command,
      IsSupersetOf(
          {"/bin/podman",
           "run",
           "--rm",
           "--pull=never",
           "--log-driver=none",
           "--network=host",
           "--ipc=host",
           "--name=tony-local-1-c0001",
           "--label=tony.folder=/home/u/.tony/jobs/local-1",
           "--label=tony.user=1000",
           "--user=1000:100",
           "--userns=keep-id",
           "--preserve-fds=1",
           "--device=nvidia.com/gpu=2",
           "--device=nvidia.com/gpu=5",
           "--device=/dev/infiniband",
           "--mount=type=bind,source=/data,destination=/in,readonly,bind-propagation=rslave",
           "--mount=type=bind,source=/checkpoints,destination=/checkpoints",
           "--mount=type=bind,source=/home/u/.tony/jobs/local-1,destination=/home/u/.tony/"
           "jobs/local-1",
           "--mount=type=bind,source=/home/u/.tony/runtime/r/tony-runtime,destination=/home/"
           "u/.tony/runtime/r/tony-runtime,readonly",
           "--entrypoint=/home/u/.tony/runtime/r/tony-runtime/lib/ld-linux-x86-64.so.2"}));
  const auto image = std::find(command.begin(), command.end(), "repo/image:1");
  EXPECT_THAT(std::vector<std::string>(image, command.end()),
              ElementsAre("repo/image:1", "--inhibit-cache", "--library-path",
                          "/home/u/.tony/runtime/r/tony-runtime/lib",
                          "/home/u/.tony/runtime/r/tony-runtime/bin/tony-executor",
                          "--container-id=local-1-c0001"));
  run.user = 0;
  EXPECT_THAT(RunCommand({Engine::Kind::kPodman, "/bin/podman"}, run),
              Not(Contains("--userns=keep-id")))
      << "root is root";
}

TEST_F(EngineTest, TheCommandOfDockerHasNoOptionThatOnlyPodmanKnows) {
  EngineRun run = SomeRun();
  run.gpus = {2, 5};
  run.more_groups = {7};
  const std::vector<std::string> command = RunCommand({Engine::Kind::kDocker, "docker"}, run);
  EXPECT_THAT(command, Contains("--group-add=7"));
  EXPECT_THAT(command, Contains("--gpus=\"device=2,5\""));
  for (const char* const option :
       {"--userns", "--preserve-fds", "--conmon-pidfile", "--cgroupns", "--device=nvidia.com"}) {
    EXPECT_THAT(command, Not(Contains(HasSubstr(option))));
  }
  EXPECT_THAT(RemoveCommand({Engine::Kind::kDocker, "docker"}, "x"),
              ElementsAre("docker", "rm", "--force", "x"));
  EXPECT_THAT(RemoveCommand({Engine::Kind::kPodman, "podman"}, "x"),
              ElementsAre("podman", "rm", "--force", "--time=0", "--ignore", "x"));
}

TEST_F(EngineTest, LimitsAreThisProcesss) {
  EXPECT_THAT(LimitArguments(),
              ElementsAre(testing::MatchesRegex("--ulimit=nofile=-?[0-9]+:-?[0-9]+"),
                          testing::MatchesRegex("--ulimit=nproc=-?[0-9]+:-?[0-9]+"),
                          testing::MatchesRegex("--ulimit=memlock=-?[0-9]+:-?[0-9]+")));
}

TEST_F(EngineTest, SomePathsCannotBeMounted) {
  EXPECT_TRUE(IsMountable("/a b/c"));
  for (const char* const path : {"/a,b", "/a:b", "/a\"b", "/a\nb"}) EXPECT_FALSE(IsMountable(path));
}

TEST_F(EngineTest, TheStatusOfAClientIsItsExecutors) {
  EXPECT_EQ(ImageContainers::ExecutorStatus({.code = 0}).code, 0);
  EXPECT_EQ(ImageContainers::ExecutorStatus({.code = 3}).code, 3);
  EXPECT_EQ(ImageContainers::ExecutorStatus({.code = 137}).signal, 9);
  EXPECT_EQ(ImageContainers::ExecutorStatus({.code = 137}).code, 0);
}

class PullTest : public EngineTest {
 protected:
  absl::Status Pull(const std::string& script, Duration limit) {
    AddProgram("podman", script);
    const PullProgress progress{
        .on_line = [this](const std::string& line) { lines_.push_back(line); },
        .on_silence = [this](Duration) { ++silences_; },
        .pause = std::chrono::milliseconds(50)};
    return PullImage({Engine::Kind::kPodman, folder_ / "podman"}, "x", limit, progress);
  }

  std::vector<std::string> lines_;
  int silences_ = 0;
};

TEST_F(PullTest, LinesArePassedOn) {
  EXPECT_TRUE(Pull("echo one; printf 'two\\rthree' >&2", std::chrono::seconds(30)).ok());
  EXPECT_THAT(lines_, ElementsAre("one", "two", "three"));
}

TEST_F(PullTest, ARefusalHasItsReason) {
  const absl::Status status =
      Pull("echo Trying; echo 'Error: no such repository' >&2; exit 125", std::chrono::seconds(30));
  EXPECT_EQ(status.message(), "no such repository");
  EXPECT_EQ(Pull("kill -9 $$", std::chrono::seconds(30)).message(),
            "podman was killed by signal 9");
}

TEST_F(PullTest, SilenceIsToldAndEndsAtTheLimit) {
  const absl::Status status = Pull("exec sleep 600", std::chrono::seconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(status.message(), "it was not complete after 1 s");
  EXPECT_GT(silences_, 0);
}

}  // namespace
}  // namespace tony::backend
