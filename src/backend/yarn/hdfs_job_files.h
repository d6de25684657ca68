// A job's files in HDFS.
#pragma once

#include <string>
#include <vector>

#include "backend/job_files.h"
#include "hadoop/webhdfs.h"

namespace tony::backend {

/// Files are written under another name and then renamed, since HDFS shows a file from its first
/// byte on. Blocks. Not thread safe.
class HdfsJobFiles : public JobFiles {
 public:
  /// `root`: the job's folder, absolute, without scheme and host, for its owner alone: what is made
  /// in it is guarded by that.
  HdfsJobFiles(hadoop::WebHdfs hdfs, std::string root)
      : hdfs_(std::move(hdfs)), root_(std::move(root)) {}

  absl::StatusOr<std::string> Read(const std::string& name) override;
  absl::Status Create(const std::string& name, const std::string& contents) override;
  absl::Status Replace(const std::string& name, const std::string& contents) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& folder) override;
  absl::Status CreateFrom(const std::string& name, const std::string& path) override;
  absl::StatusOr<StoredFile> Describe(const std::string& name) override;
  absl::Status Remove(const std::string& name) override;

 private:
  std::string PathOf(const std::string& name) const { return root_ + "/" + name; }
  /// A path that nobody looks for, in the folder of `name`.
  std::string AsideOf(const std::string& name) const;
  /// Gives what lies aside its name, or removes it.
  absl::Status Settle(const std::string& aside, const std::string& name);

  hadoop::WebHdfs hdfs_;
  const std::string root_;
};

}  // namespace tony::backend
