// A store for ranks that are threads of a test.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "collective/meeting/store.h"

namespace tony::collective {

/// The keys that all ranks of a test share. Thread safe.
class SharedKeys {
 public:
  void Put(const std::string& key, const std::string& value) {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
  }
  Result<std::string> Get(const std::string& key, Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline, [&] { return values_.contains(key); })) {
      return Status(Code::kDeadlineExceeded, "nobody has put " + key);
    }
    return values_[key];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

/// One rank's way to them.
class MemoryStore : public Store {
 public:
  explicit MemoryStore(SharedKeys& keys) : keys_(keys) {}
  Status Put(const std::string& key, const std::string& value) override {
    keys_.Put(key, value);
    return {};
  }
  Result<std::string> Get(const std::string& key, Deadline deadline) override {
    return keys_.Get(key, deadline);
  }

 private:
  SharedKeys& keys_;
};

}  // namespace tony::collective
