// A named pipe by which a script tells a test, on the test's own loop, that it has come somewhere.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "os/files/unique_fd.h"
#include "tests/common/loop_driver.h"

namespace tony::executor {

/// Scripts write lines to path(). Not thread safe: owned by the loop that `driver` runs.
class ReadyPipe {
 public:
  ReadyPipe(LoopDriver& driver, std::string path) : driver_(driver), path_(std::move(path)) {
    EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0) << path_;
    // Open for both, so that it has no end when no script has it open.
    fd_.Reset(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(fd_.valid());
    watch_ = driver_.loop().WatchReadable(fd_.get(), [this] {
      char bytes[4096];
      const ssize_t count = ::read(fd_.get(), bytes, sizeof bytes);
      if (count > 0) text_.append(bytes, static_cast<size_t>(count));
      driver_.Changed();
    });
  }

  const std::string& path() const { return path_; }

  /// The next line; "" when patience ends.
  std::string NextLine() {
    if (!driver_.Await([this] { return text_.find('\n') != std::string::npos; })) return "";
    const size_t end = text_.find('\n');
    std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return line;
  }
  /// The next line as a number, 0 when it is none.
  pid_t NextPid() { return std::atoi(NextLine().c_str()); }

 private:
  LoopDriver& driver_;
  const std::string path_;
  std::string text_;
  os::UniqueFd fd_;
  std::unique_ptr<EventLoop::Handle> watch_;
};

}  // namespace tony::executor
