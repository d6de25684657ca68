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

/// The values of an environment variable, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Keys and values as Hadoop reads them: a later file wins over an earlier one (core, hdfs, yarn)
/// but for a key that the earlier one says is final, and the last of a key in one file wins.
/// `${key}` in a value stands for that key's value, `${env.NAME}` for an environment variable,
/// `${env.NAME:-text}` with a default. Keys that nobody sets have Hadoop's defaults, as far as we
/// use them. A plain value.
class Configuration {
 public:
  /// The folder that HADOOP_CONF_DIR names. NotFound – there is no such folder, or none of the
  /// files in it; InvalidArgument – a file is no configuration; PermissionDenied – not readable.
  static absl::StatusOr<Configuration> Load(const std::string& folder, Environment environment);

  /// The value, without white space around it; empty when it has none. InvalidArgument – it refers
  /// to something that nobody defines, or to itself. This and all messages below name file and
  /// line, the key and what to do.
  absl::StatusOr<std::string> Text(const std::string& key) const;
  /// `fallback` when it has no value. InvalidArgument – not a whole number; as Text.
  absl::StatusOr<int64_t> Number(const std::string& key, int64_t fallback) const;
  /// `fallback` when it has no value. InvalidArgument – neither true nor false; as Text.
  absl::StatusOr<bool> Boolean(const std::string& key, bool fallback) const;
  /// The items between commas and ends of lines, without white space around them and without empty
  /// ones; unlike our own lists', a comma cannot be escaped. The codes of Text().
  absl::StatusOr<std::vector<std::string>> List(const std::string& key) const;
  /// Text, where it has to be there. FailedPrecondition – it is not; as Text.
  absl::StatusOr<std::string> Required(const std::string& key) const;

  /// Whether a file sets it.
  bool IsSet(const std::string& key) const { return entries_.contains(key); }
  /// "FOLDER/yarn-site.xml:12", or the file where `key` belongs if none sets it.
  std::string Where(const std::string& key) const;
  /// A status of `code`, such as InvalidArgument, that names file, line and key:
  /// "FILE:LINE: KEY: message; remedy".
  absl::Status Complaint(absl::StatusCode code, const std::string& key, const std::string& message,
                         const std::string& remedy) const;

  const std::string& folder() const { return folder_; }
  /// What is odd about the files and was passed over.
  const std::vector<jobfile::Problem>& notes() const { return notes_; }

 private:
  struct Entry {
    std::string value;
    std::string file;
    int line = 0;
    bool final = false;
  };

  absl::Status Add(const std::string& file);
  std::optional<std::string> Raw(const std::string& name) const;
  std::optional<std::string> Variable(const std::string& name) const;

  std::string folder_;
  Environment environment_;
  std::map<std::string, Entry> entries_;
  std::vector<jobfile::Problem> notes_;
};

}  // namespace tony::hadoop
