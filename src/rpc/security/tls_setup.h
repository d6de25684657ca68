// OpenSSL as our connections need it: with few algorithms, and without session tickets.
#pragma once

namespace tony::rpc {

/// From here on OpenSSL offers this process's code P-256 (ECDH and ECDSA), AES-GCM, ChaCha20 and
/// SHA, in place of some two hundred other algorithms: what TLS 1.2 and 1.3 between our programs
/// can agree on. OpenSSL 3 goes through all that it has whenever it reads a key or a certificate,
/// which is most of the cost of a connection; with few a key is read in an eighth and a certificate
/// in less than half of the time. Anything else, MD5 say, is not to be had afterwards.
///
/// Nor does a server send the two tickets with which a peer could resume its session later: each
/// of our processes connects once, and making them is a sixth of a handshake's cost.
///
/// Whatever of ours uses OpenSSL calls it first; only the first call does anything. Where OpenSSL
/// refuses, it stays as it is. Thread safe.
void SetUpTls();

}  // namespace tony::rpc
