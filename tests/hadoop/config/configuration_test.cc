// Hadoop's configuration files, and the addresses that they lead to.
#include "hadoop/config/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "hadoop/auth/rpc_protection.h"
#include "hadoop/rpc/cluster_addresses.h"
#include "os/files/files.h"
#include "tests/os/temporary_folder.h"

namespace tony::hadoop {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class ConfigurationTest : public testing::Test {
 protected:
  // Lines of "name=value", each a property in a line of its own, from the second on.
  void Write(const std::string& file, const std::vector<std::string>& lines) {
    std::string text = "<configuration>\n";
    for (const std::string& line : lines) {
      const size_t equals = line.find('=');
      absl::StrAppend(&text, "<property><name>", line.substr(0, equals), "</name><value>",
                      line.substr(equals + 1), "</value></property>\n");
    }
    WriteText(file, text + "</configuration>\n");
  }
  void WriteText(const std::string& file, const std::string& text) {
    ASSERT_TRUE(os::WriteFileAtomically(folder_ / file, text).ok());
  }

  Configuration Load(const std::vector<GivenValue>& given = {}) {
    auto loaded = Configuration::Load(
        folder_.path(),
        [](const std::string& name) -> std::optional<std::string> {
          if (name == "HOST") return "from-environment";
          if (name == "EMPTY") return "";
          return std::nullopt;
        },
        given);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return *std::move(loaded);
  }

  const os::TemporaryFolder folder_;
};

TEST_F(ConfigurationTest, LaterFilesWinButForWhatIsFinal) {
  WriteText("core-site.xml",
            "<configuration>"
            "<property><name>a</name><value>core</value></property>"
            "<property><name>b</name><value>core</value><final>true</final></property>"
            "</configuration>");
  Write("yarn-site.xml", {"a=yarn", "b=yarn", "c=yarn"});
  const Configuration configuration = Load();
  EXPECT_EQ(*configuration.Text("a"), "yarn");
  EXPECT_EQ(*configuration.Text("b"), "core");
  EXPECT_EQ(configuration.Where("c"), folder_ / "yarn-site.xml:4");
}

TEST_F(ConfigurationTest, GivenValuesWinButForWhatIsFinal) {
  WriteText("core-site.xml",
            "<configuration>"
            "<property><name>a</name><value>core</value></property>\n"
            "<property><name>b</name><value>core</value><final>true</final></property>"
            "</configuration>");
  const Configuration configuration = Load({{"a", "${c}!", "step:1"},
                                            {"b", "given", "step:2"},
                                            {"c", "given", "step:3"},
                                            {"d", "x", "step:4"}});
  EXPECT_EQ(*configuration.Text("a"), "given!");
  EXPECT_EQ(*configuration.Text("b"), "core");
  EXPECT_EQ(configuration.Where("c"), "step:3");
  EXPECT_THAT(Message(configuration.Number("d", 0).status()), HasSubstr("step:4: d: 'x' is no"));
  ASSERT_EQ(configuration.notes().size(), 1u);
  EXPECT_THAT(jobfile::RenderProblem(configuration.notes()[0]),
              AllOf(HasSubstr("step:2: b: has no effect: "), HasSubstr("core-site.xml:2")));
}

TEST_F(ConfigurationTest, InOneFileTheLastWinsAndThatIsNoted) {
  Write("core-site.xml", {"a=first", "a=second"});
  const Configuration configuration = Load();
  EXPECT_EQ(*configuration.Text("a"), "second");
  ASSERT_EQ(configuration.notes().size(), 1);
  EXPECT_THAT(configuration.notes()[0].message, HasSubstr("is set twice"));
}

TEST_F(ConfigurationTest, ExpandsVariables) {
  Write("core-site.xml",
        {"host=h", "number=1", "h1=deep", "a=${host}:${number}", "b=${${host}${number}}",
         "c=${env.HOST}", "d=${env.NO:-default}", "e=${env.NO-default}", "f=${env.EMPTY:-default}",
         "g=${env.EMPTY-default}", "dollar=$5 {x}"});
  const Configuration configuration = Load();
  const std::pair<const char*, const char*> cases[] = {
      {"a", "h:1"},     {"b", "deep"},        {"c", "from-environment"},
      {"d", "default"}, {"e", "default"},     {"f", "default"},
      {"g", ""},        {"dollar", "$5 {x}"}, {"yarn.resourcemanager.address", "0.0.0.0:8032"}};
  for (const auto& [key, value] : cases) EXPECT_EQ(*configuration.Text(key), value) << key;
}

TEST_F(ConfigurationTest, ComplainsWithFileLineKeyAndRemedy) {
  Write("yarn-site.xml", {"yarn.a=${no.such}", "yarn.b=${yarn.b}", "yarn.c=abc"});
  const Configuration configuration = Load();
  const std::string file = folder_ / "yarn-site.xml";
  EXPECT_EQ(Message(configuration.Text("yarn.a").status()),
            file + ":2: yarn.a: nothing defines ${no.such}; define it, or write the value itself");
  EXPECT_EQ(Message(configuration.Text("yarn.b").status()),
            file + ":3: yarn.b: ${yarn.b} leads back to itself; write the value");
  EXPECT_EQ(Message(configuration.Number("yarn.c", 0).status()),
            file + ":4: yarn.c: 'abc' is no whole number; write one");
  EXPECT_EQ(Message(configuration.Boolean("yarn.c", true).status()),
            file + ":4: yarn.c: 'abc' is neither true nor false; write one of them");
  const absl::Status missing = configuration.Required("yarn.d").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(missing));
  EXPECT_THAT(Message(missing), HasSubstr(file + ": yarn.d: has no value; set it, or"));
}

