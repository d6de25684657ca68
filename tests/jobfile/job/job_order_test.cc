// Order of task types: what the keys make of the job, and what is wrong with them.
#include "jobfile/job/job_order.h"

#include <map>

#include "jobfile/job/job_types.h"
#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The types prep, eval and worker, ps (untracked), and tensorboard (a sidecar) of a job file, in
/// lines 2 to 6, and `idle` without instances in line 7. What follows begins in line 9.
class JobOrderTest : public SpecTest {
 protected:
  BuildResult Order(const Properties& more) {
    Properties properties = {{"tony.prep.instances", "2"},        {"tony.eval.instances", "1"},
                             {"tony.worker.instances", "4"},      {"tony.ps.instances", "1"},
                             {"tony.tensorboard.instances", "1"}, {"tony.idle.instances", "0"},
                             {"tony.containers.command", "true"}};
    properties.insert(properties.end(), more.begin(), more.end());
    folder_.Write("job.xml", Xml(properties));
    sources_.job_file = "job.xml";
    const LoadResult loaded = LoadConfiguration(sources_);
    EXPECT_THAT(RenderProblems(loaded.problems), IsEmpty());
    BuildResult result;
    BuildTaskTypes(loaded.configuration, &result);
    EXPECT_THAT(RenderProblems(result.problems), IsEmpty());
    BuildTaskOrder(loaded.configuration, &result);
    return result;
  }

  /// "worker: prep ps" for each type that depends on any, or the problems.
  std::string Dependencies(const Properties& more) {
    const BuildResult result = Order(more);
    if (!result.ok()) return RenderProblems(result.problems);
    std::string text;
    for (const core::TaskType& type : result.job.types) {
      if (type.depends_on.empty()) continue;
      text += type.name + ":";
      for (const std::string& name : type.depends_on) text += " " + name;
      text += "\n";
    }
    return text;
  }

  std::string Problems(const Properties& more) { return RenderProblems(Order(more).problems); }
};

TEST_F(JobOrderTest, WithoutTheKeysThereIsNoOrder) {
  const BuildResult result = Order({});
  EXPECT_THAT(RenderProblems(result.problems), IsEmpty());
  EXPECT_THAT(RenderProblems(result.notes), IsEmpty());
  EXPECT_EQ(result.job.types.size(), 5u);
  for (const core::TaskType& type : result.job.types) EXPECT_THAT(type.depends_on, IsEmpty());
  EXPECT_THAT(result.job.dependency_timeouts, IsEmpty());
}

TEST_F(JobOrderTest, TypesDependOnTypes) {
  EXPECT_EQ(Dependencies({{"tony.worker.depends-on", "prep, ps,prep"},
                          {"tony.eval.depends-on", "worker,tensorboard"}}),
            "eval: worker tensorboard\nworker: prep ps\n");
}

