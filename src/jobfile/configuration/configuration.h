// The merged configuration of one job: all keys that were set, their origins, and typed access to
// the values.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobfile/xml/problem.h"

namespace tony::jobfile {

/// The layers of a configuration. A later layer replaces the values of an earlier one.
enum class Layer { kMachineFile, kSiteFile, kJobFile, kCommandLine };

/// The place where a value was written.
struct Origin {
  Layer layer = Layer::kJobFile;
  std::string file;  ///< as the user wrote it; on the command line the option, e.g. `--conf`
  int line = 0;      ///< 0 on the command line

  /// `job.xml:12` or `--conf`.
  std::string Text() const;
  bool operator==(const Origin&) const = default;
};

/// One value as it was written, but with absolute paths.
struct Setting {
  std::string value;
  Origin origin;
  bool final = false;  ///< later layers may not change it
  /// In a job's record (`<source>`): where the value was set before; empty: not said.
  std::string recorded_origin = {};

  bool operator==(const Setting&) const = default;
};

/// A key and its value. It has several settings only if the command line has added to a list.
struct Entry {
  std::string key;
  std::vector<Setting> settings;

  /// The value of the only setting, or the joined list of several.
  std::string Value() const;
  /// Value() for people's eyes: of secret addresses (ValueType::kSecretUrls) the servers alone.
  std::string ShownValue() const;
  /// The origins of all settings, separated by commas.
  std::string OriginText() const;
  /// Where the value was set before it came into a job's record; OriginText() if that is not said.
  std::string RecordedOrigin() const;
};

/// The keys, in the order in which they were first set, with their values. White space around
/// values is removed. Not thread safe, but const functions may be called from several threads.
///
/// The typed getters return the default in the key table if the key is not set or has a value that
/// the key does not allow. BuildJob() reports the latter to the user. The key must be in the table.
class Configuration {
 public:
  /// `home_folder`: the meaning of `~`. `job_file`: the file named by problems of the job as a
  /// whole. Both may be empty.
  explicit Configuration(std::string home_folder = "", std::string job_file = "");

  /// Sets a value. Layers must be set in their order. If an earlier layer has declared the key
  /// final, the earlier value stays and the problem is returned.
  std::optional<Problem> Set(const std::string& key, Setting setting);

  const std::vector<Entry>& entries() const { return entries_; }
  const std::string& home_folder() const { return home_folder_; }
  const std::string& job_file() const { return job_file_; }

  /// The key's entry; nullptr if the key is not set. The pointer is valid until the next Set().
  const Entry* Find(const std::string& key) const;
  bool IsSet(const std::string& key) const { return Find(key) != nullptr; }

  /// The text of the value or of the default. A default path is absolute if the home folder is
  /// known.
  std::string GetText(const std::string& key) const;
  bool GetBoolean(const std::string& key) const;
  int64_t GetNumber(const std::string& key) const;
  int64_t GetMemoryMb(
      const std::string& key) const;  ///< MiB; 0 if there is neither a value nor a default
  std::chrono::milliseconds GetDuration(
      const std::string& key) const;  ///< zero for negative values, which mean "no limit"
  std::vector<std::string> GetList(const std::string& key) const;
  std::map<std::string, std::string> GetKeyValues(const std::string& key) const;

 private:
  std::string home_folder_;
  std::string job_file_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t> index_;  // key → position in entries_
};

}  // namespace tony::jobfile
