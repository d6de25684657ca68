// Messages over a real socket pair.
#include "os/processes/message_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "os/containment/keeper_wire.h"

namespace tony::os {
namespace {

class MessageSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    here_.Reset(ends[0]);
    there_.Reset(ends[1]);
  }
  UniqueFd here_, there_;
};

TEST_F(MessageSocketTest, KeepsBoundariesAndOrder) {
  ASSERT_TRUE(SendMessage(here_.get(), KeeperCommand{.grace = std::chrono::seconds(1)}));
  ASSERT_TRUE(SendMessage(here_.get(), KeeperCommand{.grace = std::chrono::seconds(2)}));
  KeeperCommand command;
  std::vector<UniqueFd> descriptors;
  ASSERT_GT(ReceiveMessage(there_.get(), command, descriptors, false), 0);
  EXPECT_EQ(command.grace, std::chrono::seconds(1));
  ASSERT_GT(ReceiveMessage(there_.get(), command, descriptors, false), 0);
  EXPECT_EQ(command.grace, std::chrono::seconds(2));
  EXPECT_EQ(ReceiveMessage(there_.get(), command, descriptors, false), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(MessageSocketTest, CarriesDescriptors) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  ASSERT_TRUE(SendMessage(here_.get(), KeeperCommand{}, {write_end.get(), read_end.get()}));
  KeeperCommand command;
  std::vector<UniqueFd> descriptors;
  ASSERT_GT(ReceiveMessage(there_.get(), command, descriptors, true), 0);
  ASSERT_EQ(descriptors.size(), 2u);
  EXPECT_NE(descriptors[0].get(), write_end.get());
  ASSERT_EQ(::write(descriptors[0].get(), "x", 1), 1);
  char byte = 0;
  ASSERT_EQ(::read(read_end.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(MessageSocketTest, TellsTheEndAndForeignMessages) {
  KeeperCommand command;
  std::vector<UniqueFd> descriptors;
  ASSERT_EQ(::send(here_.get(), "short", 5, 0), 5);
  EXPECT_EQ(ReceiveMessage(there_.get(), command, descriptors, true), -1);
  EXPECT_EQ(errno, EBADMSG);
  here_.Reset();
  EXPECT_EQ(ReceiveMessage(there_.get(), command, descriptors, true), 0);
  EXPECT_FALSE(SendMessage(there_.get(), command));
  EXPECT_EQ(errno, EPIPE);
}

}  // namespace
}  // namespace tony::os