TEST_F(JobOrderTest, TheTwoStagesOfTonY) {
  struct Row {
    const char* what;
    Properties keys;
    const char* dependencies;
  };
  const std::vector<Row> rows = {
      {"both, with what is not waited for among them",
       {{"tony.application.prepare-stage", "prep,ps"},
        {"tony.application.training-stage", "worker,eval,tensorboard"}},
       "eval: prep\nworker: prep\ntensorboard: prep\n"},
      {"a sidecar may be left out",
       {{"tony.application.prepare-stage", "prep,ps"},
        {"tony.application.training-stage", "worker,eval"}},
       "eval: prep\nworker: prep\n"},
      {"the prepare stage alone",
       {{"tony.application.prepare-stage", "prep"}},
       "eval: prep\nworker: prep\nps: prep\n"},
      {"the training stage alone",
       {{"tony.application.training-stage", "eval"}},
       "eval: prep worker\n"},
      {"nothing tracked to wait for", {{"tony.application.prepare-stage", "ps"}}, ""},
      {"set to nothing",
       {{"tony.application.prepare-stage", ""}, {"tony.application.training-stage", ""}},
       ""},
      {"beside depends-on",
       {{"tony.application.prepare-stage", "prep"}, {"tony.eval.depends-on", "worker,prep"}},
       "eval: worker prep\nworker: prep\nps: prep\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(Dependencies(row.keys), row.dependencies) << row.what;
}

TEST_F(JobOrderTest, StagesHaveToNameEveryTypeOnce) {
  EXPECT_EQ(Problems({{"tony.application.prepare-stage", "prep"},
                      {"tony.application.training-stage", "worker"}}),
            "job.xml:10: tony.application.training-stage: no stage has eval, ps; together the two "
            "have to name every task type; add what is missing here or to "
            "tony.application.prepare-stage, or remove one of the two keys\n");
  EXPECT_EQ(Problems({{"tony.application.prepare-stage", "prep,ps"},
                      {"tony.application.training-stage", "prep,worker,eval"}}),
            "job.xml:10: tony.application.training-stage: 'prep' is in both stages; name it in one "
            "of the two\n");
  EXPECT_EQ(Problems({{"tony.application.prepare-stage", "perp"},
                      {"tony.application.training-stage", "worker,eval,ps"}}),
            "job.xml:9: tony.application.prepare-stage: there is no task type 'perp'; did you mean "
            "prep?\n")
      << "and nothing about prep, which is not named then";
}

TEST_F(JobOrderTest, UnknownTypesAreNamed) {
  EXPECT_EQ(Problems({{"tony.worker.depends-on", "prep,wroker"}}),
            "job.xml:9: tony.worker.depends-on: there is no task type 'wroker'; did you mean "
            "worker?\n");
  EXPECT_EQ(Problems({{"tony.application.group.A", "worker,director"}}),
            "job.xml:9: tony.application.group.A: there is no task type 'director'; set "
            "tony.director.instances or take it out\n");
}

TEST_F(JobOrderTest, CyclesArePrinted) {
  EXPECT_EQ(Problems({{"tony.worker.depends-on", "worker"}}),
            "job.xml:9: tony.worker.depends-on: the task types wait for each other: worker depends "
            "on worker; take one of these dependencies out\n");
  EXPECT_EQ(Problems({{"tony.worker.depends-on", "prep"},
                      {"tony.prep.depends-on", "eval"},
                      {"tony.eval.depends-on", "worker"}}),
            "job.xml:10: tony.prep.depends-on: the task types wait for each other: prep depends on "
            "eval depends on worker depends on prep; take one of these dependencies out\n");
  EXPECT_EQ(
      Problems({{"tony.application.prepare-stage", "prep,ps"}, {"tony.prep.depends-on", "worker"}}),
      "job.xml:10: tony.prep.depends-on: the task types wait for each other: prep depends on "
      "worker depends on prep; take one of these dependencies out\n")
      << "worker depends on prep because of its stage";
}

TEST_F(JobOrderTest, TypesWithoutTasksAreLeftOutWithANote) {
  const BuildResult result = Order({{"tony.worker.depends-on", "idle,prep"},
                                    {"tony.application.group.A", "idle"},
                                    {"tony.application.dependency.worker.timeout.after.A", "5"},
                                    {"tony.application.group.B", "worker"},
                                    {"tony.application.dependency.idle.timeout.after.B", "5"}});
  EXPECT_THAT(RenderProblems(result.problems), IsEmpty());
  EXPECT_EQ(
      RenderProblems(result.notes),
      "job.xml:9: tony.worker.depends-on: there are no tasks of idle, so nothing is waited "
      "for\n"
      "job.xml:10: tony.application.group.A: there are no tasks of idle, so nothing is waited "
      "for\n"
      "job.xml:13: tony.application.dependency.idle.timeout.after.B: there are no tasks of "
      "idle, so nothing is waited for\n");
  EXPECT_THAT(result.job.FindType("worker")->depends_on, ElementsAre("prep"));
  EXPECT_THAT(result.job.dependency_timeouts, IsEmpty());
}

TEST_F(JobOrderTest, LimitsAfterGroups) {
  const BuildResult result =
      Order({{"tony.application.dependency.eval.timeout.after.Work", "30"},
             {"tony.application.group.Work", "worker, prep"},
             {"tony.application.group.Prep", "prep"},
             {"tony.application.group.Unused", "ps"},
             {"tony.application.dependency.eval.timeout.after.Prep", "0"},
             {"tony.application.dependency.eval.timeout.after.Prep.ignored", "true"},
             {"tony.application.dependency.ps.timeout.after.Work", "7"},
             {"tony.application.dependency.ps.timeout.after.Work.ignored", "FALSE"}});
  EXPECT_THAT(RenderProblems(result.problems), IsEmpty());
  EXPECT_THAT(
      result.job.dependency_timeouts,
      ElementsAre(core::DependencyTimeout{"eval", "Work", {"worker", "prep"}, seconds(30), false},
                  core::DependencyTimeout{"eval", "Prep", {"prep"}, seconds(0), true},
                  core::DependencyTimeout{"ps", "Work", {"worker", "prep"}, seconds(7), false}));
}

TEST_F(JobOrderTest, LimitsThatMakeNoSense) {
  const std::pair<std::string, std::string> group = {"tony.application.group.Work", "worker"};
  EXPECT_EQ(Problems({group, {"tony.application.dependency.eval.timeout.after.Wrok", "30"}}),
            "job.xml:10: tony.application.dependency.eval.timeout.after.Wrok: there is no "
            "tony.application.group.Wrok; did you mean the group Work?\n");
  EXPECT_EQ(Problems({{"tony.application.dependency.eval.timeout.after.Work", "30"}}),
            "job.xml:9: tony.application.dependency.eval.timeout.after.Work: there is no "
            "tony.application.group.Work; set it to the task types of the group\n");
  EXPECT_EQ(Problems({group, {"tony.application.dependency.evil.timeout.after.Work", "30"}}),
            "job.xml:10: tony.application.dependency.evil.timeout.after.Work: there is no task "
            "type 'evil'; did you mean eval?\n");
  EXPECT_EQ(Problems({group, {"tony.application.dependency.worker.timeout.after.Work", "30"}}),
            "job.xml:10: tony.application.dependency.worker.timeout.after.Work: worker is in the "
            "group Work itself, so it has ended when the group has; take it out of the group, or "
            "remove this key\n");
  EXPECT_EQ(
      Problems({group, {"tony.application.dependency.eval.timeout.after.Work.ignored", "true"}}),
      "job.xml:10: tony.application.dependency.eval.timeout.after.Work.ignored: there is no "
      "tony.application.dependency.eval.timeout.after.Work, so there is no limit to ignore; set "
      "that key, or remove this one\n");
}

}  // namespace
}  // namespace tony::jobfile
