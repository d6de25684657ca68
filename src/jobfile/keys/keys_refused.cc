// Keys of TonY that this version does not support. Their rows exist so that the user is told the
// reason, and not that the key is unknown.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {
namespace {

constexpr char kOneConfiguration[] =
    "Hadoop's configuration is one folder; name it with tony.yarn.conf-dir or HADOOP_CONF_DIR";
constexpr char kNoHistory[] =
    "each job's record stays in its folder, in tony.local.dir or on YARN in tony.yarn.staging-dir, "
    "from which `tony portal` shows it; nothing is moved. TonY's own histories are shown by "
    "`tony portal --tony-history FOLDER`";
constexpr char kRetention[] =
    "tony.local.history-retention says how many days jobs of this machine are kept, and `tony rm` "
    "removes them; records in an HDFS stay until somebody removes them (docs/yarn.md)";
constexpr char kNoPortal[] =
    "`tony portal` shows jobs on 127.0.0.1, to the user who starts it, and needs no such setting; "
    "one of several users gets its certificate and its users as options (docs/portal.md)";

Key Refused(const std::string& name, ValueType type, const std::string& default_value,
            const std::string& reason, const std::string& meaning) {
  return {.name = name,
          .type = type,
          .default_value = default_value,
          .minimum = -1,
          .status = KeyStatus::kRefused,
          .reason = reason,
          .meaning = meaning};
}

Key Noted(const std::string& name, ValueType type, const std::string& default_value,
          const std::string& reason, const std::string& meaning) {
  Key key = Refused(name, type, default_value, reason, meaning);
  key.status = KeyStatus::kNote;
  return key;
}

}  // namespace

KeyGroup HadoopKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "Hadoop and YARN";
  group.introduction = "Keys that matter on a Hadoop cluster.";
  group.keys = {
      Noted("tony.application.security.enabled", kBoolean, "true",
            "Hadoop's tokens are fetched wherever the cluster asks for Kerberos, and tony's own "
            "connections are always authenticated and encrypted; the value is ignored",
            "Fetch Hadoop's delegation tokens."),
      Noted("tony.application.num-client-rm-connect-retries", kCount, "3",
            "the client tries until tony.yarn.timeout-ms has passed",
            "How often the client tries to reach the ResourceManager."),
      Refused("tony.application.hdfs-conf-path", kText, "", kOneConfiguration,
              "Another `hdfs-site.xml`."),
      Refused("tony.application.yarn-conf-path", kText, "", kOneConfiguration,
              "Another `yarn-site.xml`."),
      Refused("tony.application.mapred-conf-path", kText, "", kOneConfiguration,
              "Another `mapred-site.xml`."),
      Refused("tony.other.namenodes", kList, "",
              "tokens are fetched for the cluster's own file system only",
              "Further NameNodes to fetch tokens from."),
      Refused("tony.keytab.user", kText, "user", kNoPortal, "The portal's Kerberos principal."),
      Refused("tony.keytab.location", kText, "/path/to/tony.keytab", kNoPortal,
              "The portal's keytab."),
  };
  return group;
}

KeyGroup JavaKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "Java and monitoring";
  group.introduction = "Keys that are accepted and have no effect.";
  group.keys = {
      Noted("tony.task.am.jvm.opts", kText, "", kNoJvm, "JVM options of the ApplicationMaster."),
      Noted("tony.task.executor.jvm.opts", kText, "-Xmx1536m", kNoJvm,
            "JVM options of the executors."),
      Noted("tony.task.default.jvm.opts", kText, "", kNoJvm, "JVM options of both."),
      Noted("tony.application.hadoop.location", kText, "", kNoJvm, "Hadoop's libraries."),
      Noted("tony.application.hadoop.classpath", kText, "", kNoJvm, "Hadoop's class path."),
      Noted("tony.task.gpu-metrics.enabled", kBoolean, "true",
            "the use of a task's own GPUs is always reported; the value is ignored",
            "Report the use of GPUs."),
  };
  return group;
}

KeyGroup HistoryKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "History";
  group.introduction = "Keys of TonY's history server.";
  group.keys = {
      Refused("tony.history.location", kText, "/path/to/tony-history", kNoHistory,
              "Folder of the history."),
      Refused("tony.history.intermediate", kText, "/path/to/tony-history/intermediate", kNoHistory,
              "Folder of running jobs."),
      Refused("tony.history.finished", kText, "/path/to/tony-history/finished", kNoHistory,
              "Folder of finished jobs."),
      Refused("tony.history.mover-interval-ms", kMilliseconds, "300000", kNoHistory,
              "How often finished jobs are moved."),
      Refused("tony.history.retention-sec", kSeconds, "2592000", kRetention,
              "How long jobs are kept."),
      Refused("tony.history.purger-interval-ms", kMilliseconds, "21600000", kRetention,
              "How often old jobs are removed."),
      Refused("tony.history.finished-dir-timezone", kText, "UTC", kNoHistory,
              "Time zone of the folders' names."),
  };
  return group;
}

KeyGroup PortalKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "Portal";
  group.introduction = "Keys of TonY's portal, which shows the history.";
  group.keys = {
      Refused("tony.portal.url", kText, "https://localhost:19886", kNoPortal,
              "The portal's address."),
      Refused("tony.portal.cache.max-entries", kCount, "10000", kNoPortal, "Size of its caches."),
      Refused("tony.https.port", kText, "19886", kNoPortal, "Its HTTPS port."),
      Refused("tony.https.keystore.path", kText, "/path/to/keystore.jks", kNoPortal,
              "Its certificate."),
      Refused("tony.https.keystore.type", kText, "JKS", kNoPortal, "The certificate's format."),
      Refused("tony.https.keystore.password", kText, "password", kNoPortal,
              "The certificate's password."),
      Refused("tony.https.keystore.algorithm", kText, "SunX509", kNoPortal,
              "The certificate's algorithm."),
      Refused("tony.http.port", kText, "disabled", kNoPortal, "Its HTTP port."),
      Refused("tony.secret.key", kText, "changeme", kNoPortal, "Key of its session cookies."),
  };
  return group;
}

KeyGroup VersionKeys() {
  KeyGroup group;
  group.title = "Version";
  group.introduction = "Written by TonY itself into the `tony-final.xml` of a job.";
  for (const char* const part :
       {"version", "revision", "branch", "user", "date", "url", "checksum"}) {
    group.keys.push_back(Noted(std::string("tony.version-info.") + part, ValueType::kText, "",
                               "describes the TonY that wrote the file; the value is ignored",
                               std::string("The ") + part + " of the TonY that wrote the file."));
  }
  return group;
}

}  // namespace tony::jobfile
