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
             "Folder of `core-site.xml`, `hdfs-site.xml` and `yarn-site.xml`; by default the "
             "folder named by `HADOOP_CONF_DIR` or `YARN_CONF_DIR`."),
      OfYarn("tony.yarn.staging-dir", kLocation, "",
             "Folder in the cluster's file system for tony's files: archives, and each job's "
             "journal, history and checkpoints. Each user has a subfolder in it, called by the "
             "user's name. By default `/user/USER/.tony` in `fs.defaultFS`."),
      OfYarn("tony.yarn.cache-retention", kCount, "30",
             "Number of days after which `tony-submit` removes an archive that was copied once for "
             "all of a user's jobs, if none of them has used it since; 0: never."),
      OfYarn("tony.yarn.runtime", kExistingPath, "",
             "The archive with `tony-am` and `tony-executor` that nodes fetch; by default the one of "
             "the same installation as `tony-submit`."),
      OfYarn("tony.yarn.priority", kCount, "0", "Priority among the applications of the queue."),
      OfYarn("tony.yarn.gpu-resource", kText, "yarn.io/gpu",
             "The resource type by which the cluster counts GPUs."),
      OfYarn("tony.yarn.view-acl", kText, "",
             "Who besides the user may see the job's page and logs: `USERS GROUPS`, each a list "
             "separated by commas; `*` for everybody. The page does not know the groups of a user, "
             "so it admits only the listed users."),
      OfYarn("tony.yarn.modify-acl", kText, "",
             "Who besides the user may end the job, in the same form."),
      OfYarn("tony.yarn.timeout-ms", kMilliseconds, "15000",
             "How long the client waits for an answer of the ResourceManager or the NameNode."),
  };
  return group;
}

KeyGroup LabelKeys() {
  KeyGroup group;
  group.title = "Nodes of the cluster";
  group.introduction = "The nodes of a YARN cluster that a job may use.";
  group.keys = {
      OfYarn("tony.application.node-label", ValueType::kText, "",
             "Label of the nodes that the job may run on, unless a more specific key is set."),
      OfYarn("tony.am.node-label", ValueType::kText, "",
             "Label of the nodes that the ApplicationMaster may run on."),
      OfYarn("tony.application.placement-spec", ValueType::kPlacement, "",
             "Placement constraint for the tasks of all types, in addition to a type's own "
             "constraint."),
      OfYarn("tony.containers.placement-spec", ValueType::kPlacement, "",
             "Placement constraint for the tasks of the types that have none of their own."),
      OfYarn("tony.containers.allocation-tags", ValueType::kList, "",
             "Tags of the containers of the types that have none of their own; by default the "
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
      OfYarn("tony.<type>.placement-spec", ValueType::kPlacement, "",
             "Placement constraint for this type's tasks: `notin,node,worker` keeps each of them "
             "off nodes that have a container with the tag `worker`."),
      OfYarn("tony.<type>.allocation-tags", ValueType::kList, "",
             "Tags of this type's containers, to which placement constraints refer."),
      OfYarn("tony.<type>.yarn-resources", ValueType::kAmounts, "",
             "Amounts of the cluster's other resource types for each task, in the cluster's own "
             "units: `trainer.io/tpu=2,example.com/licence=1`. TonY has no such key."),
  };
  return group;
}

KeyGroup DockerKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "Docker";
  group.introduction =
      "The tasks' containers are made from images: on this machine by podman or docker "
      "([images](images.md)), on YARN by clusters whose nodes run Docker containers.";
  group.keys = {
      {.name = "tony.docker.enabled",
       .type = kBoolean,
       .default_value = "false",
       .meaning = "Whether the job's containers are made from images; on YARN also the "
                  "ApplicationMaster's."},
      {.name = "tony.docker.containers.image",
       .type = kText,
       .meaning = "The image of all containers."},
      {.name = "tony.docker.<type>.image",
       .type = kText,
       .meaning = "The image of one task type, or of the ApplicationMaster with `am`, in place of "
                  "the image of all containers."},
      {.name = "tony.docker.containers.mount",
       .type = kList,
       .meaning = "Folders of the nodes, or of this machine, that are mounted into containers: "
                  "`SOURCE:DESTINATION:MODE`, the mode `ro` or `rw`. A cluster has to allow them."},
      {.name = "tony.docker.engine",
       .type = kChoice,
       .default_value = "auto",
       .choices = {"auto", "podman", "docker"},
       .meaning = "What runs the containers on this machine; `auto` takes podman if it is "
                  "installed, otherwise docker. YARN has its own."},
      {.name = "tony.docker.pull-timeout-ms",
       .type = kMilliseconds,
       .default_value = "3600000",
       .minimum = 1000,
       .meaning = "How long `tony-submit` waits for the download of one image that this machine "
                  "does not have."},
  };
  return group;
}

}  // namespace tony::jobfile
