// What a portal of several users is given, and whether it is safe to serve them so.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/peer_filter.h"

namespace tony::portal {

/// How a portal serves several users. Plain data.
struct SharedUse {
  std::string address;  ///< to listen on, numeric; empty: the portal is its user's alone
  int port = 0;
  std::string certificate, key;         ///< files; empty: no TLS
  std::string users;                    ///< a file of users, or:
  std::string proxy_header;             ///< the header in which a proxy names its user
  std::vector<std::string> proxy_from;  ///< the proxy's numeric addresses
  std::string proxy_user;               ///< who runs a proxy on this machine; empty: this user
  std::vector<std::string> control;     ///< users of the proxy with the role "control"
  std::vector<std::string> names;       ///< under which browsers call the portal

  bool wanted() const { return !address.empty(); }
};

/// Where a numeric address is.
enum class AddressKind {
  kNone,      ///< it is no numeric address
  kLoopback,  ///< 127.0.0.0/8, ::1
  kPrivate,   ///< a network without a way from outside: RFC 1918, RFC 4193, link-local
  kOther,     ///< any other one; also 0.0.0.0 and ::, all addresses of the machine
};
AddressKind KindOf(const std::string& address);

/// Whether the options fit together:
///
///   1. `--listen` needs to know its users: from `--users`, or from `--proxy-header`.
///   2. Passwords and cookies pass through TLS only.
///   3. Without TLS a proxy is believed over private networks and loopback only.
///   4. A proxy on this very machine comes through 127.0.0.1, where the user who runs it can be
///      told; at any other address of the machine all of its users look alike.
///
/// `own`: the machine's addresses. InvalidArgument – they do not; the message says what to do.
absl::Status CheckSharedUse(const SharedUse& shared, const std::vector<std::string>& own);

/// The names under which browsers may call the portal: the given ones, else the address to listen
/// on and the machine's name.
std::vector<std::string> CalledNames(const SharedUse& shared);

/// The address of the portal for browsers: "https://portal.example.org:8443/".
std::string AddressOf(const SharedUse& shared);

/// Whom the portal's port serves: everybody, since the login follows; but of the programs of this
/// machine that come through 127.0.0.1 where that is a proxy's address, only the proxy's. The user
/// database is asked now and not for each connection, since its service may take its time. NotFound
/// – it does not know SharedUse::proxy_user.
absl::StatusOr<PeerCheck> SharedPeerCheck(const SharedUse& shared);

}  // namespace tony::portal