TEST_F(ConfigurationTest, ReadsNumbersBooleansAndLists) {
  Write("core-site.xml", {"n=7", "b= TRUE ", "l= a, b ,,c\\,\n  d"});
  const Configuration configuration = Load();
  EXPECT_EQ(*configuration.Number("n", 1), 7);
  EXPECT_EQ(*configuration.Number("none", 1), 1);
  EXPECT_TRUE(*configuration.Boolean("b", false));
  EXPECT_TRUE(*configuration.Boolean("none", true));
  EXPECT_THAT(*configuration.List("l"), ElementsAre("a", "b", "c\\", "d"));
}

TEST_F(ConfigurationTest, AFolderWithoutConfigurationIsNotFound) {
  for (const std::string& folder : {folder_.path(), folder_ / "no"}) {
    const auto loaded = Configuration::Load(folder, nullptr);
    EXPECT_TRUE(absl::IsNotFound(loaded.status()));
    EXPECT_THAT(Message(loaded.status()), HasSubstr("set HADOOP_CONF_DIR to the folder"));
  }
}

TEST_F(ConfigurationTest, BrokenXmlIsAnError) {
  WriteText("core-site.xml", "<configuration><property>");
  const auto loaded = Configuration::Load(folder_.path(), nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(loaded.status()));
  EXPECT_THAT(Message(loaded.status()), HasSubstr(folder_ / "core-site.xml"));
}

TEST_F(ConfigurationTest, FindsOneResourceManager) {
  Write("yarn-site.xml",
        {"yarn.resourcemanager.hostname=rm", "yarn.resourcemanager.scheduler.address=s:1"});
  const Configuration configuration = Load();
  EXPECT_THAT(*ResourceManagers(configuration, ResourceManagerService::kClient),
              ElementsAre(Endpoint{"rm", 8032}));
  EXPECT_THAT(*ResourceManagers(configuration, ResourceManagerService::kScheduler),
              ElementsAre(Endpoint{"s", 1}));
  EXPECT_THAT(*ResourceManagers(configuration, ResourceManagerService::kWeb),
              ElementsAre(Endpoint{"rm", 8088}));
}

TEST_F(ConfigurationTest, FindsAPairOfResourceManagers) {
  Write("yarn-site.xml",
        {"yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=rm1,rm2",
         "yarn.resourcemanager.hostname.rm1=one", "yarn.resourcemanager.address.rm2=two:99"});
  EXPECT_THAT(*ResourceManagers(Load(), ResourceManagerService::kClient),
              ElementsAre(Endpoint{"one", 8032}, Endpoint{"two", 99}));
  // The second has no scheduler's address.
  EXPECT_THAT(Message(ResourceManagers(Load(), ResourceManagerService::kScheduler).status()),
              HasSubstr("yarn.resourcemanager.hostname.rm2: has no value"));
}

TEST_F(ConfigurationTest, SaysThatNoResourceManagerIsConfigured) {
  Write("core-site.xml", {"fs.defaultFS=hdfs://nn:8020"});
  const absl::Status status = ResourceManagers(Load(), ResourceManagerService::kClient).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(Message(status), HasSubstr("no ResourceManager is configured"));
  Write("yarn-site.xml", {"yarn.resourcemanager.address=rm:port"});
  EXPECT_THAT(Message(ResourceManagers(Load(), ResourceManagerService::kClient).status()),
              HasSubstr("yarn-site.xml:2: yarn.resourcemanager.address: 'rm:port' is no address"));
}

