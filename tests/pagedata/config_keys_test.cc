// What visitors of the page see of a configuration, and what not.
#include "pagedata/config_keys.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "jobfile/configuration/configuration_loader.h"
#include "tests/os/temporary_folder.h"

namespace tony::pagedata {
namespace {

std::map<std::string, web::ConfigKey> Shown(
    const std::vector<std::pair<std::string, std::string>>& settings) {
  jobfile::Configuration configuration;
  for (const auto& [key, value] : settings) {
    const jobfile::Origin origin{jobfile::Layer::kJobFile, "job.xml", 7};
    EXPECT_FALSE(configuration.Set(key, {value, origin, false}).has_value());
  }
  std::map<std::string, web::ConfigKey> keys;
  for (web::ConfigKey& key : ConfigKeys(configuration)) keys[key.key] = key;
  return keys;
}

TEST(ConfigKeys, TellsWhatDiffersFromTheDefaults) {
  const auto keys =
      Shown({{"tony.am.retry-count", "0"}, {"tony.worker.instances", "3"}, {"my.own.key", "x"}});
  EXPECT_EQ(keys.at("tony.am.retry-count").default_value, "0");
  EXPECT_FALSE(keys.at("tony.am.retry-count").differs);
  EXPECT_EQ(keys.at("tony.worker.instances").value, "3");
  EXPECT_EQ(keys.at("tony.worker.instances").origin, "job.xml:7");
  EXPECT_TRUE(keys.at("tony.worker.instances").differs);
  EXPECT_TRUE(keys.at("tony.worker.instances").known);
  EXPECT_FALSE(keys.at("my.own.key").known);
}

TEST(ConfigKeys, AJobsRecordTellsWhereAKeyWasSet) {
  jobfile::Configuration configuration;
  const jobfile::Origin record{jobfile::Layer::kJobFile, "/jobs/1/job.xml", 3};
  EXPECT_FALSE(configuration.Set("tony.am.retry-count", {"1", record, false, "my.xml:7"}));
  EXPECT_FALSE(configuration.Set("tony.worker.instances", {"2", record, false}));
  const std::vector<web::ConfigKey> keys = ConfigKeys(configuration);
  EXPECT_EQ(keys.at(0).origin, "my.xml:7");
  EXPECT_EQ(keys.at(1).origin, "/jobs/1/job.xml:3");
}

TEST(ConfigKeys, SecretsAreNotShown) {
  const auto keys = Shown({{"tony.execution.envs", "MODE=fast,WANDB_API_KEY=a1b2,DB_PASSWORD=c3"},
                           {"tony.worker.env", "HF_TOKEN=d4,URL=https://me:e5f6@host/x"},
                           {"tony.worker.command", "train --lr=1 --password=g7h8i9"},
                           {"tony.alerts.urls", "https://hooks.example/services/k1l2"},
                           {"my.secret", "j0"}});
  EXPECT_EQ(keys.at("tony.execution.envs").value,
            "DB_PASSWORD=[redacted],MODE=fast,WANDB_API_KEY=[redacted]");
  for (const auto& [name, key] : keys) {
    for (const char* secret : {"a1b2", "c3", "d4", "e5f6", "g7h8i9", "j0", "k1l2"}) {
      EXPECT_EQ(key.value.find(secret), std::string::npos) << name << ": " << key.value;
    }
  }
  EXPECT_EQ(keys.at("tony.alerts.urls").value, "https://hooks.example/[redacted]");
  EXPECT_NE(keys.at("tony.worker.command").value.find("--lr=1"), std::string::npos);
}

// What lasts in a cluster's file system.
TEST(ConfigKeys, AsAJobFileTheyHaveNoSecrets) {
  jobfile::Configuration configuration;
  const jobfile::Origin origin{jobfile::Layer::kJobFile, "job.xml", 7};
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"tony.worker.env", "HF_TOKEN=d4,MODE=fast"}, {"tony.worker.instances", "3"}}) {
    EXPECT_FALSE(configuration.Set(key, {value, origin, false}).has_value());
  }
  const os::TemporaryFolder folder;
  const std::string path = folder / "job.xml";
  os::Put(path, XmlWithoutSecrets(configuration, ConfigKeys(configuration)));
  const jobfile::LoadResult again =
      jobfile::LoadConfiguration({.job_file = path, .working_folder = "/"});
  EXPECT_TRUE(again.problems.empty());
  EXPECT_EQ(again.configuration.GetNumber("tony.worker.instances"), 3);
  EXPECT_EQ(again.configuration.GetText("tony.worker.env"), "HF_TOKEN=[redacted],MODE=fast");
}

}  // namespace
}  // namespace tony::pagedata
