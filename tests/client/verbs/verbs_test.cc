// The verbs of `tony` on real job folders, and `kill` against a real ApplicationMaster's service.
#include "client/verbs/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "os/files/files.h"
#include "rpc/convert/event_json.h"
#include "tests/client/job_folders.h"
#include "tests/client/verbs/verb_fixture.h"
#include "tests/logs/timed_log.h"

namespace tony::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(VerbTest, LogsKnowTheirTimes) {
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", FailedJob().events());
  const int64_t now = clock_.UnixMillis();
  const std::string log = folder.task_logs({"worker", 0}) + "/attempt-1/stdout.log";
  logs::AppendTimed(log, "old\n", now - 3'600'000);
  logs::AppendTimed(log, "new\n", now);
  EXPECT_EQ(Run({"logs", "--since", "5m"}), kVerbDone);
  EXPECT_EQ(out_, "worker:0 | new\n");
  EXPECT_EQ(Run({"logs", "worker:0", "--timestamps", "--tail=1"}), kVerbDone);
  EXPECT_THAT(out_, ::testing::MatchesRegex("20..-..-.. ..:..:.*[.][0-9]+ new\n"));
  EXPECT_EQ(Run({"logs", "worker:0", "--tail=1", "--json"}), kVerbDone);
  EXPECT_EQ(Json::parse(out_)["time_millis"], now);
  EXPECT_EQ(Run({"logs", "--since", "5"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("--since=5m"));
}

TEST_F(VerbTest, EventsAreTheJobsRecord) {
  const std::vector<core::JobEvent> events = FailedJob().events();
  WriteJob(local_.path(), "job-a", events);
  std::string lines;
  for (const core::JobEvent& event : events) lines += rpc::EventToJsonLine(event) + "\n";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"events"}, {"events", "job-a", "-f"}, {"events", "--json"}}) {
    EXPECT_EQ(Run(arguments), kVerbDone) << err_;
    EXPECT_EQ(out_, lines);
  }
  EXPECT_EQ(Run({"events", "job-b"}), kVerbNotPossible);
}

TEST_F(VerbTest, EventsOfARunningJobAreFollowedToItsEnd) {
  SampleEvents job = RunningJob();
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", job.events());
  const HeldLock lock(folder);
  const size_t begun = job.events().size();
  job.End(core::Outcome::kSucceeded, core::Reason::kTasksSucceeded, "All tasks succeeded");
  // The end is recorded while the verb already follows: by its own output.
  const Writer bytes = context_.bytes;
  context_.bytes = [&, lines = size_t{0}](const std::string& line) mutable {
    bytes(line);
    if (++lines == begun) AppendEvents(folder, {job.events().back()});
  };
  EXPECT_EQ(Run({"events", "--follow"}), kVerbDone) << err_;
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), job.events().size());
}

TEST_F(VerbTest, TheFirstErrorOfATaskIsPrintedWithItsPlace) {
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", FailedJob().events());
  const std::string log = folder.task_logs({"worker", 0}) + "/attempt-1/stderr.log";
  logs::AppendTimed(log, "before\n", 1'700'000'000'000);
  EXPECT_EQ(Run({"logs", "worker:0", "--first-error"}), kVerbNotPossible);
  EXPECT_THAT(err_, HasSubstr("no error in these logs of job job-a"));
  logs::AppendTimed(log, "Traceback (most recent call last):\n  f\nValueError: x\nafter\n",
                    1'700'000'001'000);
  EXPECT_EQ(Run({"logs", "worker:0", "--first-error"}), kVerbDone);
  EXPECT_THAT(out_, AllOf(StartsWith("worker:0, attempt 1, stderr, line 2, at 2023-11-1"),
                          HasSubstr("  | before\n  > Traceback (most recent call last):\n  >   f\n"
                                    "  > ValueError: x\n"),
                          Not(HasSubstr("after"))));
  const Json json = RunJson({"logs", "worker:0", "--first-error"});
  EXPECT_EQ(json["task"], "worker:0");
  EXPECT_EQ(json["time_millis"], 1'700'000'001'000);
  EXPECT_EQ(json["before"], Json({"before"}));
  EXPECT_EQ(json["lines"].size(), 3u);
  for (const char* option : {"--level=info", "--tail=1", "--since=5m", "--timestamps", "-f"}) {
    EXPECT_EQ(Run({"logs", "--first-error", option}), kVerbBadUsage) << option;
    EXPECT_THAT(err_, HasSubstr("has no effect with --first-error")) << option;
  }
}

