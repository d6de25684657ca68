// The key table: complete, consistent with itself, and its look-ups.
#include "jobfile/keys/key_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "jobfile/keys/value_check.h"

namespace tony::jobfile {
namespace {

TEST(KeyTableTest, EveryRowIsCompleteAndConsistent) {
  std::set<std::string> names;
  for (const KeyGroup& group : KeyGroups()) {
    EXPECT_FALSE(group.title.empty());
    EXPECT_FALSE(group.keys.empty()) << group.title;
    for (const Key& key : group.keys) {
      SCOPED_TRACE(key.name);
      EXPECT_TRUE(names.insert(key.name).second) << "the key stands in the table twice";
      EXPECT_EQ(key.name.substr(0, 5), "tony.");
      EXPECT_FALSE(key.meaning.empty());
      EXPECT_EQ(key.reason.empty(), key.status == KeyStatus::kWorks);
      EXPECT_EQ(key.choices.empty(), key.type != ValueType::kChoice);
      EXPECT_LE(key.minimum, key.maximum);
      const bool checkable = !key.default_value.empty() && key.type != ValueType::kFolder;
      EXPECT_FALSE(checkable && CheckValue(key, key.default_value)) << key.default_value;
    }
  }
}

TEST(KeyTableTest, KnowsTheKeysOfTonY) {
  for (const char* const name : {"tony.application.name",
                                 "tony.application.dependency.worker.timeout.after.A",
                                 "tony.application.dependency.worker.timeout.after.A.ignored",
                                 "tony.application.group.G",
                                 "tony.yarn.queue",
                                 "tony.other.namenodes",
                                 "tony.python-exec-path",
                                 "tony.gpu-exec-path",
                                 "tony.worker.instances",
                                 "tony.ps.depends-on",
                                 "tony.am.node-label",
                                 "tony.am.resources",
                                 "tony.containers.envs",
                                 "tony.docker.containers.image",
                                 "tony.docker.worker.image",
                                 "tony.docker.containers.mount",
                                 "tony.tensorboard.vcores",
                                 "tony.task.max-total-gpus",
                                 "tony.task.executor.execution.error-message-max-depth",
                                 "tony.horovod.driver.mode.debug",
                                 "tony.version-info.checksum",
                                 "tony.history.finished-dir-timezone",
                                 "tony.portal.url",
                                 "tony.keytab.location",
                                 "tony.https.keystore.algorithm",
                                 "tony.http.port",
                                 "tony.secret.key",
                                 "tony.application.hadoop.classpath",
                                 "tony.am.startup-timeout"}) {
    EXPECT_TRUE(FindKey(name).has_value()) << name;
  }
}

TEST(KeyTableTest, FindsTheOwnerOfAPerTypeKey) {
  const auto match = FindKey("tony.my_Type-2.memory");
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->key->name, "tony.<type>.memory");
  EXPECT_EQ(match->task_type, "my_Type-2");
}

TEST(KeyTableTest, ALiteralNameWins) {
  EXPECT_EQ(FindKey("tony.tensorboard.vcores")->key->name, "tony.tensorboard.vcores");
  EXPECT_EQ(FindKey("tony.tensorboard.vcores")->task_type, "tensorboard");
  EXPECT_EQ(FindKey("tony.docker.containers.image")->key->name, "tony.docker.containers.image");
}

TEST(KeyTableTest, DoesNotKnowWhatIsNotThere) {
  for (const char* const name :
       {"", "tony", "tony.", "tony..instances", "tony.worker", "tony.worker.instances.x",
        "tony.worker.instnaces", "worker.instances", "tony.a b.instances", "tony.<type>.instances",
        "Tony.worker.instances"}) {
    EXPECT_FALSE(FindKey(name).has_value()) << name;
  }
}

TEST(KeyTableTest, FirstWordsOfOtherKeysAreNoTaskTypes) {
  for (const char* const word : {"am", "application", "task", "container", "containers", "docker",
                                 "client", "local", "history", "horovod", "yarn", "execution"}) {
    EXPECT_TRUE(IsReservedWord(word)) << word;
    EXPECT_FALSE(IsTaskTypeName(word)) << word;
  }
  EXPECT_FALSE(FindKey("tony.task.instances").has_value());
  for (const char* const word : {"worker", "ps", "tensorboard", "gpu_worker-2", "A"}) {
    EXPECT_TRUE(IsTaskTypeName(word)) << word;
  }
}

TEST(KeyTableTest, NearestKeyKnowsTheTaskTypes) {
  EXPECT_EQ(NearestKey("tony.worker.instnaces", {"worker"}), "tony.worker.instances");
  EXPECT_EQ(NearestKey("tony.aplication.name", {}), "tony.application.name");
  EXPECT_EQ(NearestKey("tony.am.retries", {}), "tony.am.retry-count") << "words before letters";
  EXPECT_EQ(NearestKey("tony.worker.instance", {}), "tony.worker.instances");
  EXPECT_EQ(NearestKey("tony.worker.instanses", {"worker"}), "tony.worker.instances");
  EXPECT_EQ(NearestKey("tony.worker.colour", {"worker"}), std::nullopt);
  EXPECT_EQ(NearestKey("tony.task.heartbeat-interval", {}), "tony.task.heartbeat-interval-ms");
  EXPECT_EQ(NearestKey("yarn.nodemanager.something", {"worker"}), std::nullopt);
}

TEST(KeyTableTest, NearestOwnerKeepsTheLastWord) {
  EXPECT_EQ(NearestOwner("wroker", "tony.wroker.memory", {"worker"}), "tony.worker.memory");
  EXPECT_EQ(NearestOwner("contianers", "tony.contianers.resources", {}),
            "tony.containers.resources");
  EXPECT_EQ(NearestOwner("ps", "tony.ps.memory", {"worker"}), std::nullopt);
}

}  // namespace
}  // namespace tony::jobfile
