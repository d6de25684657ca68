// The light worker's client does with failures what Horovod's does.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "common/tcp_socket.h"
#include "rendezvous/local_store.h"
#include "rendezvous/rendezvous_server.h"
#include "tests/common/any_peer.h"
#include "tests/common/loop_driver.h"
#include "tests/rendezvous/gloo_worker.h"

namespace tony::rendezvous {
namespace {

/// Runs `use` on a thread, and the loop until it has ended.
template <typename Use>
void RunBeside(LoopDriver& driver, Use use) {
  bool ended = false;
  std::thread thread([&] {
    use();
    driver.loop().Post([&] { ended = true; });
    driver.Changed();
  });
  EXPECT_TRUE(driver.Await([&] { return ended; }));
  thread.join();
}

TEST(HttpStoreClient, SendsWhatHorovodSends) {
  LoopDriver driver;
  std::vector<std::string> requests;
  std::vector<std::unique_ptr<TcpSocket>> sockets;
  const auto listener = TcpListener::Listen(driver.loop(), "127.0.0.1", 0, [&](auto socket) {
    TcpSocket* const accepted = socket.get();
    sockets.push_back(std::move(socket));
    accepted->Read([&, accepted](const absl::StatusOr<std::string>& bytes) {
      requests.push_back(bytes.value_or("lost"));
      accepted->Write("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", [](const auto&) {});
    });
  });
  ASSERT_TRUE(listener.ok()) << listener.status();
  RunBeside(driver, [&] {
    HttpStoreClient client({.port = (*listener)->port(), .host = "driver"});
    EXPECT_EQ(*client.Get("global", "rank_0"), "abc");
    EXPECT_TRUE(client.Put("global", "0", "value").ok());
    EXPECT_TRUE(client.Delete("global", "0").ok());
  });
  EXPECT_EQ(requests,
            (std::vector<std::string>{
                "GET /global/rank_0 HTTP/1.1\r\nHost: driver\r\nContent-Length: 0\r\n\r\n",
                "PUT /global/0 HTTP/1.1\r\nHost: driver\r\nContent-Length: 5\r\n\r\nvalue",
                "DELETE /global/0 HTTP/1.1\r\nHost: driver\r\nContent-Length: 0\r\n\r\n"}));
}

TEST(HttpStoreClient, TriesThreeTimes) {
  LoopDriver driver;
  LocalStore store(driver.loop(), {.bytes = 1, .keys = 100});
  const auto server = RendezvousServer::Start(driver.loop(), store, 0, AnyPeer(), {});
  ASSERT_TRUE(server.ok()) << server.status();
  RunBeside(driver, [&] {
    HttpStoreClient client(
        {.port = (*server)->port(), .retry_pause = std::chrono::milliseconds(1)});
    EXPECT_EQ(client.Put("global", "0", "value").code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(client.counts().failed, 3U);
  });
  EXPECT_EQ((*server)->counts().refused, 3U);
}

TEST(HttpStoreClient, PollsUntilTheValueIsThere) {
  LoopDriver driver;
  LocalStore store(driver.loop(), {.bytes = 1000, .keys = 100});
  const auto server = RendezvousServer::Start(driver.loop(), store, 0, AnyPeer(), {.waiting = 0});
  ASSERT_TRUE(server.ok()) << server.status();
  RunBeside(driver, [&] {
    HttpStoreClient client({.port = (*server)->port(), .poll = std::chrono::milliseconds(1)});
    driver.loop().Post([&] {
      store.Put("global", "0", std::make_shared<const std::string>("v"), [](const auto&) {});
    });
    EXPECT_TRUE(client.Wait("global", "0").ok());
    EXPECT_EQ(*client.Get("global", "0"), "v");
  });
}

TEST(HttpStoreClient, GivesUpWhenTheTimeIsOver) {
  LoopDriver driver;
  LocalStore store(driver.loop(), {.bytes = 1000, .keys = 100});
  const auto server = RendezvousServer::Start(driver.loop(), store, 0, AnyPeer(), {.waiting = 0});
  ASSERT_TRUE(server.ok()) << server.status();
  RunBeside(driver, [&] {
    HttpStoreClient client({.port = (*server)->port(), .timeout = std::chrono::seconds(0)});
    EXPECT_EQ(client.Wait("global", "0").code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_GE(client.counts().missing, 1U);
  });
}

}  // namespace
}  // namespace tony::rendezvous
