// A store for ranks that see the same folder: a file for each key.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "collective/meeting/store.h"

namespace bench {

/// Only for programs that are measured after they have met. Not thread safe.
class FolderStore : public tony::collective::Store {
 public:
  explicit FolderStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  tony::collective::Status Put(const std::string& key, const std::string& value) override {
    const auto path = PathOf(key);
    const auto part = path.string() + ".part";
    std::ofstream file(part, std::ios::binary);
    file << value;
    file.close();
    // Renaming makes the whole value visible at once.
    std::error_code error;
    if (file.good()) std::filesystem::rename(part, path, error);
    if (file.good() && !error) return {};
    return {tony::collective::Code::kInternal, "cannot write " + part};
  }

  tony::collective::Result<std::string> Get(const std::string& key,
                                            tony::collective::Deadline deadline) override {
    const auto path = PathOf(key);
    while (!std::filesystem::exists(path)) {
      if (std::chrono::steady_clock::now() >= deadline) {
        return tony::collective::Status(tony::collective::Code::kDeadlineExceeded,
                                        "nobody has put " + key);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  std::filesystem::path PathOf(std::string key) const {
    for (char& one : key) one = one == '/' ? '-' : one;
    return folder_ / key;
  }

  const std::filesystem::path folder_;
};

}  // namespace bench
