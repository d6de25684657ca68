// Tests which variables count, and where the site file is looked for.
#include "client/cli/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/client/job_folders.h"

namespace tony::client {
namespace {

TEST(Environment, ReadsTheVariables) {
  setenv("HOME", "/home/ann", 1);
  setenv("TONY_CONF_DIR", "/conf", 1);
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  const Environment full = ReadEnvironment();
  EXPECT_EQ(full.home, "/home/ann");
  EXPECT_EQ(full.conf_dir, "/conf");
  EXPECT_EQ(full.term, "xterm");
  EXPECT_TRUE(full.no_color);
  for (const char* name : {"HOME", "TONY_CONF_DIR", "TERM"}) unsetenv(name);
  setenv("NO_COLOR", "", 1);
  const Environment bare = ReadEnvironment();
  EXPECT_EQ(bare.home.substr(0, 1), "/");
  EXPECT_EQ(bare.conf_dir, "");
  EXPECT_EQ(bare.term, "");
  EXPECT_FALSE(bare.no_color);
}

TEST(Environment, FindsTheSiteFile) {
  TemporaryFolder folder;
  Environment environment;
  const std::string system = folder.path() + "/system.xml";
  EXPECT_EQ(SiteFile(environment, system), "");
  std::ofstream(system) << "x";
  EXPECT_EQ(SiteFile(environment, system), system);
  environment.conf_dir = folder.path();
  EXPECT_EQ(SiteFile(environment, system), "");
  std::ofstream(folder.path() + "/tony-site.xml") << "x";
  EXPECT_EQ(SiteFile(environment, system), folder.path() + "/tony-site.xml");
}

TEST(Environment, FindsTheMachinesFileWhereAnotherReplacesIt) {
  TemporaryFolder folder;
  Environment environment;
  const std::string system = folder.path() + "/system.xml";
  std::ofstream(system) << "x";
  EXPECT_EQ(MachineFile(environment, system), "") << "it is the site file itself";
  environment.conf_dir = folder.path() + "/other";
  EXPECT_EQ(MachineFile(environment, system), system);
  EXPECT_EQ(MachineFile(environment, folder.path() + "/none.xml"), "");
}

}  // namespace
}  // namespace tony::client
