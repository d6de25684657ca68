// The verbs that wait for jobs, list some of them, remove them, or take several, on real job
// folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/client/verbs/verb_fixture.h"

namespace tony::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// FailedJob() as it would have ended well, `after_millis` later.
std::vector<core::JobEvent> SucceededJob(int64_t after_millis = 1000) {
  SampleEvents job = RunningJob();
  job.Add(
      core::JobEnded{core::Verdict{core::Outcome::kSucceeded, core::Reason::kTasksSucceeded,
                                   "All 4 tracked tasks succeeded", std::nullopt, std::nullopt}},
      after_millis);
  return job.events();
}

TEST_F(VerbTest, WaitEndsAsTheFirstJobThatFailed) {
  WriteJob(local_.path(), "job-a", SucceededJob());
  WriteJob(local_.path(), "job-b", FailedJob().events());
  WriteJob(local_.path(), "job-c", RunningJob().events());
  EXPECT_EQ(Run({"wait", "job-a"}), kVerbDone) << err_;
  EXPECT_EQ(out_, "job-a  SUCCEEDED: All 4 tracked tasks succeeded\n");
  // The exit status is that of tony-submit: 1 the program failed, 3 no verdict.
  EXPECT_EQ(Run({"wait", "job-b", "job-a", "job-b"}), 1);
  EXPECT_EQ(out_,
            "job-a  SUCCEEDED: All 4 tracked tasks succeeded\n"
            "job-b  FAILED: worker:1 exited with code 3.\n");
  EXPECT_EQ(Run({"wait", "job-b", "job-c"}), 3);  // job-c was lost before job-b failed
  EXPECT_THAT(out_, StartsWith("job-c  LOST: its ApplicationMaster went away without a verdict"));
  EXPECT_EQ(Run({"wait", "--any", "job-b", "job-a"}), kVerbDone);
  EXPECT_EQ(out_, "job-a  SUCCEEDED: All 4 tracked tasks succeeded\n");
  EXPECT_EQ(RunJson({"wait", "job-a"})["id"], "job-a");
}

