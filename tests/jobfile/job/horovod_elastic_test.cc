// Elastic Horovod jobs: what is built of their keys, and job files that cannot work.
#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;

/// A Horovod job that is good but for `more`, whose first property stands in line 5 of job.xml.
class HorovodElasticTest : public SpecTest {
 protected:
  LoadedJob LoadWith(const Properties& more) {
    Properties properties = {{"tony.application.framework", "horovod"},
                             {"tony.worker.instances", "2"},
                             {"tony.containers.command", "python3 train.py"}};
    properties.insert(properties.end(), more.begin(), more.end());
    return Load(properties);
  }
  core::JobDescription Build(const Properties& more) {
    LoadedJob loaded = LoadWith(more);
    EXPECT_THAT(RenderProblems(loaded.result.problems), IsEmpty());
    EXPECT_THAT(RenderProblems(loaded.result.notes), IsEmpty());
    return std::move(loaded.result.job);
  }
  std::string ProblemsWith(const Properties& more) {
    return RenderProblems(LoadWith(more).result.problems);
  }
  std::string NotesWith(const Properties& more) {
    return RenderProblems(LoadWith(more).result.notes);
  }
  std::string GlooTimeout(const Properties& more) {
    return Build(more).horovod.variables.at("HOROVOD_GLOO_TIMEOUT_SECONDS");
  }
};

TEST_F(HorovodElasticTest, TheLeastNumberMakesAJobElastic) {
  EXPECT_FALSE(Build({}).horovod.elastic.has_value());
  EXPECT_FALSE(Build({{"tony.worker.min-instances", "-1"}}).horovod.elastic.has_value());
  const core::JobDescription job = Build({{"tony.worker.min-instances", "1"}});
  EXPECT_EQ(job.horovod.elastic, (core::ElasticSettings{.least = 1,
                                                        .first = 2,
                                                        .resets = 0,
                                                        .patience = milliseconds(600'000),
                                                        .cooldown = milliseconds(1000),
                                                        .cooldown_max = milliseconds(60'000)}));
  EXPECT_EQ(job.FindType("worker")->instances, 2);
  EXPECT_EQ(job.FindType("driver")->instances, 1);
  // The driver's own sentence comes first.
  EXPECT_EQ(job.horovod.variables.at("HOROVOD_ELASTIC_TIMEOUT"), "630");
}

TEST_F(HorovodElasticTest, ThereAreAsManyTasksAsItMayHave) {
  const Properties most = {{"tony.worker.min-instances", "2"}, {"tony.worker.max-instances", "5"}};
  const core::JobDescription job = Build(most);
  EXPECT_EQ(job.FindType("worker")->instances, 5);
  EXPECT_EQ(job.horovod.elastic->least, 2);
  EXPECT_EQ(job.horovod.elastic->first, 2);
  EXPECT_EQ(Build({{"tony.worker.max-instances", "5"}}).FindType("worker")->instances, 2)
      << "of a job that is not elastic it is only a limit";
}

TEST_F(HorovodElasticTest, ItGrowsWithinTheLimitsOfAllTasks) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.min-instances", "1"}, {"tony.worker.max-instances", "1"}}),
            "job.xml:3: tony.worker.instances: 2 instances requested, which exceeds "
            "tony.worker.max-instances = 1; ask for 1 or fewer\n");
  const auto with_total = [this](const std::string& total) {
    return ProblemsWith({{"tony.worker.min-instances", "1"},
                         {"tony.worker.max-instances", "4"},
                         {"tony.task.max-total-instances", total}});
  };
  EXPECT_THAT(with_total("5"), IsEmpty()) << "4 workers and the driver";
  EXPECT_THAT(with_total("4"), HasSubstr("5"));
}

TEST_F(HorovodElasticTest, TimesAndLimitsArrive) {
  const core::JobDescription job = Build({{"tony.worker.min-instances", "2"},
                                          {"tony.horovod.elastic-timeout-sec", "7"},
                                          {"tony.horovod.reset-limit", "3"},
                                          {"tony.horovod.host-cooldown-ms", "0"},
                                          {"tony.horovod.host-cooldown-max-ms", "500"}});
  EXPECT_EQ(job.horovod.elastic, (core::ElasticSettings{.least = 2,
                                                        .first = 2,
                                                        .resets = 3,
                                                        .patience = milliseconds(7000),
                                                        .cooldown = milliseconds(0),
                                                        .cooldown_max = milliseconds(500)}));
}

TEST_F(HorovodElasticTest, WhoWaitsForALostProcessNoticesSoon) {
  EXPECT_EQ(GlooTimeout({}), "2000");
  EXPECT_EQ(GlooTimeout({{"tony.worker.min-instances", "1"}}), "60")
      << "less than tony.horovod.rendezvous-timeout-ms, which has no use here";
  for (const std::string seconds : {"5", "2000"}) {
    EXPECT_EQ(GlooTimeout(
                  {{"tony.worker.min-instances", "1"}, {"tony.horovod.gloo-timeout-sec", seconds}}),
              seconds);
  }
}

TEST_F(HorovodElasticTest, TheWrittenConfigurationBuildsTheSameJob) {
  const LoadedJob first = LoadWith({{"tony.worker.min-instances", "1"},
                                    {"tony.worker.max-instances", "3"},
                                    {"tony.horovod.reset-limit", "9"}});
  ASSERT_TRUE(first.result.job.horovod.elastic.has_value());
  const LoadedJob again = LoadWritten(first.configuration);
  EXPECT_THAT(RenderProblems(again.result.problems), IsEmpty());
  EXPECT_EQ(again.result.job, first.result.job);
}

TEST_F(HorovodElasticTest, TheLeastNumberIsOneWithWhichItMayBegin) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.min-instances", "3"}, {"tony.worker.max-instances", "4"}}),
            "job.xml:5: tony.worker.min-instances: 3 is more than the 2 with which the job begins; "
            "set it to 2 or less\n");
  EXPECT_EQ(ProblemsWith({{"tony.worker.min-instances", "0"}}),
            "job.xml:5: tony.worker.min-instances: a job without processes does nothing; set it to "
            "1 or more\n");
  EXPECT_THAT(ProblemsWith({{"tony.worker.min-instances", "one"}}),
              HasSubstr("job.xml:5: tony.worker.min-instances: 'one' is not a whole number"));
}

TEST_F(HorovodElasticTest, OnlyWorkersComeAndGo) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.min-instances", "1"}, {"tony.chief.instances", "1"}}),
            "job.xml:5: tony.worker.min-instances: an elastic job has no chief, whose loss it "
            "could not survive; make the chief one of the workers\n");
  EXPECT_EQ(
      ProblemsWith({{"tony.evaluator.min-instances", "1"}, {"tony.evaluator.instances", "1"}}),
      "job.xml:5: tony.evaluator.min-instances: only worker can shrink and grow, not "
      "evaluator; remove it\n");
}

