# Part of scripts/yarn-cluster: Hadoop's jars by Maven.
# shellcheck shell=bash

readonly artifacts=(hadoop-common hadoop-auth hadoop-hdfs hadoop-hdfs-client hadoop-yarn-api
  hadoop-yarn-common hadoop-yarn-client hadoop-yarn-server-common
  hadoop-yarn-server-resourcemanager hadoop-yarn-server-nodemanager
  hadoop-yarn-server-timelineservice) # the ResourceManager does not start without this one

# A project that depends on all jars, so that Maven finds their dependencies.
project() {
  local artifact
  echo '<project><modelVersion>4.0.0</modelVersion><groupId>tony</groupId>'
  echo '<artifactId>hadoop</artifactId><version>1</version><packaging>pom</packaging><dependencies>'
  for artifact in "${artifacts[@]}"; do
    echo "<dependency><groupId>org.apache.hadoop</groupId><artifactId>$artifact</artifactId>"
    echo "<version>$version</version></dependency>"
  done
  echo '</dependencies></project>'
}

# Prints the folder that holds lib/*.jar; the first call takes a minute. A folder without the file
# `complete` is left from an interrupted download.
fetch() {
  local cache=${TONY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tony} target
  mkdir -p -- "$cache"
  target=$(cd -- "$cache" && pwd)/hadoop-$version
  if [[ ! -e $target/complete ]]; then
    command -v mvn >/dev/null || fail "Maven is missing; run scripts/setup"
    exec {lock}>"$target.lock"
    flock "$lock"
  fi
  if [[ ! -e $target/complete ]]; then
    say "fetching Hadoop $version into $target" >&2
    rm -rf -- "$target"
    mkdir -- "$target"
    project >"$target/pom.xml"
    mvn --quiet --batch-mode --file "$target/pom.xml" \
      org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
      "-DoutputDirectory=$target/lib" -DincludeScope=runtime >&2 ||
      fail "Maven cannot fetch Hadoop $version, see above"
    touch -- "$target/complete"
  fi
  printf '%s\n' "$target"
}
