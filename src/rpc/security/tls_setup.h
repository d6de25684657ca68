// Sets OpenSSL up for our connections: few algorithms, no session tickets.
#pragma once

namespace tony::rpc {

/// Reduces what OpenSSL offers to this process's code to P-256 (ECDH and ECDSA), AES-GCM, ChaCha20
/// and SHA, in place of some two hundred other algorithms. This is what TLS 1.2 and 1.3 between our
/// programs can agree on. OpenSSL 3 goes through all of its algorithms whenever it reads a key or a
/// certificate, which is most of the cost of a connection. With few algorithms, reading a key takes
/// an eighth of the time and reading a certificate less than half. Other algorithms, such as MD5,
/// are unavailable afterwards.
///
/// A server also stops sending the two tickets with which a peer could resume its session: each of
/// our processes connects once, and making the tickets is a sixth of a handshake's cost.
///
/// All of our code that uses OpenSSL calls this first; only the first call has an effect. If
/// OpenSSL refuses, it stays as it is. Thread safe.
void SetUpTls();

}  // namespace tony::rpc
