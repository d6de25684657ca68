// What a peer may do to the server's side of TLS, and how long its streams live.
#include "rpc/security/tls_stream.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rpc/security/certificate_authority.h"
#include "tests/rpc/security/tls_peer.h"

namespace tony::rpc {
namespace {

constexpr int kUpdates = 50;

std::unique_ptr<TlsServer> MakeServer() {
  const CertificateAuthority authority = CertificateAuthority::Create("job-1").value();
  const Credentials credentials = authority.Issue(ClientRole("job-1")).value();
  return TlsServer::CreateForBrowsers(credentials.certificate_pem, credentials.key_pem).value();
}

// Each is a record without anything for the reader, and a peer may send as many as it likes.
TEST(TlsStream, UpdatesOfKeysDoNotKeepTheReader) {
  const std::unique_ptr<TlsServer> server = MakeServer();
  TlsPeer peer;
  const std::unique_ptr<ByteStream> stream = server->Wrap(peer.servers_end());
  ASSERT_TRUE(peer.ShakeHands(*stream));
  for (int i = 0; i < kUpdates; ++i) {
    ASSERT_EQ(SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(peer.ssl()), 1);
  }
  ASSERT_EQ(SSL_write(peer.ssl(), "x", 1), 1);
  char byte = 0;
  for (int i = 0; i < kUpdates; ++i) {
    ASSERT_EQ(stream->Read(&byte, 1).state, IoResult::State::kWantsRead) << i;
  }
  EXPECT_EQ(stream->Read(&byte, 1).state, IoResult::State::kMoved);
  EXPECT_EQ(byte, 'x');
}

TEST(TlsStream, MayOutliveItsServer) {
  std::unique_ptr<TlsServer> server = MakeServer();
  TlsPeer peer;
  const std::unique_ptr<ByteStream> stream = server->Wrap(peer.servers_end());
  ASSERT_TRUE(peer.ShakeHands(*stream));
  server.reset();
  // New keys are derived with the algorithms of the server's own library context.
  ASSERT_EQ(SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
  ASSERT_EQ(SSL_write(peer.ssl(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(stream->Read(&byte, 1).state, IoResult::State::kWantsRead);
  EXPECT_EQ(stream->Read(&byte, 1).state, IoResult::State::kMoved);
  EXPECT_EQ(stream->Write("y", 1).state, IoResult::State::kMoved);
  EXPECT_EQ(SSL_read(peer.ssl(), &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
}

// OpenSSL keeps state for each thread, and looks at it once more when the thread ends.
TEST(TlsStream, AServersThreadMayEndAfterIt) {
  for (int i = 0; i < 20; ++i) {
    std::promise<std::unique_ptr<TlsServer>> made;
    std::promise<void> over;
    std::thread maker([&] {
      made.set_value(MakeServer());
      over.get_future().wait();
    });
    std::unique_ptr<TlsServer> server = made.get_future().get();
    server.reset();
    // What was freed has other contents now.
    const std::vector<std::string> other(1000, std::string(200, 'x'));
    over.set_value();
    maker.join();
    EXPECT_EQ(other.size(), 1000U);
  }
}

}  // namespace
}  // namespace tony::rpc
