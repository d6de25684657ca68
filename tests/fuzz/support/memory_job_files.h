// A job's small files in memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/job_files.h"

namespace tony::fuzz {

using FilesByName = std::map<std::string, std::string>;

/// Not thread safe. Several of them may have the same files, as ApplicationMasters one after the
/// other do.
class MemoryJobFiles : public storage::JobFiles {
 public:
  explicit MemoryJobFiles(std::shared_ptr<FilesByName> files) : files_(std::move(files)) {}

  absl::StatusOr<std::string> Read(const std::string& name) override {
    const auto found = files_->find(name);
    if (found == files_->end()) return absl::NotFoundError(name);
    return found->second;
  }
  absl::Status Create(const std::string& name, const std::string& contents) override {
    return files_->emplace(name, contents).second ? absl::OkStatus()
                                                  : absl::AlreadyExistsError(name);
  }
  absl::Status Replace(const std::string& name, const std::string& contents) override {
    (*files_)[name] = contents;
    return absl::OkStatus();
  }
  absl::Status CreateFrom(const std::string& name, const std::string&) override {
    return absl::UnimplementedError(name);
  }
  absl::StatusOr<storage::StoredFile> Describe(const std::string& name) override {
    const auto found = files_->find(name);
    if (found == files_->end()) return absl::NotFoundError(name);
    return storage::StoredFile{.bytes = static_cast<int64_t>(found->second.size())};
  }
  absl::Status Remove(const std::string& name) override {
    files_->erase(name);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::vector<std::string>> ListAll(const std::string& folder) override {
    std::vector<std::string> names;
    for (const auto& [name, contents] : *files_) {
      if (name.starts_with(folder + "/")) names.push_back(name.substr(folder.size() + 1));
    }
    return names;
  }

  const std::shared_ptr<FilesByName> files_;
};

}  // namespace tony::fuzz
