// Descriptors of real processes.
#include "os/processes/open_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/os/process_support.h"

namespace tony::os {
namespace {

unsigned long InodeOf(int fd) {
  struct stat info {};
  EXPECT_EQ(::fstat(fd, &info), 0);
  return info.st_ino;
}

TEST(OpenFilesTest, CountsDescriptorsAndFindsSocketsOnce) {
  LinePipe output;
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const pid_t child = ForkChild([&] {
    const OpenFiles before = FindOpenFiles({::getpid()});
    for (int i = 0; i < 40; ++i) (void)::open("/dev/null", O_RDONLY);
    (void)::dup(pair[0]);
    ::dprintf(output.write_fd(), "%d\n", before.count);
    ::pause();
  });
  const int before = output.ReadNumber();
  const OpenFiles files = FindOpenFiles({child});
  // The child has counted the folder that it was reading, too.
  EXPECT_EQ(files.count, before + 40);
  EXPECT_TRUE(std::is_sorted(files.sockets.begin(), files.sockets.end()));
  EXPECT_EQ(std::count(files.sockets.begin(), files.sockets.end(), InodeOf(pair[0])), 1);
  EXPECT_EQ(std::count(files.sockets.begin(), files.sockets.end(), InodeOf(pair[1])), 1);
  // Two processes have more open than one, and the same sockets.
  const OpenFiles both = FindOpenFiles({child, ::getpid()});
  EXPECT_GT(both.count, files.count);
  EXPECT_EQ(std::count(both.sockets.begin(), both.sockets.end(), InodeOf(pair[0])), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(FindOpenFiles({child}).count, -1);
  ::close(pair[0]);
  ::close(pair[1]);
}

}  // namespace
}  // namespace tony::os
