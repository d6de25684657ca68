// Hadoop's configuration: core-site.xml, hdfs-site.xml and yarn-site.xml of one folder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobfile/xml/problem.h"

namespace tony::hadoop {

/// Looks up an environment variable: its value, or nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// A value that the caller gives. A plain value.
struct GivenValue {
  std::string key;
  std::string value;
  std::string origin;  ///< where the user wrote it, for messages
};

/// Keys and values as Hadoop reads them. A later file (core, hdfs, yarn) overrides an earlier one,
/// and values that the caller gives override all, except for keys that a file marks as final. In
/// one file, the last value of a key wins. In a value, `${key}` stands for the value of that key,
/// `${env.NAME}` for an environment variable and `${env.NAME:-text}` for one with a default. The
/// keys that tony reads have Hadoop's defaults. A plain value.
class Configuration {
 public:
  /// Reads `folder`, the value of HADOOP_CONF_DIR. NotFound – there is no such folder, or it has
  /// none of the files; InvalidArgument – a file cannot be read, or is no configuration.
  static absl::StatusOr<Configuration> Load(const std::string& folder, Environment environment,
                                            const std::vector<GivenValue>& given = {});

  /// The value of `key`, without white space around it; empty if it has none. InvalidArgument – the
  /// value refers to an undefined variable, or to itself. All messages, also those of the functions
  /// below, name file, line and key and say what to do.
  absl::StatusOr<std::string> Text(const std::string& key) const;
  /// The value as a whole number; `fallback` if it has none. InvalidArgument – it is no whole
  /// number, or the codes of Text().
  absl::StatusOr<int64_t> Number(const std::string& key, int64_t fallback) const;
  /// The value as a Boolean; `fallback` if it has none. InvalidArgument – it is neither true nor
  /// false, or the codes of Text().
  absl::StatusOr<bool> Boolean(const std::string& key, bool fallback) const;
  /// The value as a list. Commas and line ends separate the items; white space around them and
  /// empty items are dropped. A comma cannot be escaped, other than in a job file's lists. The
  /// codes of Text().
  absl::StatusOr<std::vector<std::string>> List(const std::string& key) const;
  /// The value of a key that must have one. FailedPrecondition – it has none; otherwise the codes
  /// of Text().
  absl::StatusOr<std::string> Required(const std::string& key) const;

  /// Whether a file sets `key`.
  bool IsSet(const std::string& key) const { return entries_.contains(key); }
  /// The place where `key` is set, "FOLDER/yarn-site.xml:12" or the origin of a given value, or, if
  /// nothing sets it, the file where it belongs.
  std::string Where(const std::string& key) const;
  /// Makes a status with `code`, such as InvalidArgument, whose message names file, line and key:
  /// "FILE:LINE: KEY: message; remedy".
  absl::Status Complaint(absl::StatusCode code, const std::string& key, const std::string& message,
                         const std::string& remedy) const;

  const std::string& folder() const { return folder_; }
  /// Oddities of the files that did no harm, such as unknown elements and repeated keys.
  const std::vector<jobfile::Problem>& notes() const { return notes_; }

 private:
  struct Entry {
    std::string value;
    std::string file;
    int line = 0;  ///< 0: `file` is the origin of a given value
    bool final = false;
  };

  absl::Status Add(const std::string& file);
  void Add(const GivenValue& given);
  std::optional<std::string> Raw(const std::string& name) const;
  std::optional<std::string> Variable(const std::string& name) const;

  std::string folder_;
  Environment environment_;
  std::map<std::string, Entry> entries_;
  std::vector<jobfile::Problem> notes_;
};

}  // namespace tony::hadoop
