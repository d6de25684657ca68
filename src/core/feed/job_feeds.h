// Where and how a job is fed, for clients.
#pragma once

#include <string>
#include <vector>

#include "core/feed/feed_table.h"

namespace tony::core {

/// Contains a secret: never logged. Plain data.
struct JobFeeds {
  /// A running task that can be fed.
  struct Task {
    std::string task;       ///< "worker:0"
    std::string host;       ///< name or address at which others reach it
    std::string host_id;    ///< equal for two tasks exactly when they are on one host
    std::string unix_path;  ///< of the socket for producers on that host
    int tls_port = 0;       ///< for producers anywhere
    std::string container;  ///< the endpoint's certificate is that of this container's executor
    int attempt = 0;
  };
  std::vector<Task> tasks;
  std::string token;      ///< hexadecimal, for producers
  std::string authority;  ///< PEM: the certificate that has signed those of the endpoints
  std::vector<FeedTable::View> feeds;
};

}  // namespace tony::core