TEST_F(VerbTest, TheFirstErrorOfAFailedJobBeginsWithTheVerdict) {
  SampleEvents job = RunningJob();
  core::TaskExit crash{core::TaskExit::Cause::kSignaled, 0, 11, "", {}, SampleEvents::kStart};
  const core::TaskId guilty{"worker", 1};
  const std::string sentence = "worker:1 was killed by signal 11 (SIGSEGV)";
  job.Add(core::JobEnded{
      core::Verdict{core::Outcome::kFailed, core::Reason::kTaskFailed, sentence, guilty, crash}});
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", job.events());
  EXPECT_EQ(Run({"logs", "--first-error"}), kVerbDone);
  EXPECT_EQ(out_, sentence + ", and printed nothing\n");
  logs::AppendTimed(folder.task_logs({"worker", 0}) + "/attempt-1/stderr.log",
                    "ConnectionError: peer\n", SampleEvents::kStart);
  EXPECT_EQ(Run({"logs", "--first-error"}), kVerbDone);
  EXPECT_THAT(out_,
              AllOf(StartsWith(sentence + ", and printed nothing\n"
                                          "What others printed after that:\n"
                                          "worker:0, attempt 1, stderr, line 1, at 2023-11-1"),
                    HasSubstr("  > ConnectionError: peer\n")));
  const Json json = RunJson({"logs", "--first-error"});
  EXPECT_EQ(json["sentence"], sentence);
  EXPECT_EQ(json["guilty"], "worker:1");
  EXPECT_FALSE(json.contains("lines"));
  EXPECT_EQ(json["after"]["task"], "worker:0");
}

TEST_F(VerbTest, AMentionOfAnErrorComesWithTheLastLines) {
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", FailedJob().events());
  EXPECT_EQ(Run({"logs", "--first-error"}), kVerbDone);
  EXPECT_THAT(out_, StartsWith("worker:1 exited with code 3., and printed no error; its last lines:"
                               "\n  | Traceback (most recent call last):\n"));
  logs::AppendTimed(folder.task_logs({"worker", 1}) + "/attempt-1/stderr.log", "train error: 0.3\n",
                    SampleEvents::kStart);
  EXPECT_EQ(Run({"logs", "--first-error"}), kVerbDone);
  EXPECT_THAT(out_, AllOf(HasSubstr("  > train error: 0.3\nLast lines of worker:1:\n"
                                    "  | Traceback (most recent call last):\n")));
}

