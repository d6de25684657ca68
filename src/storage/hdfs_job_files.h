// Stores a job's files in HDFS.
#pragma once

#include <string>
#include <vector>

#include "hadoop/hdfs/webhdfs.h"
#include "storage/job_files.h"

namespace tony::storage {

/// Files are written under another name and then renamed, because HDFS shows a file from its first
/// byte on.
///
/// The contents given to Create() and Replace() are stored in extended attributes of an empty file,
/// if they are small and the NameNode allows it: this takes some milliseconds. Closing a file that
/// has a block usually takes 0.4 s. HDFS's client, which is the DataNode here, asks the NameNode
/// whether it has heard of the block; if it has not, the client waits for
/// dfs.client.block.write.locateFollowingBlock.initial.delay.ms before it asks again.
///
/// Blocks. Not thread safe.
class HdfsJobFiles : public JobFiles {
 public:
  /// `root`: the job's folder, absolute, without scheme and host. It must be accessible only to its
  /// owner: this protects everything made in it.
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
  /// A new path that no reader looks for, in the folder of `name`.
  std::string AsideOf(const std::string& name) const;
  absl::Status WriteAttributes(const std::string& aside, const std::string& contents);
  /// Writes the contents under a name that no reader looks for, in the folder of `name`; returns
  /// the path.
  absl::StatusOr<std::string> WriteAside(const std::string& name, const std::string& contents);
  /// Returns `done`; removes the file `aside` when `done` is an error.
  absl::Status OrRemove(const absl::Status& done, const std::string& aside);
  /// Returns the result of a rename of `aside`; removes `aside` when the rename failed.
  absl::Status Settled(const absl::Status& renamed, const std::string& aside);

  hadoop::WebHdfs hdfs_;
  const std::string root_;
  bool attributes_ = true;  ///< the NameNode has not refused an attribute yet
};

}  // namespace tony::storage
