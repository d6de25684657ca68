// The merged configuration of one job: every key that was set, where it was set, and typed access
// to the values.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobfile/xml/problem.h"

namespace tony::jobfile {

/// Who says what: a later layer replaces an earlier one.
enum class Layer { kSiteFile, kJobFile, kCommandLine };

/// Where a value was written.
struct Origin {
  Layer layer = Layer::kJobFile;
  std::string file;  ///< as the user wrote it; on the command line the option, e.g. `--conf`
  int line = 0;      ///< 0 on the command line

  /// `job.xml:12` or `--conf`.
  std::string Text() const;
  bool operator==(const Origin&) const = default;
};

/// One value as it was written, with paths already absolute.
struct Setting {
  std::string value;
  Origin origin;
  bool final = false;  ///< later layers may not change it

  bool operator==(const Setting&) const = default;
};

/// A key and its value. There are several settings only where the command line added to a file's
/// list.
struct Entry {
  std::string key;
  std::vector<Setting> settings;

  /// The value: that of the one setting, or the joined list.
  std::string Value() const;
  /// The origins of all settings, divided by commas.
  std::string OriginText() const;
};

/// Keeps the keys in the order in which they were first set. Values are kept without white space
/// around them. Not thread safe; const use from several threads is.
///
/// The typed getters give the key's default (of the key table) when it is not set, or set to
/// something that the key does not allow; BuildJob() has told the user about the latter. The key
/// must be in the key table.
class Configuration {
 public:
  /// `home_folder` is what `~` stands for, and `job_file` what problems of the job as a whole are
  /// reported for; both may be empty.
  explicit Configuration(std::string home_folder = "", std::string job_file = "");

  /// Takes a value of the same or a later layer than those before. Returns the problem when an
  /// earlier layer has declared the key final; the earlier value then stays.
  std::optional<Problem> Set(const std::string& key, Setting setting);

  const std::vector<Entry>& entries() const { return entries_; }
  const std::string& home_folder() const { return home_folder_; }
  const std::string& job_file() const { return job_file_; }

  /// Nullptr when the key is not set. The pointer holds until the next Set().
  const Entry* Find(const std::string& key) const;
  bool IsSet(const std::string& key) const { return Find(key) != nullptr; }

  /// The value's text, or the default's. A default path is absolute, as far as the home folder is
  /// known.
  std::string GetText(const std::string& key) const;
  bool GetBoolean(const std::string& key) const;
  int64_t GetNumber(const std::string& key) const;
  int64_t GetMemoryMb(
      const std::string& key) const;  ///< MiB; 0 when neither value nor default is there
  std::chrono::milliseconds GetDuration(
      const std::string& key) const;  ///< negative ones ("no limit") as zero
  std::vector<std::string> GetList(const std::string& key) const;
  std::map<std::string, std::string> GetKeyValues(const std::string& key) const;

 private:
  std::string home_folder_;
  std::string job_file_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t> index_;  // key → position in entries_
};

}  // namespace tony::jobfile
