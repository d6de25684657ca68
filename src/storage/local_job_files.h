// Stores a job's files in a folder of this machine.
#pragma once

#include <string>
#include <vector>

#include "storage/job_files.h"

namespace tony::storage {

/// Fast enough for an event loop if the disk is. Thread safe.
class LocalJobFiles : public JobFiles {
 public:
  explicit LocalJobFiles(std::string root) : root_(std::move(root)) {}

  absl::StatusOr<std::string> Read(const std::string& name) override;
  absl::Status Create(const std::string& name, const std::string& contents) override;
  absl::Status Replace(const std::string& name, const std::string& contents) override;
  absl::Status CreateFrom(const std::string& name, const std::string& path) override;
  absl::StatusOr<StoredFile> Describe(const std::string& name) override;
  absl::Status Remove(const std::string& name) override;

 private:
  absl::StatusOr<std::vector<std::string>> ListAll(const std::string& folder) override;
  std::string PathOf(const std::string& name) const { return root_ + "/" + name; }

  const std::string root_;
};

}  // namespace tony::storage
