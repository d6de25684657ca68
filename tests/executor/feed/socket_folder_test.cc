// Which folders of sockets count as left behind.
#include "executor/feed/socket_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>

#include "os/files/unique_fd.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

class SocketFolderTest : public ::testing::Test {
 protected:
  SocketFolderTest() {
    EXPECT_EQ(::mkdir(folder_.c_str(), 0700), 0);
    program_ = Listen("/program");
    producers_ = Listen("/producers");
    Age();
  }

  os::UniqueFd Listen(const std::string& name) const {
    os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder_ + name).copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    return socket;
  }
  /// The folder looks two minutes old.
  void Age() const {
    timespec times[2] = {};
    times[0].tv_nsec = UTIME_OMIT;
    times[1].tv_sec = ::time(nullptr) - 120;
    EXPECT_EQ(::utimensat(AT_FDCWD, folder_.c_str(), times, 0), 0);
  }
  bool Exists() const { return std::filesystem::exists(folder_ + "/program"); }

  os::TemporaryFolder parent_;
  const std::string folder_ = parent_ / "tony-feed-x";
  os::UniqueFd program_;
  os::UniqueFd producers_;
};

TEST_F(SocketFolderTest, OfAKilledExecutorIsRemoved) {
  program_.Reset();
  producers_.Reset();
  RemoveLeftSocketFolder(folder_);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(SocketFolderTest, OfOneThatWasKilledBetweenItsSocketsIsRemoved) {
  program_.Reset();
  producers_.Reset();
  EXPECT_TRUE(std::filesystem::remove(folder_ + "/program"));
  Age();
  RemoveLeftSocketFolder(folder_);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(SocketFolderTest, OfALiveOneWithOneSocketStays) {
  program_.Reset();
  EXPECT_TRUE(std::filesystem::remove(folder_ + "/program"));
  Age();
  RemoveLeftSocketFolder(folder_);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/producers"));
}

TEST_F(SocketFolderTest, OfALiveOneStays) {
  program_.Reset();
  RemoveLeftSocketFolder(folder_);
  EXPECT_TRUE(Exists());
}

TEST_F(SocketFolderTest, OfOneThatIsAboutToListenStays) {
  program_.Reset();
  producers_.Reset();
  EXPECT_EQ(::utimensat(AT_FDCWD, folder_.c_str(), nullptr, 0), 0);
  RemoveLeftSocketFolder(folder_);
  EXPECT_TRUE(Exists());
}

TEST_F(SocketFolderTest, ThatOthersMayReadIsNotOurs) {
  program_.Reset();
  producers_.Reset();
  EXPECT_EQ(::chmod(folder_.c_str(), 0755), 0);
  RemoveLeftSocketFolder(folder_);
  EXPECT_TRUE(Exists());
}

TEST_F(SocketFolderTest, WithOtherFilesKeepsThem) {
  program_.Reset();
  producers_.Reset();
  EXPECT_TRUE(std::filesystem::create_directory(folder_ + "/mine"));
  Age();
  RemoveLeftSocketFolder(folder_);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/mine"));
}

TEST(SocketFolder, IsMadeAndRemoved) {
  os::TemporaryFolder working;
  std::string path;
  {
    SocketFolder folder;
    ASSERT_TRUE(folder.Make(working.path()).ok());
    path = folder.path();
    EXPECT_EQ(path, working / ".tony-feed");
    SocketFolder second;
    EXPECT_TRUE(absl::IsAlreadyExists(second.Make(working.path())));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  SocketFolder shared;
  ASSERT_TRUE(shared.Make(working.path() + "/" + std::string(100, 'x')).ok());
  EXPECT_EQ(shared.path().rfind("/tmp/tony-feed-", 0), 0u);
}

}  // namespace
}  // namespace tony::executor
