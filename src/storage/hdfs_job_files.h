// A job's files in HDFS.
#pragma once

#include <string>
#include <vector>

#include "hadoop/hdfs/webhdfs.h"
#include "storage/job_files.h"

namespace tony::storage {

/// Files are written under another name and then renamed, since HDFS shows a file from its first
/// byte on.
///
/// What Create() and Replace() write is kept in extended attributes of an empty file where it is
/// small and the NameNode allows it: that takes some milliseconds. Closing a file with a block
/// takes 0.4 s more often than not, since HDFS's client, here the DataNode's, asks the NameNode
/// whether it has heard of the block, and when it has not, waits so long
/// (dfs.client.block.write.locateFollowingBlock.initial.delay.ms) before it asks again.
///
/// Blocks. Not thread safe.
class HdfsJobFiles : public JobFiles {
 public:
  /// `root`: the job's folder, absolute, without scheme and host, for its owner alone: what is made
  /// in it is guarded by that.
  HdfsJobFiles(hadoop::WebHdfs hdfs, std::string root)
      : hdfs_(std::move(hdfs)), root_(std::move(root)) {}

  absl::StatusOr<std::string> Read(const std::string& name) override;
  absl::Status Create(const std::string& name, const std::string& contents) override;
  absl::Status Replace(const std::string& name, const std::string& contents) override;
  absl::Status CreateFrom(const std::string& name, const std::string& path) override;
  absl::StatusOr<StoredFile> Describe(const std::string& name) override;
  absl::Status Remove(const std::string& name) override;

 private:
  std::string PathOf(const std::string& name) const { return root_ + "/" + name; }
  absl::StatusOr<std::vector<std::string>> ListAll(const std::string& folder) override;
  /// A path that nobody looks for, in the folder of `name`.
  std::string AsideOf(const std::string& name) const;
  absl::Status WriteAttributes(const std::string& aside, const std::string& contents);
  /// The contents under a name that nobody looks for, in the folder of `name`; its path.
  absl::StatusOr<std::string> WriteAside(const std::string& name, const std::string& contents);
  /// `done`; what lies aside is removed when it is an error.
  absl::Status OrRemove(const absl::Status& done, const std::string& aside);
  /// Of a file that was to be renamed: removed when it was not.
  absl::Status Settled(const absl::Status& renamed, const std::string& aside);

  hadoop::WebHdfs hdfs_;
  const std::string root_;
  bool attributes_ = true;  ///< the NameNode has not refused one yet
};

}  // namespace tony::storage