TEST_F(HorovodElasticTest, OnlyTonysDriverRunsRounds) {
  EXPECT_EQ(ProblemsWith({{"tony.worker.min-instances", "1"},
                          {"tony.horovod.driver.mode.debug", "true"},
                          {"tony.driver.instances", "1"},
                          {"tony.driver.command", "python3 driver.py"}}),
            "job.xml:5: tony.worker.min-instances: only tony's own driver runs elastic jobs; "
            "remove tony.horovod.driver.mode.debug\n");
}

TEST_F(HorovodElasticTest, OnlyHorovodJobsAreElastic) {
  const Properties job = {{"tony.worker.instances", "2"}, {"tony.worker.command", "true"}};
  const auto with = [&job](const std::string& least) {
    Properties properties = job;
    properties.emplace_back("tony.worker.min-instances", least);
    return properties;
  };
  EXPECT_EQ(ProblemsOf(with("1")),
            "job.xml:4: tony.worker.min-instances: only Horovod jobs can shrink and grow; remove "
            "it, or set tony.application.framework=horovod\n");
  EXPECT_THAT(ProblemsOf(with("-1")), IsEmpty());
  folder_.Write("site.xml", Xml({{"tony.worker.min-instances", "1"}}));
  sources_.site_file = "site.xml";
  EXPECT_THAT(ProblemsOf(job), IsEmpty()) << "a site's settings are for all jobs";
}

TEST_F(HorovodElasticTest, SaysWhatHasNoEffect) {
  folder_.Write("site.xml", Xml({{"tony.horovod.host-cooldown-ms", "5"}}));
  sources_.site_file = "site.xml";
  EXPECT_EQ(NotesWith({{"tony.horovod.elastic-timeout-sec", "5"},
                       {"tony.horovod.reset-limit", "5"},
                       {"tony.horovod.host-cooldown-max-ms", "5"}}),
            "job.xml:5: tony.horovod.elastic-timeout-sec: has no effect without "
            "tony.worker.min-instances\n"
            "job.xml:6: tony.horovod.reset-limit: has no effect without "
            "tony.worker.min-instances\n"
            "job.xml:7: tony.horovod.host-cooldown-max-ms: has no effect without "
            "tony.worker.min-instances\n");
}

}  // namespace
}  // namespace tony::jobfile