TEST_F(VerbTest, WaitKeepsExitStatus1ForTheProgram) {
  EXPECT_EQ(Run({"wait"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("tony wait JOB"));
  WriteJob(local_.path(), "job-a", SucceededJob());
  for (const char* verb : {"wait", "attach"}) {
    EXPECT_EQ(Run({verb, "nope"}), kVerbBadUsage);
    EXPECT_THAT(err_, HasSubstr("no job 'nope'; known jobs: job-a"));
  }
  EXPECT_EQ(Run({"wait", "job-a", "--timeout=soon"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("--timeout 'soon' is no duration; write --timeout=600"));
  EXPECT_EQ(Run({"wait", "job-a", "application_1700000000000_0001"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("may be on different backends"));
}

TEST_F(VerbTest, WaitIsGivenUpAtTheTimeOut) {
  const HeldLock lock(WriteJob(local_.path(), "job-a", RunningJob().events()));
  WriteJob(local_.path(), "job-b", FailedJob().events());
  EXPECT_EQ(Run({"wait", "job-a", "--timeout=0"}), kVerbJobGoesOn);
  EXPECT_EQ(err_,
            "tony: job job-a goes on after 0 s (--timeout); tony status job-a shows what it does, "
            "tony kill ends it\n");
  EXPECT_EQ(Run({"wait", "job-b", "job-a", "--timeout=10ms"}), kVerbJobGoesOn);
  EXPECT_EQ(out_, "job-b  FAILED: worker:1 exited with code 3.\n");
  EXPECT_EQ(Run({"wait", "job-b", "job-a", "--any"}), 1);
}

TEST_F(VerbTest, WaitSeesTheEndOfAJobAndOfItsApplicationMaster) {
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", RunningJob().events());
  auto lock = std::make_unique<HeldLock>(folder);
  std::thread end([&] {
    AppendEvents(folder, {SucceededJob().back()});
    lock.reset();
  });
  EXPECT_EQ(Run({"wait", "job-a"}), kVerbDone) << err_;
  end.join();
  EXPECT_EQ(out_, "job-a  SUCCEEDED: All 4 tracked tasks succeeded\n");
}

TEST_F(VerbTest, AttachShowsTheEndOfAJobThatIsOver) {
  WriteJob(local_.path(), "job-a", FailedJob().events());
  EXPECT_EQ(Run({"attach"}), 1);
  EXPECT_THAT(out_, StartsWith("FAILED (TASK_FAILED): worker:1 exited with code 3."));
  WriteJob(local_.path(), "job-b", RunningJob().events());
  EXPECT_EQ(Run({"attach", "job-b"}), 3);
  EXPECT_THAT(out_, StartsWith("LOST: its ApplicationMaster went away"));
}

TEST_F(VerbTest, ListIsFiltered) {
  const HeldLock lock(WriteJob(local_.path(), "job-a", RunningJob().events()));
  WriteJob(local_.path(), "job-b", FailedJob().events());
  WriteJob(local_.path(), "job-c", SucceededJob());
  const auto ids = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "list");
    std::vector<std::string> found;
    for (const Json& job : RunJson(options)) found.push_back(job["id"]);
    std::sort(found.begin(), found.end());
    return found;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids({}), (Ids{"job-a", "job-b", "job-c"}));
  EXPECT_EQ(ids({"--running"}), Ids{"job-a"});
  EXPECT_EQ(ids({"--failed"}), Ids{"job-b"});
  EXPECT_EQ(ids({"--failed", "--running"}), (Ids{"job-a", "job-b"}));
  EXPECT_EQ(ids({"-n", "1"}).size(), 1u);
  EXPECT_EQ(ids({"--name", "DIG"}).size(), 3u);
  EXPECT_EQ(ids({"--name", "other"}), Ids{});
  EXPECT_GT(RunJson({"list", "--size"})[0]["bytes"], 0);
  EXPECT_EQ(Run({"ls", "--name=other"}), kVerbDone);
  EXPECT_EQ(out_, "There are no such jobs.\n");
  EXPECT_EQ(Run({"list", "-n", "few"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("-n 'few' is no number of jobs; write -n 20"));
}

TEST_F(VerbTest, ListTellsWhyAJobFailed) {
  WriteJob(local_.path(), "job-b", FailedJob().events());
  EXPECT_EQ(Run({"ps", "--size"}), kVerbDone);
  EXPECT_THAT(out_,
              ::testing::MatchesRegex(
                  "JOB    STATE        NAME    SUBMITTED            TIME     SIZE        REASON\n"
                  "job-b  FAILED       digits  20..-..-.. ..:..:..  1m 06s   [0-9.]+ KiB +"
                  "TASK_FAILED: worker:1 exited with code 3[.]\n"));
}

TEST_F(VerbTest, RmRemovesPastJobsOnly) {
  const std::string past = "local-20240101-000000-0001", runs = "local-20240101-000000-0002";
  const storage::JobFolder folder = WriteJob(local_.path(), past, FailedJob().events());
  const storage::JobFolder running = WriteJob(local_.path(), runs, RunningJob().events());
  const HeldLock lock(running);
  EXPECT_EQ(Run({"rm"}), kVerbBadUsage);
  EXPECT_EQ(Run({"rm", past, "--keep=1"}), kVerbBadUsage);
  EXPECT_EQ(Run({"rm", runs, past}), kVerbNotPossible);
  EXPECT_EQ(err_, "tony: job " + runs + " runs, and a running job is not removed; tony kill " +
                      runs + " ends it\n");
  EXPECT_THAT(out_, ::testing::MatchesRegex(past + "  FAILED  [0-9]+ KiB removed\n"));
  EXPECT_TRUE(std::filesystem::exists(running.events()));
  EXPECT_FALSE(std::filesystem::exists(folder.root()));
  EXPECT_EQ(Run({"rm", past}), kVerbNotPossible);
  EXPECT_THAT(err_, HasSubstr("no job '" + past + "'"));
}

TEST_F(VerbTest, RmLeavesCheckpointsUnlessTold) {
  const std::string past = "local-20240101-000000-0001";
  const storage::JobFolder folder = WriteJob(local_.path(), past, FailedJob().events());
  ASSERT_TRUE(os::MakeFolders(folder.checkpoints()).ok());
  std::ofstream(folder.checkpoints() + "/step-1") << "weights";
  EXPECT_EQ(Run({"rm", past}), kVerbNotPossible);
  EXPECT_THAT(err_, HasSubstr("stays, since it has checkpoints: " + folder.checkpoints() +
                              "; --checkpoints removes them too"));
  EXPECT_EQ(Run({"rm", "--keep=0"}), kVerbDone);
  EXPECT_EQ(err_, "tony: 1 job with checkpoints stayed; --checkpoints removes them too\n");
  EXPECT_EQ(Run({"rm", past, "--checkpoints"}), kVerbDone) << err_;
  EXPECT_FALSE(std::filesystem::exists(folder.root()));
}

TEST_F(VerbTest, RmChoosesByAgeAndNumber) {
  std::vector<std::string> roots;
  for (const char* id :
       {"local-20240101-000000-0001", "local-20240101-000000-0002", "local-20240101-000000-0003"}) {
    roots.push_back(WriteJob(local_.path(), id, FailedJob().events()).root());
  }
  EXPECT_EQ(Run({"rm", "--older", "36500d"}), kVerbDone) << err_;
  EXPECT_EQ(out_, "There are no such jobs.\n");
  EXPECT_EQ(Run({"rm", "--older", "1d", "--keep", "2"}), kVerbDone) << err_;
  EXPECT_FALSE(std::filesystem::exists(roots[0]));
  EXPECT_EQ(Run({"rm", "--older=1d"}), kVerbDone);
  EXPECT_THAT(out_, HasSubstr("\n2 jobs, "));
  EXPECT_FALSE(std::filesystem::exists(roots[1]) || std::filesystem::exists(roots[2]));
  EXPECT_EQ(Run({"rm", "--older=old"}), kVerbBadUsage);
  EXPECT_EQ(Run({"rm", "--keep=few"}), kVerbBadUsage);
}

TEST_F(VerbTest, VerbsHaveOtherNames) {
  for (const auto& [typed, meant] : std::vector<std::pair<std::string, std::string>>{
           {"ls", "list"}, {"ps", "list"}, {"stop", "kill"}, {"cancel", "kill"}}) {
    EXPECT_EQ(Run({typed, "--help"}), kVerbDone);
    EXPECT_THAT(out_, StartsWith("Usage: tony " + meant + " "));
  }
  for (const auto& [typed, meant] : std::vector<std::pair<std::string, std::string>>{
           {"submit", "tony-submit"}, {"delete", "tony rm"}, {"describe", "tony status"}}) {
    EXPECT_EQ(Run({typed}), kVerbBadUsage);
    EXPECT_THAT(err_, HasSubstr("unknown verb '" + typed + "'; did you mean '" + meant + "'?"));
  }
}

TEST_F(VerbTest, LogsEndAsTheJobIfThatIsWanted) {
  WriteJob(local_.path(), "job-a", FailedJob().events());
  EXPECT_EQ(Run({"logs", "-f", "job-a"}), kVerbDone);
  EXPECT_EQ(Run({"logs", "-f", "job-a", "--exit-code"}), 1);
  const HeldLock lock(WriteJob(local_.path(), "job-b", RunningJob().events()));
  EXPECT_EQ(Run({"logs", "job-b", "--exit-code"}), kVerbJobGoesOn);
}

TEST_F(VerbTest, DiffComparesKeysAndOutcomes) {
  const auto write = [](const storage::JobFolder& folder, const std::string& workers) {
    std::ofstream(folder.job_xml())
        << "<configuration><property><name>tony.worker.instances</name><value>" << workers
        << "</value></property><property><name>tony.worker.memory</name><value>1g</value>"
           "</property></configuration>";
  };
  write(WriteJob(local_.path(), "job-a", FailedJob().events()), "2");
  write(WriteJob(local_.path(), "job-b", SucceededJob()), "4");
  EXPECT_EQ(Run({"diff", "job-a", "job-b"}), kVerbDone) << err_;
  EXPECT_THAT(
      out_,
      StartsWith(
          "                       job-a                         job-b\n"
          "state                  FAILED                        SUCCEEDED\n"
          "verdict                worker:1 exited with code 3.  All 4 tracked tasks succeeded\n"));
  EXPECT_THAT(out_, HasSubstr("\ntony.worker.instances  2                             4\n"));
  const Json json = RunJson({"diff", "job-a", "job-b"});
  ASSERT_EQ(json["configuration"].size(), 1u);
  EXPECT_EQ(json["configuration"][0],
            Json({{"what", "tony.worker.instances"}, {"left", "2"}, {"right", "4"}}));
  EXPECT_EQ(Run({"diff", "job-a"}), kVerbBadUsage);
  EXPECT_EQ(Run({"diff", "job-a", "job-a"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("both names mean job job-a"));
}

TEST_F(VerbTest, RerunNeedsAConfigurationAndCheckpointsToResumeFrom) {
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", FailedJob().events());
  EXPECT_EQ(Run({"rerun", "job-a"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("the configuration of job job-a is not on this machine"));
  std::ofstream(folder.job_xml()) << "<configuration></configuration>";
  EXPECT_EQ(Run({"rerun", "job-a", "--resume"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("job job-a has no checkpoints in " + folder.checkpoints() +
                              "; leave --resume out to begin anew"));
}

TEST_F(VerbTest, RunChecksWhatItIsGiven) {
  EXPECT_EQ(Run({"run"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("tony run -np 2 python3 train.py"));
  EXPECT_EQ(RunBare({"run", "-np", "0", "true"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("-np '0' is no number of tasks; write -np 2"));
  EXPECT_EQ(RunBare({"run", "python3", "train.py", "--help"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("there is no train.py in " + local_.path()));
  EXPECT_EQ(RunBare({"run", "--help"}), kVerbDone);
  EXPECT_THAT(out_, StartsWith("Usage: tony run [OPTIONS] COMMAND…\n"));
}

TEST_F(VerbTest, RunRefusesAFolderFullOfData) {
  std::ofstream(local_.path() + "/train.py") << "import torch\n";
  ASSERT_TRUE(os::MakeFolders(local_.path() + "/data").ok());
  std::ofstream(local_.path() + "/data/images").close();
  std::filesystem::resize_file(local_.path() + "/data/images", 600 << 20);
  EXPECT_EQ(RunBare({"run", "train.py"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr(local_.path() +
                              " has more than 512.0 MiB, and each task gets a copy (data is the "
                              "largest so far: 600.0 MiB and more); go into the program's own "
                              "folder"));
}

TEST_F(VerbTest, KillTakesSeveralJobs) {
  ServedJob* served = nullptr;
  ServedJob job(local_.path(), "job-a", [&](const std::string&) { served->End(); });
  served = &job;
  WriteJob(local_.path(), "job-b", FailedJob().events());
  WriteJob(local_.path(), "job-c", RunningJob().events());
  EXPECT_EQ(Run({"kill", "job-c", "job-b", "job-a"}), kVerbNotPossible);
  EXPECT_EQ(out_,
            "job-b  FAILED: worker:1 exited with code 3.\njob-a  KILLED: Ended by tony kill.\n");
  EXPECT_THAT(err_,
              AllOf(HasSubstr("job job-b has already ended"), HasSubstr("job job-c does not run")));
}

}  // namespace
}  // namespace tony::client
