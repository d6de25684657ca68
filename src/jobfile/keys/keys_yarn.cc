// Keys of YARN clusters: queue and files, nodes and placement, Docker.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {
namespace {

Key OfYarn(const std::string& name, ValueType type, const std::string& default_value,
           const std::string& meaning) {
  return {.name = name,
          .type = type,
          .default_value = default_value,
          .status = KeyStatus::kOneBackend,
          .reason = "yarn",
          .meaning = meaning};
}

}  // namespace

KeyGroup YarnKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "YARN";
  group.introduction = "How the job runs on a Hadoop cluster, with `tony.backend` set to `yarn`.";
  group.keys = {
      OfYarn("tony.yarn.queue", kText, "default", "The queue."),
      OfYarn("tony.yarn.conf-dir", kExistingPath, "",
             "Folder of `core-site.xml`, `hdfs-site.xml` and `yarn-site.xml`; by default what "
             "`HADOOP_CONF_DIR` or `YARN_CONF_DIR` name."),
      OfYarn(
          "tony.yarn.staging-dir", kLocation, "",
          "Folder, in the cluster's file system, for what tony keeps there: archives, and each "
          "job's journal, history and checkpoints. In it each user has a folder of that name; by "
          "default `/user/USER/.tony` in `fs.defaultFS`."),
      OfYarn("tony.yarn.cache-retention", kCount, "30",
             "After how many days `tony-submit` removes an archive that is copied once for all of "
             "a user's jobs and that none of them has used; 0: never."),
      OfYarn("tony.yarn.runtime", kExistingPath, "",
             "The archive with `tony-am` and `tony-executor` that nodes fetch; by default the one "
             "that was built with `tony-submit`."),
      OfYarn("tony.yarn.priority", kCount, "0", "Priority among the applications of the queue."),
      OfYarn("tony.yarn.gpu-resource", kText, "yarn.io/gpu",
             "The resource type by which the cluster counts GPUs."),
      OfYarn("tony.yarn.view-acl", kText, "",
             "Who besides the user may see the job's page and logs: `USERS GROUPS`, each with "
             "commas; `*` for everybody. The page knows of nobody's groups: it is shown to the "
             "users of the list only."),
      OfYarn("tony.yarn.modify-acl", kText, "", "Who besides the user may end the job; likewise."),
      OfYarn("tony.yarn.timeout-ms", kMilliseconds, "15000",
             "How long the client waits for an answer of the ResourceManager or the NameNode."),
  };
  return group;
}

KeyGroup LabelKeys() {
  KeyGroup group;
  group.title = "Nodes of the cluster";
  group.introduction = "Which nodes of a YARN cluster may be used.";
  group.keys = {
      OfYarn("tony.application.node-label", ValueType::kText, "",
             "Label of the nodes that the job may run on, where nothing else is said."),
      OfYarn("tony.am.node-label", ValueType::kText, "",
             "Label of the nodes that the ApplicationMaster may run on."),
      OfYarn("tony.application.placement-spec", ValueType::kPlacement, "",
             "Where the tasks of all types may be; what else is said of a type holds, too."),
      OfYarn("tony.containers.placement-spec", ValueType::kPlacement, "",
             "Where the tasks of those types may be of which nothing else is said."),
      OfYarn("tony.containers.allocation-tags", ValueType::kList, "",
             "Tags of the containers of those types that have none of their own; by default the "
             "type's name."),
  };
  return group;
}

KeyGroup TypeLabelKeys() {
  KeyGroup group;
  group.title = "One task type on YARN";
  group.introduction = "As above, for the tasks of one type.";
  group.per_type = true;
  group.keys = {
      OfYarn("tony.<type>.node-label", ValueType::kText, "",
             "Label of the nodes that this type may run on."),
      OfYarn(
          "tony.<type>.placement-spec", ValueType::kPlacement, "",
          "Where this type's tasks may be: `notin,node,worker` keeps those with the tag `worker` "
          "on nodes of their own."),
      OfYarn("tony.<type>.allocation-tags", ValueType::kList, "",
             "Tags of this type's containers, which placement constraints refer to."),
      OfYarn("tony.<type>.yarn-resources", ValueType::kAmounts, "",
             "What else each task gets of the cluster's resource types, in the cluster's own "
             "units: `trainer.io/tpu=2,example.com/licence=1`. TonY has no such key."),
  };
  return group;
}

KeyGroup DockerKeys() {
  using enum ValueType;
  const auto needs_yarn = [](const std::string& name, ValueType type,
                             const std::string& default_value, const std::string& meaning) {
    Key key = OfYarn(name, type, default_value, meaning);
    key.status = KeyStatus::kNeedsBackend;
    return key;
  };
  KeyGroup group;
  group.title = "Docker";
  group.introduction = "Containers that are images, on clusters whose nodes run such.";
  group.keys = {
      needs_yarn(
          "tony.docker.enabled", kBoolean, "false",
          "Whether the job's containers are Docker containers, the ApplicationMaster's, too."),
      needs_yarn("tony.docker.containers.image", kText, "", "The image of all containers."),
      needs_yarn("tony.docker.<type>.image", kText, "",
                 "The image of one task type, or of the ApplicationMaster with `am`, instead."),
      needs_yarn(
          "tony.docker.containers.mount", kList, "",
          "Folders of the nodes that containers see: `SOURCE:DESTINATION:MODE`, the mode `ro` "
          "or `rw`; the cluster has to allow them."),
  };
  return group;
}

}  // namespace tony::jobfile
