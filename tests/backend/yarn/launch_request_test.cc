// Commands and variables as a NodeManager makes a script of them, run by the real shell.
#include "backend/yarn/launch_request.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tony::backend {
namespace {

namespace yarn = ::hadoop::yarn;
using ::testing::ElementsAre;

constexpr const char* kOdd[] = {"",
                                "plain",
                                "two words",
                                "it's",
                                "\"quoted\"",
                                "$HOME `date` $(date)",
                                "back\\sl",
                                "{{A}}",
                                "{{{{}}}}}",
                                "<LOG_DIR>/<CPS>",
                                "*?[a] ~ # ; & | > <",
                                "line\nbreak",
                                "\\$x\\\"",
                                "!!",
                                "<",
                                "'\"'\"'<{{'"};

// As ContainerLaunch does.
std::string Expanded(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"<LOG_DIR>", "/the/logs"}, {"<CPS>", ":"}, {"{{", "$"}, {"}}", ""}});
}

std::string OutputOf(const std::string& script) {
  const std::string command = absl::StrCat("bash <<'THE_END'\n", script, "\nTHE_END\n");
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << script;
  return output;
}

TEST(LaunchRequestTest, WordsComeThroughBothShells) {
  for (const char* const text : kOdd) {
    const std::string command =
        absl::StrCat("exec printf '<%s>' ", LaunchWord(text), " ", LaunchWord("next"));
    EXPECT_EQ(OutputOf(absl::StrCat("exec /bin/bash -c \"", Expanded(command), "\"")),
              absl::StrCat("<", text, "><next>"));
  }
}

TEST(LaunchRequestTest, ValuesComeThroughTheScript) {
  for (const char* const text : kOdd) {
    EXPECT_EQ(OutputOf(absl::StrCat("export V=\"", Expanded(LaunchValue(text)),
                                    "\"\nprintf '<%s>' \"$V\"")),
              absl::StrCat("<", text, ">"));
  }
}

TEST(LaunchRequestTest, HasCommandLogEnvironmentTokensResourcesAndAcls) {
  LaunchTemplate launch;
  launch.command = {"./runtime/tony-executor"};
  launch.resources = {{.name = "runtime",
                       .scheme = "hdfs",
                       .host = "namenode",
                       .port = 8020,
                       .path = "/stage/runtime.tar",
                       .bytes = 10,
                       .modified_millis = 20,
                       .type = LocalResource::Type::kArchive,
                       .visibility = LocalResource::Visibility::kPrivate},
                      {.name = "f", .scheme = "file", .path = "/f"}};
  launch.tokens = [](const std::string& secret) { return "tokens with " + secret; };
  launch.view_acl = "*";
  const auto context = MakeLaunchContext(launch, {.arguments = {"--name=it's"},
                                                  .environment = {"A=own", "no variable"},
                                                  .name = "t",
                                                  .secret = "s"});
  ASSERT_TRUE(context.ok());
  ASSERT_EQ(context->command_size(), 1);
  EXPECT_EQ(context->command(0), R"(exec './runtime/tony-executor' '--name=it'\\''s')"
                                 " >><LOG_DIR>/executor.log 2>&1");
  std::vector<std::string> variables;
  for (const auto& entry : context->environment()) {
    variables.push_back(absl::StrCat(entry.key(), "=", entry.value()));
  }
  EXPECT_THAT(variables, ElementsAre("A=own", "TONY_LOG_DIR=<LOG_DIR>"));
  EXPECT_EQ(context->tokens(), "tokens with s");
  ASSERT_EQ(context->localresources_size(), 2);
  const auto& runtime = context->localresources(0).value();
  EXPECT_EQ(context->localresources(0).key(), "runtime");
  EXPECT_EQ(runtime.resource().file(), "/stage/runtime.tar");
  EXPECT_EQ(runtime.resource().host(), "namenode");
  EXPECT_EQ(runtime.size(), 10);
  EXPECT_EQ(runtime.timestamp(), 20);
  EXPECT_EQ(runtime.type(), yarn::ARCHIVE);
  EXPECT_EQ(runtime.visibility(), yarn::PRIVATE);
  EXPECT_FALSE(context->localresources(1).value().resource().has_host());
  EXPECT_EQ(context->localresources(1).value().type(), yarn::FILE);
  ASSERT_EQ(context->application_acls_size(), 1);
  EXPECT_EQ(context->application_acls(0).accesstype(), yarn::APPACCESS_VIEW_APP);
}

TEST(LaunchRequestTest, WithoutTokensThereIsNoLaunch) {
  LaunchTemplate launch;
  launch.tokens = [](const std::string&) { return absl::NotFoundError("no such file"); };
  EXPECT_EQ(MakeLaunchContext(launch, {}).status().message(), "no such file");
}

TEST(LaunchRequest, DockerIsThreeVariables) {
  EXPECT_THAT(DockerEnvironment("a/b:1", {}),
              testing::ElementsAre("YARN_CONTAINER_RUNTIME_TYPE=docker",
                                   "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=a/b:1"));
  EXPECT_THAT(DockerEnvironment("x", {"/a:/a:ro", "/b:/c:rw"}),
              testing::Contains("YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS=/a:/a:ro,/b:/c:rw"));
}

}  // namespace
}  // namespace tony::backend
