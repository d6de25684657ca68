// A client's Hadoop configuration, written by a test.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "backend/yarn/yarn_cluster.h"
#include "hadoop/rpc/tcp_stream.h"
#include "tests/hadoop/fakes/fake_name_node.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {

/// A folder with core-site.xml. Not thread safe.
class YarnConfiguration {
  const os::TemporaryFolder folder_;

 public:
  /// Properties, all of them in the one file.
  std::map<std::string, std::string> properties = {{"yarn.resourcemanager.hostname", "rm"}};
  YarnClusterOptions options{.conf_dir = folder_.path(),
                             .user = "bob",
                             .home = "/home/bob",
                             .timeout = std::chrono::seconds(20)};

  void SetResourceManager(const hadoop::Endpoint& endpoint) {
    properties["yarn.resourcemanager.address"] = hadoop::ToString(endpoint);
  }

  void SetHdfs(const hadoop::FakeNameNode& name_node) {
    properties["fs.defaultFS"] = absl::StrCat("hdfs://", hadoop::ToString(name_node.endpoint()));
    properties["dfs.namenode.http-address"] = hadoop::ToString(name_node.endpoint());
  }

  absl::StatusOr<YarnCluster> Find() const {
    std::string text = "<configuration>\n";
    for (const auto& [name, value] : properties) {
      absl::StrAppend(&text, "<property><name>", name, "</name><value>", value,
                      "</value></property>\n");
    }
    os::Put(folder_ / "core-site.xml", text + "</configuration>\n");
    return YarnCluster::Find(options, [](const std::string&) { return std::nullopt; });
  }
};

}  // namespace tony::backend