TEST_F(ConfigurationTest, SaysHowTheClusterKnowsUs) {
  Write("core-site.xml", {"a=b"});
  EXPECT_EQ(ResourceManagerIdentity(Load(), "alice")->user, "alice");
  Write("core-site.xml", {"hadoop.security.authentication=kerberos"});
  EXPECT_THAT(Message(ResourceManagerIdentity(Load(), "alice").status()),
              HasSubstr("yarn.resourcemanager.principal: has no value"));
  Write("yarn-site.xml", {"yarn.resourcemanager.principal=rm/_HOST@R"});
  const auto identity = ResourceManagerIdentity(Load(), "alice");
  ASSERT_TRUE(identity.ok());
  EXPECT_TRUE(identity->kerberos);
  EXPECT_EQ(identity->server_principal, "rm/_HOST@R");
  Write("core-site.xml", {"hadoop.security.authentication=token"});
  EXPECT_THAT(Message(WantsKerberos(Load()).status()),
              HasSubstr("core-site.xml:2: hadoop.security.authentication: 'token' is not known"));
}

TEST_F(ConfigurationTest, FindsOneNameNode) {
  Write("core-site.xml", {"fs.defaultFS=hdfs://127.0.0.1"});
  const auto service = FindNameService(Load(), "hdfs://127.0.0.1/user/x");
  ASSERT_TRUE(service.ok()) << service.status();
  EXPECT_EQ(service->authority, "127.0.0.1");
  EXPECT_THAT(service->rpc, ElementsAre(Endpoint{"127.0.0.1", 8020}));
  EXPECT_THAT(service->web, ElementsAre(Endpoint{"127.0.0.1", 9870}));
  EXPECT_EQ(*service->TokenService(), "127.0.0.1:8020");
  EXPECT_TRUE(absl::IsInvalidArgument(FindNameService(Load(), "file:///x").status()));
}

TEST_F(ConfigurationTest, FindsAPairOfNameNodes) {
  Write("hdfs-site.xml",
        {"dfs.nameservices=other,prod", "dfs.ha.namenodes.prod=a,b", "dfs.http.policy=HTTPS_ONLY",
         "dfs.namenode.rpc-address.prod.a=a:8020", "dfs.namenode.rpc-address.prod.b=b:8020",
         "dfs.namenode.https-address.prod.a=a:9871", "dfs.namenode.https-address.prod.b=b"});
  const auto service = FindNameService(Load(), "hdfs://prod");
  ASSERT_TRUE(service.ok()) << service.status();
  EXPECT_TRUE(service->https && service->highly_available);
  EXPECT_THAT(service->web, ElementsAre(Endpoint{"a", 9871}, Endpoint{"b", 9871}));
  EXPECT_EQ(*service->TokenService(), "ha-hdfs:prod");
}

TEST(Endpoint, IsParsed) {
  const std::tuple<const char*, const char*, int> good[] = {
      {"h", "h", 1},         {"h:2", "h", 2},     {"1.2.3.4:65535", "1.2.3.4", 65535},
      {"[::1]:3", "::1", 3}, {"[::1]", "::1", 1}, {"fe80::1", "fe80::1", 1}};
  for (const auto& [text, host, port] : good) {
    EXPECT_EQ(*ParseEndpoint(text, 1), (Endpoint{host, port})) << text;
  }
  EXPECT_EQ(ToString({"::1", 3}), "[::1]:3");
  for (const char* const bad : {"", ":1", "h:", "h:0", "h:65536", "h:x", "h:-1"}) {
    EXPECT_FALSE(ParseEndpoint(bad, 1).ok()) << bad;
  }
}

// Java's clients accept each that is listed; so the weakest is the least that is accepted.
TEST_F(ConfigurationTest, TheWeakestProtectionThatIsListedIsRequired) {
  const std::pair<const char*, Protection> cases[] = {
      {"authentication", Protection::kAuthentication},
      {"privacy", Protection::kPrivacy},
      {" Privacy , INTEGRITY", Protection::kIntegrity},
      {"integrity,privacy,authentication", Protection::kAuthentication},
      {"", Protection::kAuthentication}};
  for (const auto& [value, minimum] : cases) {
    Write("core-site.xml", {absl::StrCat("hadoop.rpc.protection=", value)});
    const auto required = ReadRequiredProtection(Load());
    ASSERT_TRUE(required.ok()) << required.status();
    EXPECT_EQ(required->minimum, minimum) << value;
  }
  Write("core-site.xml", {"a=b", "hadoop.rpc.protection=privacy"});
  EXPECT_EQ(ReadRequiredProtection(Load())->demand,
            absl::StrCat("hadoop.rpc.protection = privacy (", folder_ / "core-site.xml", ":3)"));
  EXPECT_EQ(ResourceManagerIdentity(Load(), "alice")->protection.minimum, Protection::kPrivacy);
  Write("core-site.xml", {"hadoop.rpc.protection=auth-conf"});
  EXPECT_THAT(
      Message(ResourceManagerIdentity(Load(), "alice").status()),
      HasSubstr("core-site.xml:2: hadoop.rpc.protection: 'auth-conf' is not known; write "));
  Write("core-site.xml", {"a=b"});
  EXPECT_EQ(ReadRequiredProtection(Load())->minimum, Protection::kAuthentication);
}

}  // namespace
}  // namespace tony::hadoop
