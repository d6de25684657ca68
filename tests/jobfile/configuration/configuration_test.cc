// Merging of layers, origins, typed access, and the way through XML and back.
#include "jobfile/configuration/configuration.h"

#include "jobfile/configuration/xml_writer.h"
#include "tests/jobfile/spec_test_util.h"

namespace tony::jobfile {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class ConfigurationTest : public SpecTest {
 protected:
  Configuration LoadLayers(const Properties& site, const Properties& job,
                           const std::vector<Override>& overrides) {
    folder_.Write("site/tony-site.xml", Xml(site));
    folder_.Write("jobs/job.xml", Xml(job));
    sources_.site_file = "site/tony-site.xml";
    sources_.job_file = "jobs/job.xml";
    sources_.overrides = overrides;
    LoadResult result = LoadConfiguration(sources_);
    problems_ = RenderProblems(result.problems);
    return std::move(result.configuration);
  }

  std::string problems_;
};

TEST_F(ConfigurationTest, LaterLayersWinAndKeepTheirOrigin) {
  const Configuration configuration = LoadLayers(
      {{"tony.worker.memory", "1g"}, {"tony.worker.vcores", "1"}, {"tony.worker.gpus", "1"}},
      {{"tony.worker.vcores", "2"}, {"tony.worker.gpus", "2"}},
      {{"tony.worker.gpus", "3"}, {"tony.worker.gpus", "4"}});
  EXPECT_THAT(problems_, IsEmpty());
  EXPECT_EQ(configuration.GetMemoryMb("tony.worker.memory"), 1024);
  EXPECT_EQ(configuration.Find("tony.worker.memory")->OriginText(), "site/tony-site.xml:2");
  EXPECT_EQ(configuration.GetNumber("tony.worker.vcores"), 2);
  EXPECT_EQ(configuration.Find("tony.worker.vcores")->OriginText(), "jobs/job.xml:2");
  EXPECT_EQ(configuration.GetNumber("tony.worker.gpus"), 4);
  EXPECT_EQ(configuration.Find("tony.worker.gpus")->OriginText(), "--conf");
  EXPECT_EQ(configuration.GetNumber("tony.worker.instances"), 0) << "the built-in default";
}

TEST_F(ConfigurationTest, TheCommandLineAddsToMultiValueKeys) {
  const Configuration configuration =
      LoadLayers({{"tony.execution.envs", "SITE=1"}, {"tony.containers.envs", "S=1"}},
                 {{"tony.execution.envs", "A=1,B=1"}, {"tony.containers.resources", "a.txt"}},
                 {{"tony.execution.envs", "B=2", "--shell_env"},
                  {"tony.execution.envs", R"(C=x\,y)", "--shell_env"},
                  {"tony.containers.envs", "D=1"},
                  {"tony.containers.resources", "b.txt"}});
  EXPECT_THAT(configuration.GetKeyValues("tony.execution.envs"),
              ElementsAre(Pair("A", "1"), Pair("B", "2"), Pair("C", "x,y")))
      << "the job file replaces the site file, the command line adds";
  EXPECT_THAT(configuration.GetKeyValues("tony.containers.envs"),
              ElementsAre(Pair("D", "1"), Pair("S", "1")));
  EXPECT_EQ(configuration.Find("tony.execution.envs")->OriginText(),
            "jobs/job.xml:2, --shell_env, --shell_env");
  EXPECT_THAT(configuration.GetList("tony.containers.resources"),
              ElementsAre(folder_.path() + "/jobs/a.txt::a.txt", folder_.path() + "/b.txt::b.txt"))
      << "each path belongs to the folder of the file that names it";
}

TEST_F(ConfigurationTest, OtherListsAreReplaced) {
  const Configuration configuration =
      LoadLayers({}, {{"tony.application.untracked.jobtypes", "ps"}},
                 {{"tony.application.untracked.jobtypes", "worker"}});
  EXPECT_THAT(configuration.GetList("tony.application.untracked.jobtypes"), ElementsAre("worker"));
}

TEST_F(ConfigurationTest, PathsBelongToTheFileThatNamesThem) {
  const Configuration configuration =
      LoadLayers({{"tony.local.dir", "state"}},
                 {{"tony.application.src-dir", "src"}, {"tony.application.python-venv", "~/venv"}},
                 {{"tony.application.checkpoint-dir", "ckpt"}});
  EXPECT_EQ(configuration.GetText("tony.local.dir"), folder_.path() + "/site/state");
  EXPECT_EQ(configuration.GetText("tony.application.src-dir"), folder_.path() + "/jobs/src");
  EXPECT_EQ(configuration.GetText("tony.application.python-venv"), folder_.path() + "/home/venv");
  EXPECT_EQ(configuration.GetText("tony.application.checkpoint-dir"), folder_.path() + "/ckpt");
}

TEST_F(ConfigurationTest, DefaultPathsBelongToTheHomeFolder) {
  EXPECT_EQ(LoadLayers({}, {}, {}).GetText("tony.local.dir"), folder_.path() + "/home/.tony");
}

TEST_F(ConfigurationTest, FinalPropertiesOfTheSiteMayNotBeChanged) {
  folder_.Write("site.xml",
                "<configuration><property>\n<name>tony.local.gpus</name><value>1</value>"
                "<final>true</final></property></configuration>");
  folder_.Write("job.xml", Xml({{"tony.local.gpus", "8"}}));
  sources_.site_file = "site.xml";
  sources_.job_file = "job.xml";
  const LoadResult result = LoadConfiguration(sources_);
  EXPECT_EQ(
      RenderProblems(result.problems),
      "job.xml:2: tony.local.gpus: may not be changed: site.xml:2 makes it final; remove it\n");
  EXPECT_EQ(result.configuration.GetNumber("tony.local.gpus"), 1);
}

TEST_F(ConfigurationTest, FinalPropertiesOfTheMachineHoldWhateverSiteFileThereIs) {
  folder_.Write("machine.xml",
                "<configuration><property>\n<name>tony.local.user-gpus</name><value>1</value>"
                "<final>true</final></property><property>\n<name>tony.local.gpus</name>"
                "<value>4</value></property></configuration>");
  folder_.Write("site.xml", Xml({{"tony.local.user-gpus", "8"}}));
  sources_.machine_file = "machine.xml";
  sources_.site_file = "site.xml";
  const LoadResult result = LoadConfiguration(sources_);
  EXPECT_EQ(RenderProblems(result.problems),
            "site.xml:2: tony.local.user-gpus: may not be changed: machine.xml:2 makes it final; "
            "remove it\n");
  EXPECT_EQ(result.configuration.GetText("tony.local.user-gpus"), "1");
  EXPECT_FALSE(result.configuration.IsSet("tony.local.gpus")) << "it is not final";
}

TEST_F(ConfigurationTest, OnlyAKeyWhoseDefaultIsEmptyMayLackItsValue) {
  // As in TonY's own tony-default.xml, with which many site files began.
  folder_.Write("site.xml",
                "<configuration><property>\n<name>tony.application.src-dir</name></property>"
                "<property>\n<name>tony.https.keystore.path</name></property>"
                "<property>\n<name>tony.am.memory</name></property></configuration>");
  sources_.site_file = "site.xml";
  EXPECT_EQ(RenderProblems(LoadConfiguration(sources_).problems),
            "site.xml:4: tony.am.memory: has no <value>; add a <value>, or remove the property\n");
}

TEST_F(ConfigurationTest, AMissingSiteFileIsNoProblemAMissingJobFileIs) {
  sources_.site_file = "no-site.xml";
  sources_.job_file = "no-job.xml";
  const LoadResult result = LoadConfiguration(sources_);
  EXPECT_EQ(RenderProblems(result.problems), "no-job.xml: does not exist; correct the path\n");
  EXPECT_FALSE(result.readable);
}

TEST_F(ConfigurationTest, GettersGiveTheDefaultForWhatIsNotAllowed) {
  const Configuration configuration = LoadLayers({},
                                                 {{"tony.worker.memory", "much"},
                                                  {"tony.worker.vcores", "99999999999999"},
                                                  {"tony.task.kill-grace-ms", "5s"},
                                                  {"tony.application.untracked.jobtypes", ""}},
                                                 {});
  EXPECT_EQ(configuration.GetMemoryMb("tony.worker.memory"), 2048);
  EXPECT_EQ(configuration.GetNumber("tony.worker.vcores"), 1);
  EXPECT_EQ(configuration.GetDuration("tony.task.kill-grace-ms"), milliseconds(5000));
  EXPECT_THAT(configuration.GetList("tony.application.untracked.jobtypes"), IsEmpty())
      << "an empty list is a list";
}

TEST_F(ConfigurationTest, DurationsKnowTheirUnit) {
  const Configuration configuration = LoadLayers({},
                                                 {{"tony.task.executor.registry-timeout-sec", "3"},
                                                  {"tony.application.timeout", "3"},
                                                  {"tony.container.allocation.timeout", "-1"}},
                                                 {});
  EXPECT_EQ(configuration.GetDuration("tony.task.executor.registry-timeout-sec"),
            milliseconds(3000));
  EXPECT_EQ(configuration.GetDuration("tony.application.timeout"), milliseconds(3));
  EXPECT_EQ(configuration.GetDuration("tony.container.allocation.timeout"), milliseconds(0));
}

TEST_F(ConfigurationTest, WrittenXmlReadsBackAsTheSame) {
  folder_.Write("a.txt", "");
  const Configuration original = LoadLayers(
      {{"tony.local.gpus", "2"}},
      {{"tony.worker.instances", "2"},
       {"tony.worker.command", "test 1 &lt; 2 &amp;&amp; echo \"$HOME\" 'x'\nsecond line"},
       {"tony.containers.resources", "../a.txt::b c#archive"},
       {"tony.application.tags", ""}},
      {{"tony.execution.envs", "A=tab\there\r\nand <more> & ünïcode \x01"},
       {"tony.execution.envs", R"(B=1\,2\\)"},
       {"tony.worker.env", "]]>=&lt;"}});
  ASSERT_THAT(problems_, IsEmpty());
  folder_.Write("elsewhere/tony-final.xml", WriteXml(original));
  sources_ = {.job_file = "elsewhere/tony-final.xml", .working_folder = folder_.path()};
  const LoadResult again = LoadConfiguration(sources_);
  EXPECT_THAT(RenderProblems(again.problems), IsEmpty());
  ASSERT_EQ(again.configuration.entries().size(), original.entries().size());
  for (size_t i = 0; i < original.entries().size(); ++i) {
    EXPECT_EQ(again.configuration.entries()[i].key, original.entries()[i].key);
    EXPECT_EQ(again.configuration.entries()[i].Value(), original.entries()[i].Value());
  }
  EXPECT_EQ(WriteXml(original).find("<source>jobs/job.xml:2</source>") == std::string::npos, false);
}

TEST_F(ConfigurationTest, WritingIsStable) {
  folder_.Write("first.xml", WriteXml(LoadLayers({}, {{"tony.execution.envs", "A=1"}},
                                                 {{"tony.execution.envs", "B=2"}})));
  sources_ = {.job_file = "first.xml", .working_folder = folder_.path()};
  const Configuration second = LoadConfiguration(sources_).configuration;
  EXPECT_EQ(second.GetText("tony.execution.envs"), "A=1,B=2");
}

}  // namespace
}  // namespace tony::jobfile