TEST_F(VerbTest, HelpAndBadUsage) {
  EXPECT_EQ(Run({"--help"}), kVerbDone);
  for (const char* verb : {"list", "status", "logs", "kill", "validate"}) {
    EXPECT_THAT(out_, HasSubstr(verb));
  }
  EXPECT_EQ(Run({"help", "logs"}), kVerbDone);
  EXPECT_THAT(out_,
              AllOf(HasSubstr("-f, --follow"), HasSubstr("--tail N"), HasSubstr("Exit status")));
  EXPECT_EQ(Run({"status", "--help"}), kVerbDone);
  context_.version = "tony 1.2.3 (commit abc1234, 2026-11-27)";
  EXPECT_EQ(Run({"--version"}), kVerbDone);
  EXPECT_EQ(out_, context_.version + "\n");
  EXPECT_EQ(Run({}), kVerbBadUsage);
  EXPECT_EQ(Run({"statsu"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("did you mean 'status'"));
  EXPECT_EQ(Run({"status", "a", "b"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("unexpected argument 'b'"));
  EXPECT_EQ(Run({"list", "--jsn"}), kVerbBadUsage);
  EXPECT_EQ(Run({"logs", "--tail", "x"}), kVerbBadUsage);
  EXPECT_EQ(Run({"logs", "am", "--level=loud"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("--level 'loud' is no log level; there are debug, info, warning, "
                              "error"));
  EXPECT_EQ(Run({"kill"}), kVerbBadUsage);
  EXPECT_EQ(Run({"kill", "x", "--wait=-1"}), kVerbBadUsage);
  EXPECT_EQ(Run({"list", "--conf", "novalue"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("novalue=VALUE"));
}

TEST_F(VerbTest, AnOptionWithoutAVerbGetsAdvice) {
  for (const auto& [typed, error] : std::vector<std::pair<std::string, std::string>>{
           {"--verison", "unknown option '--verison'; did you mean '--version'?"},
           {"--json",
            "'--json' comes behind a verb: tony VERB --json; tony --help lists the verbs"},
           {"-follow",
            "'-follow' comes behind a verb: tony VERB -follow; tony --help lists the verbs"},
           {"--bananas", "unknown option '--bananas'; --help lists all options"},
           {"-", "unknown verb '-'; tony --help lists all verbs"}}) {
    EXPECT_EQ(Run({typed}), kVerbBadUsage);
    EXPECT_EQ(err_, "tony: " + error + "\n");
  }
  EXPECT_EQ(Run({"list", "x"}), kVerbBadUsage);
  EXPECT_EQ(err_, "tony: unexpected argument 'x'; tony list takes none\n");
}

TEST_F(VerbTest, ASiteFileThatCannotBeReadIsNamed) {
  const std::string site = local_.path() + "/tony-site.xml";
  std::ofstream(site) << "<configuration><property>";
  context_.site_file = site;
  for (const char* verb : {"list", "status"}) {
    EXPECT_NE(Run({verb}), kVerbDone) << verb;
    EXPECT_THAT(err_, HasSubstr(site));
  }
}

TEST_F(VerbTest, WrongJobNamesTheKnownOnes) {
  EXPECT_EQ(Run({"status"}), kVerbNotPossible);
  EXPECT_THAT(err_, HasSubstr("there are no jobs"));
  WriteJob(local_.path(), "job-a", FailedJob().events());
  for (const char* verb : {"status", "logs", "kill"}) {
    EXPECT_EQ(Run({verb, "nope"}), kVerbNotPossible);
    EXPECT_THAT(err_, HasSubstr("no job 'nope'; known jobs: job-a"));
  }
}

TEST_F(VerbTest, ListShowsRunningEndedAndLostJobs) {
  EXPECT_EQ(Run({"list"}), kVerbDone);
  EXPECT_EQ(out_, "There are no jobs.\n");
  const HeldLock lock(WriteJob(local_.path(), "job-a", RunningJob().events()));
  WriteJob(local_.path(), "job-b", FailedJob().events());
  WriteJob(local_.path(), "job-c", RunningJob().events());
  EXPECT_EQ(Run({"list"}), kVerbDone);
  EXPECT_THAT(out_, ::testing::ContainsRegex("job-a +RUNNING +digits"));
  EXPECT_THAT(out_, ::testing::ContainsRegex("job-b +FAILED +digits .* 1m 06s"));
  EXPECT_THAT(out_, ::testing::ContainsRegex("job-c +LOST +digits .* 3.1s"));
  const Json json = RunJson({"list"});
  ASSERT_EQ(json.size(), 3u);
  for (const Json& job : json) {
    EXPECT_EQ(job["alive"], job["id"] == "job-a");
    EXPECT_EQ(job["verdict"].is_null(), job["id"] != "job-b");
  }
}

TEST_F(VerbTest, StatusShowsTasksAndVerdict) {
  WriteJob(local_.path(), "job-a", FailedJob().events());
  EXPECT_EQ(Run({"status"}), kVerbDone);
  EXPECT_THAT(out_, AllOf(HasSubstr("worker:1  FAILED"),
                          HasSubstr("FAILED (TASK_FAILED): worker:1 exited with code 3."),
                          Not(HasSubstr("Visualization")), HasSubstr("\nContainment: cgroup\n"),
                          Not(HasSubstr("\x1b"))));
  const Json json = RunJson({"status", "job"});
  EXPECT_EQ(json["state"], "FAILED");
  EXPECT_EQ(json["verdict"]["guilty"], "worker:1");
  EXPECT_EQ(json["verdict"]["exit"]["code"], 3);
  EXPECT_EQ(json["verdict"]["exit_code"], 1);
  EXPECT_EQ(json["tasks"].size(), 4u);
  EXPECT_EQ(json["tasks"][3]["state"], "FAILED");
  EXPECT_EQ(json["tasks"][3]["containment"], "cgroup");
  EXPECT_TRUE(json["visualization"].is_null()) << "the job has ended";
}

TEST_F(VerbTest, StatusOfLostAndOfUnbornJobs) {
  WriteJob(local_.path(), "job-a", RunningJob().events());
  EXPECT_EQ(Run({"status", "job-a"}), kVerbDone);
  EXPECT_THAT(out_, AllOf(HasSubstr("(job-20240101-0001)  LOST  3.1s"),
                          HasSubstr("LOST: its ApplicationMaster went away without a verdict")));
  const storage::JobFolder staged = WriteJob(local_.path(), "job-b", {});
  {
    const HeldGuard client(staged);
    EXPECT_EQ(Run({"status", "job-b"}), kVerbDone);
    EXPECT_THAT(out_, AllOf(StartsWith("job-b  NEW\nWaiting for "),
                            HasSubstr("its files are staged, and its ApplicationMaster starts")));
  }
  EXPECT_EQ(Run({"status", "job-b"}), kVerbDone);
  EXPECT_EQ(out_,
            "job-b  LOST\nLOST: the client that submitted it was gone before its ApplicationMaster "
            "had started\n");
}

TEST_F(VerbTest, LogsPrefixLinesAndProtectTerminals) {
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", FailedJob().events());
  logs::AppendLog(folder.task_logs({"worker", 0}) + "/attempt-1/stdout.log", "\x1b[31mred\xff\n");
  logs::AppendLog(folder.task_logs({"worker", 1}) + "/attempt-1/stderr.log", "two\n");
  EXPECT_EQ(Run({"logs"}), kVerbDone);
  EXPECT_EQ(out_, "worker:0 | \x1b[31mred\xff\nworker:1 | two\n");
  context_.terminal = true;
  EXPECT_EQ(Run({"logs", "job-a", "worker:0"}), kVerbDone);
  EXPECT_EQ(out_, "red\xEF\xBF\xBD\n");
  EXPECT_EQ(Run({"logs", "worker:1", "-f", "--stderr"}), kVerbDone);
  EXPECT_EQ(out_, "two\n");
  EXPECT_EQ(Run({"logs", "am"}), kVerbDone);
  EXPECT_THAT(err_, HasSubstr("job job-a has no such logs (yet)"));
  EXPECT_EQ(Run({"logs", "worker:7"}), kVerbNotPossible);
  EXPECT_EQ(Run({"logs", "--json", "worker:0"}), kVerbDone);
  const Json line = Json::parse(out_);
  EXPECT_EQ(line["task"], "worker:0");
  EXPECT_EQ(line["attempt"], 1);
  EXPECT_EQ(line["stream"], "stdout");
}

TEST_F(VerbTest, ValidateListsAllProblems) {
  const std::string file = local_.path() + "/job.xml";
  std::ofstream(file)
      << "<configuration>\n<property><name>tony.worker.instnces</name><value>2</value></property>\n"
         "<property><name>tony.worker.gpus</name><value>-1</value></property>\n</configuration>\n";
  EXPECT_EQ(Run({"validate", "job.xml"}), kVerbBadUsage);
  EXPECT_THAT(err_, AllOf(HasSubstr("job.xml:2: tony.worker.instnces"),
                          HasSubstr("job.xml:3: tony.worker.gpus")));
  EXPECT_EQ(Run({"validate", "job.xml", "--json"}), kVerbBadUsage);
  Json json = Json::parse(out_);
  EXPECT_EQ(json["valid"], false);
  EXPECT_GE(json["problems"].size(), 2u);
  EXPECT_EQ(json["problems"][0]["line"], 2);
  std::ofstream(file)
      << "<configuration><property><name>tony.worker.instances</name><value>2</value></property>"
         "</configuration>";
  EXPECT_EQ(Run({"validate", "job.xml", "--conf", "tony.containers.command=true"}), kVerbDone)
      << err_;
  EXPECT_THAT(out_, HasSubstr("job.xml is valid"));
  EXPECT_THAT(out_, Not(HasSubstr("Order")));
  EXPECT_EQ(Run({"validate", "missing.xml"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("missing.xml"));
  EXPECT_EQ(Run({"validate", "job.xml", "missing.xml", "--conf", "tony.containers.command=true"}),
            kVerbBadUsage);
  EXPECT_THAT(out_, HasSubstr("job.xml is valid"));
  EXPECT_THAT(err_, HasSubstr("missing.xml"));
  json = RunJson({"validate", "job.xml", "job.xml", "--conf", "tony.containers.command=true"});
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["file"], "job.xml");
}

TEST_F(VerbTest, ValidateShowsTheOrder) {
  std::ofstream(local_.path() + "/job.xml")
      << "<configuration><property><name>tony.worker.instances</name><value>2</value></property>"
         "<property><name>tony.prep.instances</name><value>1</value></property>"
         "<property><name>tony.containers.command</name><value>true</value></property>"
         "<property><name>tony.application.prepare-stage</name><value>prep</value></property>"
         "</configuration>";
  EXPECT_EQ(Run({"validate", "job.xml"}), kVerbDone) << err_;
  EXPECT_THAT(out_, HasSubstr("Order:\n  1. prep\n  2. worker after prep\n"));
  EXPECT_EQ(Run({"validate", "job.xml", "--json"}), kVerbDone);
  const Json json = Json::parse(out_);
  EXPECT_EQ(json["stages"][1]["types"], Json::array({"worker"}));
  EXPECT_EQ(json["stages"][1]["depends_on"], Json::array({"prep"}));
}

TEST_F(VerbTest, KillAsksTheJobAndPrintsItsVerdict) {
  std::string reason;
  ServedJob* served = nullptr;
  ServedJob job(local_.path(), "job-a", [&](const std::string& text) {
    reason = text;
    served->End();
  });
  served = &job;
  EXPECT_EQ(Run({"kill", "latest"}), kVerbDone) << err_;
  EXPECT_EQ(reason, "tony kill by ann");
  EXPECT_THAT(out_, HasSubstr("KILLED (KILLED_BY_USER): Ended by tony kill."));
  const Json again = RunJson({"kill", "job-a"});
  EXPECT_EQ(again["state"], "KILLED");
  EXPECT_THAT(err_, HasSubstr("has already ended"));
}

TEST_F(VerbTest, KillGivesUpOnAJobThatGoesOn) {
  ServedJob job(local_.path(), "job-a", [](const std::string&) {});
  EXPECT_EQ(Run({"kill", "job-a", "--wait=0"}), kVerbFailed);
  EXPECT_THAT(err_, HasSubstr("was asked to end, but has not within 0 s"));
}

TEST_F(VerbTest, KillNoticesAnApplicationMasterThatDies) {
  ServedJob* served = nullptr;
  ServedJob job(local_.path(), "job-a", [&](const std::string&) { served->Die(); });
  served = &job;
  EXPECT_EQ(Run({"kill", "job-a"}), kVerbFailed);
  EXPECT_THAT(err_, HasSubstr("went away without a verdict"));
}

TEST_F(VerbTest, KillOfJobsThatCannotBeAsked) {
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", RunningJob().events());
  EXPECT_EQ(Run({"kill", "job-a"}), kVerbNotPossible);
  EXPECT_THAT(err_, HasSubstr("job job-a does not run: its ApplicationMaster went away"));
  const HeldLock lock(folder);
  EXPECT_EQ(Run({"kill", "job-a"}), kVerbFailed);
  EXPECT_THAT(err_, HasSubstr("has not published its address"));
}

}  // namespace
}  // namespace tony::client
