# Part of scripts/yarn-cluster: the configuration of a cluster's daemons and clients.
# shellcheck shell=bash

property() { printf '  <property><name>%s</name><value>%s</value></property>\n' "$1" "$2"; }

# site NAME: writes a file of the properties on standard input and those of --property.
site() {
  {
    echo '<?xml version="1.0"?>'
    echo '<configuration>'
    cat
    local item
    for item in "${more_properties[@]}"; do
      [[ $item == "$1":*=* ]] || continue
      item=${item#*:}
      property "${item%%=*}" "${item#*=}"
    done
    echo '</configuration>'
  } >"$folder/conf/$1-site.xml"
}

node_host() { if $distinct; then echo "127.0.0.$((10 + $1))"; else echo localhost; fi; }

gpus_of() {
  local -a counts
  IFS=, read -ra counts <<<"$gpus"
  echo "${counts[$(($1 <= ${#counts[@]} ? $1 - 1 : ${#counts[@]} - 1))]}"
}

core_site() {
  if $hdfs; then property fs.defaultFS "hdfs://localhost:$(port 9820)"; fi
  property hadoop.tmp.dir "$folder/data/tmp"
  property hadoop.rpc.protection "$protection"
  if $kerberos; then kerberos_core_site; fi
}

hdfs_site() {
  property dfs.namenode.name.dir "file://$folder/data/namenode"
  property dfs.datanode.data.dir "file://$folder/data/datanode"
  property dfs.replication 1
  property dfs.namenode.rpc-address "localhost:$(port 9820)"
  property dfs.namenode.rpc-bind-host 127.0.0.1
  property dfs.namenode.http-address "localhost:$(port 9870)"
  property dfs.datanode.address "127.0.0.1:$(port 9866)"
  property dfs.datanode.http.address "localhost:$(port 9864)"
  property dfs.datanode.ipc.address "127.0.0.1:$(port 9867)"
  property dfs.datanode.hostname localhost
  property dfs.namenode.safemode.extension 0
  property dfs.namenode.datanode.registration.ip-hostname-check false
  property dfs.datanode.du.reserved 0
  if $kerberos; then kerberos_hdfs_site; fi
}

# resourcemanager_addresses FIRST-PORT WEB-PORT [ID]
resourcemanager_addresses() {
  local rm=yarn.resourcemanager id=${3:+.$3}
  property "$rm.hostname$id" localhost
  property "$rm.scheduler.address$id" "localhost:$(port "$1")"
  property "$rm.resource-tracker.address$id" "localhost:$(port $(($1 + 1)))"
  property "$rm.address$id" "localhost:$(port $(($1 + 2)))"
  property "$rm.admin.address$id" "localhost:$(port $(($1 + 3)))"
  property "$rm.webapp.address$id" "localhost:$(port "$2")"
}

# Only `activate` makes another ResourceManager active.
high_availability_site() {
  local rm=yarn.resourcemanager
  property $rm.ha.enabled true
  property $rm.ha.automatic-failover.enabled false
  property $rm.ha.rm-ids rm1,rm2
  # shellcheck disable=SC2016  # each ResourceManager's command line defines its id
  property $rm.ha.id '${rm.id}'
  property $rm.cluster-id tony
  resourcemanager_addresses 8030 8088 rm1
  resourcemanager_addresses 8040 8098 rm2
}

resourcemanager_site() {
  local rm=yarn.resourcemanager
  if $ha; then high_availability_site; else resourcemanager_addresses 8030 8088; fi
  property $rm.bind-host 127.0.0.1
  property $rm.scheduler.class \
    org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler
  property $rm.nodemanagers.heartbeat-interval-ms "$heartbeat"
  property $rm.placement-constraints.handler scheduler
  property $rm.am.max-attempts 2
  property $rm.connect.max-wait.ms 20000
  property yarn.scheduler.minimum-allocation-mb 64
  property yarn.scheduler.maximum-allocation-mb "$memory"
  property yarn.scheduler.maximum-allocation-vcores "$cores"
  property yarn.scheduler.include-port-in-node-name "$($distinct && echo false || echo true)"
  property yarn.node-labels.enabled true
  property yarn.node-labels.fs-store.root-dir "file://$folder/data/labels"
  property yarn.node-attribute.fs-store.root-dir "file://$folder/data/attributes"
  property yarn.webapp.api-service.enable false
  property yarn.timeline-service.enabled false
}

# One file for all NodeManagers; ${nm.…} comes from each one's command line.
nodemanager_site() {
  local nm=yarn.nodemanager
  # shellcheck disable=SC2016  # Hadoop expands them
  {
    property $nm.address '${nm.host}:${nm.port}'
    property $nm.bind-host '${nm.host}'
    property $nm.localizer.address '${nm.host}:${nm.localizer}'
    property $nm.webapp.address 'localhost:${nm.web}'
    property $nm.collector-service.address '127.0.0.1:${nm.collector}'
    property $nm.local-dirs "$folder/data/node"'${nm.id}/local'
    property $nm.log-dirs "$folder/data/node"'${nm.id}/log'
    property $nm.recovery.dir "$folder/data/node"'${nm.id}/recovery'
  }
  property $nm.container-executor.class \
    org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor
  property $nm.resource.memory-mb "$memory"
  property $nm.resource.cpu-vcores "$cores"
  property $nm.vmem-check-enabled false
  property $nm.delete.debug-delay-sec 600
  property $nm.sleep-delay-before-sigkill.ms 250
  property $nm.disk-health-checker.max-disk-utilization-per-disk-percentage 99
  property $nm.env-whitelist JAVA_HOME,HADOOP_HDFS_HOME,HADOOP_CONF_DIR,PATH,LANG,TZ
  property yarn.application.classpath "$folder/conf,$jars/lib/*"
}

recovery_site() {
  local rm=yarn.resourcemanager
  property $rm.recovery.enabled true
  property $rm.work-preserving-recovery.enabled true
  property $rm.work-preserving-recovery.scheduling-wait-ms 1000
  property $rm.store.class \
    org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore
  property $rm.fs.state-store.uri "file://$folder/data/rmstore"
  property $rm.connect.retry-interval.ms 500
  property $rm.nm.liveness-monitor.interval-ms 1000
  property $rm.rm.container-allocation.expiry-interval-ms 10000
  property yarn.nm.liveness-monitor.expiry-interval-ms 5000
  property yarn.am.liveness-monitor.expiry-interval-ms 10000
  property yarn.nodemanager.recovery.enabled true
  property yarn.nodemanager.recovery.supervised true
}

yarn_site() {
  resourcemanager_site
  nodemanager_site
  if $recovery; then recovery_site; fi
  if $kerberos; then kerberos_yarn_site; fi
}

resource_types() {
  property yarn.resource-types yarn.io/gpu,trainer.io/tpu
  property yarn.resource-types.yarn.io/gpu.minimum-allocation 0
  property yarn.resource-types.yarn.io/gpu.maximum-allocation 64
}

capacity_scheduler() {
  local root=yarn.scheduler.capacity.root queue share
  property yarn.scheduler.capacity.resource-calculator \
    org.apache.hadoop.yarn.util.resource.DominantResourceCalculator
  property yarn.scheduler.capacity.maximum-am-resource-percent 0.9
  property yarn.scheduler.capacity.node-locality-delay 0
  property $root.queues default,train
  property $root.accessible-node-labels '*'
  property $root.accessible-node-labels.gpu.capacity 100
  for queue in default:40 train:60; do
    share=${queue#*:} queue=${queue%:*}
    property "$root.$queue.capacity" "$share"
    property "$root.$queue.maximum-capacity" 100
    property "$root.$queue.user-limit-factor" 10
    property "$root.$queue.state" RUNNING
  done
  property $root.default.accessible-node-labels ''
  property $root.train.accessible-node-labels gpu
  property $root.train.accessible-node-labels.gpu.capacity 100
}

log_settings() {
  local pattern='%d{ISO8601} %p %c{2}: %m%n'
  printf 'log4j.rootLogger=INFO,console\n'
  printf 'log4j.appender.console=org.apache.log4j.ConsoleAppender\n'
  printf 'log4j.appender.console.layout=org.apache.log4j.PatternLayout\n'
  printf 'log4j.appender.console.layout.ConversionPattern=%s\n' "$pattern"
}

# The configuration for users of the cluster.
environment() {
  echo "export HADOOP_CONF_DIR=$folder/conf HADOOP_HDFS_HOME=$folder PATH=$folder/bin:\$PATH"
  echo "export RM_ADDRESS=localhost:$(port 8032) SCHEDULER_ADDRESS=localhost:$(port 8030)"
  echo "export RM_WEB=$rm_web NAMENODE_WEB=$namenode_web HADOOP_JARS=$jars/lib"
  if $kerberos; then kerberos_environment; fi
}

# `yarn` and `hadoop` in the form that other programs expect.
command_line_tools() {
  cat <<END
#!/usr/bin/env bash
jvm=("$java" ${java_options[*]} -cp "$folder/conf:$jars/lib/*")
client=org.apache.hadoop.yarn.client.cli
case \$1 in
  classpath) echo "$folder/conf:$jars/lib/*" ;;
  application | app) exec "\${jvm[@]}" \$client.ApplicationCLI application "\${@:2}" ;;
  node) exec "\${jvm[@]}" \$client.NodeCLI "\${@:2}" ;;
  dfs | fs) exec "\${jvm[@]}" org.apache.hadoop.fs.FsShell "\${@:2}" ;;
  *) exec "\${jvm[@]}" "\$@" ;;
esac
END
}

write_configuration() {
  core_site | site core
  hdfs_site | site hdfs
  yarn_site | site yarn
  local name i
  for name in resource_types capacity_scheduler; do
    { echo '<configuration>' && $name && echo '</configuration>'; } \
      >"$folder/conf/${name/_/-}.xml"
  done
  # Values of this file are not expanded, so each NodeManager has its own copy.
  for i in $(seq 1 "$nodes"); do
    mkdir -p -- "$folder/conf-nodemanager$i"
    {
      echo '<configuration>'
      property yarn.nodemanager.resource-type.yarn.io/gpu "$(gpus_of "$i")"
      property yarn.nodemanager.resource-type.trainer.io/tpu 2
      echo '</configuration>'
    } >"$folder/conf-nodemanager$i/node-resources.xml"
  done
  log_settings >"$folder/conf/log4j.properties"
  # The jars come without the web pages, but their folders have to exist.
  mkdir -p -- "$folder"/conf/webapps/{hdfs,datanode,static}
  environment >"$folder/env.sh"
  command_line_tools >"$folder/bin/yarn"
  chmod +x -- "$folder/bin/yarn"
  ln -sf -- yarn "$folder/bin/hadoop"
}
