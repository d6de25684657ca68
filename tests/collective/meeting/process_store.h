// A store for ranks that are processes of a test.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collective/base/descriptor.h"
#include "tests/collective/meeting/memory_store.h"

namespace tony::collective {

/// One process's end: each request is a packet, and so is its answer.
class ProcessStore : public Store {
 public:
  explicit ProcessStore(int connection) : connection_(connection) {}
  Status Put(const std::string& key, const std::string& value) override {
    return Ask("p" + key + "\n" + value).status();
  }
  Result<std::string> Get(const std::string& key, Deadline) override { return Ask("g" + key); }

 private:
  Result<std::string> Ask(const std::string& request) {
    std::array<char, 65536> answer;
    if (send(connection_, request.data(), request.size(), MSG_NOSIGNAL) < 0) return Gone();
    const ssize_t size = recv(connection_, answer.data(), answer.size(), 0);
    if (size <= 0) return Gone();
    return std::string(answer.data() + 1, static_cast<size_t>(size) - 1);
  }
  static Status Gone() { return {Code::kDeadlineExceeded, "the store is gone"}; }

  const int connection_;
};

/// The test's end: a connection for each process, opened before it is forked.
class ProcessStores {
 public:
  explicit ProcessStores(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      int ends[2] = {-1, -1};
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
      ours_.emplace_back(ends[0]);
      theirs_.emplace_back(ends[1]);
    }
  }
  ~ProcessStores() {
    for (std::thread& thread : threads_) thread.join();
  }
  ProcessStores(const ProcessStores&) = delete;
  ProcessStores& operator=(const ProcessStores&) = delete;

  /// In the forked process.
  int EndOf(int rank) const { return theirs_[static_cast<size_t>(rank)].get(); }
  /// When all are forked. Until they have ended.
  void Serve() {
    theirs_.clear();
    for (const Descriptor& connection : ours_) {
      threads_.emplace_back([this, end = connection.get()] { Answer(end); });
    }
  }

 private:
  void Answer(int connection) {
    std::array<char, 65536> request;
    for (;;) {
      const ssize_t size = recv(connection, request.data(), request.size(), 0);
      if (size <= 0) return;
      const std::string words(request.data() + 1, static_cast<size_t>(size) - 1);
      const size_t line = words.find('\n');
      std::string answer = "=";
      if (request[0] == 'p') {
        keys_.Put(words.substr(0, line), words.substr(line + 1));
      } else {
        auto value = keys_.Get(words, After(std::chrono::seconds(60)));
        EXPECT_TRUE(value.ok()) << value.status().message();
        if (!value.ok()) return;
        answer += *value;
      }
      if (send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  SharedKeys keys_;
  std::vector<Descriptor> ours_;
  std::vector<Descriptor> theirs_;
  std::vector<std::thread> threads_;
};

}  // namespace tony::collective
