// Refusals are sentences that name the remedy: who starts a portal for others may not know yet what
// could go wrong.
#include "portal/shared_use.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "os/files/user_names.h"
#include "os/network/peer_user.h"

namespace tony::portal {
namespace {

constexpr char kLoopback[] = "127.0.0.1";

bool Contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::string MachineName() {
  std::string name(HOST_NAME_MAX + 1, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return kLoopback;
  return name.c_str();
}

absl::Status Bad(const std::string& sentence) { return absl::InvalidArgumentError(sentence); }

bool IsHeaderName(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return absl::ascii_isalnum(letter) || letter == '-' || letter == '_';
  });
}

absl::Status CheckWithoutListen(const SharedUse& shared) {
  const bool any = !shared.certificate.empty() || !shared.key.empty() || !shared.users.empty() ||
                   !shared.proxy_header.empty() || !shared.proxy_from.empty() ||
                   !shared.proxy_user.empty() || !shared.control.empty() || !shared.names.empty();
  if (!any) return absl::OkStatus();
  return Bad(
      "a portal of several users needs --listen ADDRESS:PORT; without it the portal is its "
      "user's alone, on 127.0.0.1");
}

absl::Status CheckProxyAddress(const std::string& address, const SharedUse& shared,
                               const std::vector<std::string>& own) {
  const AddressKind kind = KindOf(address);
  if (kind == AddressKind::kNone) {
    return Bad(absl::StrCat("--proxy-from ", address, ": not a numeric address, like 10.0.0.7"));
  }
  if (address != kLoopback && (kind == AddressKind::kLoopback || Contains(own, address))) {
    return Bad(absl::StrCat("--proxy-from ", address, ": a proxy on this machine has to come ",
                            "through 127.0.0.1, where the user who runs it can be told (",
                            "--proxy-user); at this address any user of the machine would be the ",
                            "proxy"));
  }
  // The user is told by the ends of the connection. A stranger who connects to another address of
  // this machine may choose ends that are also those of a connection of the proxy's.
  if (address == kLoopback && shared.address != kLoopback) {
    return Bad(absl::StrCat("--listen ", shared.address, ": with --proxy-from ", kLoopback,
                            " the portal listens on ", kLoopback,
                            " only; elsewhere it could not tell who runs the proxy"));
  }
  if (shared.certificate.empty() && kind == AddressKind::kOther) {
    return Bad(
        absl::StrCat("--proxy-from ", address, ": without TLS a proxy is believed on ",
                     "127.0.0.1 and in private networks only; give --certificate and --key"));
  }
  return absl::OkStatus();
}

absl::Status CheckProxy(const SharedUse& shared, const std::vector<std::string>& own) {
  if (!IsHeaderName(shared.proxy_header)) {
    return Bad(absl::StrCat("--proxy-header ", shared.proxy_header, ": not the name of a header, ",
                            "like X-Forwarded-User"));
  }
  if (shared.proxy_from.empty()) {
    return Bad(
        "--proxy-header needs --proxy-from with the proxy's addresses: from anybody else "
        "the header would be a lie");
  }
  if (shared.certificate.empty() && KindOf(shared.address) == AddressKind::kOther) {
    return Bad(absl::StrCat("--listen ", shared.address,
                            ": without TLS the portal listens on "
                            "127.0.0.1 and at addresses of private networks only; give "
                            "--certificate and --key, or such an address"));
  }
  for (const std::string& address : shared.proxy_from) {
    const absl::Status good = CheckProxyAddress(address, shared, own);
    if (!good.ok()) return good;
  }
  return absl::OkStatus();
}

bool IsInNetwork(const unsigned char* bytes, unsigned char first, unsigned char mask) {
  return (bytes[0] & mask) == first;
}

}  // namespace

AddressKind KindOf(const std::string& address) {
  unsigned char four[4];
  if (::inet_pton(AF_INET, address.c_str(), four) == 1) {
    if (four[0] == 127) return AddressKind::kLoopback;
    const bool rfc1918 = four[0] == 10 || (four[0] == 172 && (four[1] & 0xF0) == 16) ||
                         (four[0] == 192 && four[1] == 168);
    const bool link = four[0] == 169 && four[1] == 254;
    return rfc1918 || link ? AddressKind::kPrivate : AddressKind::kOther;
  }
  unsigned char six[16];
  if (::inet_pton(AF_INET6, address.c_str(), six) != 1) return AddressKind::kNone;
  if (std::all_of(six, six + 15, [](unsigned char byte) { return byte == 0; }) && six[15] == 1) {
    return AddressKind::kLoopback;
  }
  const bool link = six[0] == 0xFE && (six[1] & 0xC0) == 0x80;
  return IsInNetwork(six, 0xFC, 0xFE) || link ? AddressKind::kPrivate : AddressKind::kOther;
}

absl::Status CheckSharedUse(const SharedUse& shared, const std::vector<std::string>& own) {
  if (!shared.wanted()) return CheckWithoutListen(shared);
  if (shared.certificate.empty() != shared.key.empty()) {
    return Bad("--certificate and --key go together");
  }
  if (shared.users.empty() == shared.proxy_header.empty()) {
    return Bad(
        "--listen needs one login: --users FILE (tony portal --add-user NAME:ROLE prints its "
        "lines), or --proxy-header NAME with --proxy-from ADDRESSES; for yourself alone "
        "there is --port");
  }
  if (!shared.proxy_header.empty()) return CheckProxy(shared, own);
  if (!shared.proxy_from.empty() || !shared.proxy_user.empty() || !shared.control.empty()) {
    return Bad(
        "--proxy-from, --proxy-user and --proxy-control belong to --proxy-header; the roles "
        "of --users are in its file");
  }
  if (shared.certificate.empty()) {
    return Bad(
        "--users needs --certificate FILE and --key FILE: passwords pass through TLS only, "
        "also on this machine");
  }
  return absl::OkStatus();
}

std::vector<std::string> CalledNames(const SharedUse& shared) {
  if (!shared.names.empty()) return shared.names;
  std::vector<std::string> names;
  if (shared.address != "0.0.0.0" && shared.address != "::") {
    names.push_back(absl::StrContains(shared.address, ':') ? absl::StrCat("[", shared.address, "]")
                                                           : shared.address);
  }
  names.push_back(MachineName());
  return names;
}

std::string AddressOf(const SharedUse& shared) {
  return absl::StrCat(shared.certificate.empty() ? "http://" : "https://",
                      CalledNames(shared).front(), ":", shared.port, "/");
}

absl::StatusOr<PeerCheck> SharedPeerCheck(const SharedUse& shared) {
  if (!Contains(shared.proxy_from, kLoopback)) {
    return PeerCheck([](const PeerEnds&) { return absl::OkStatus(); });
  }
  const absl::StatusOr<uid_t> proxy =
      shared.proxy_user.empty() ? ::geteuid() : os::UserNumber(shared.proxy_user);
  if (!proxy.ok()) {
    return absl::Status(proxy.status().code(),
                        absl::StrCat("--proxy-user ", shared.proxy_user, ": ",
                                     std::string(proxy.status().message())));
  }
  const std::string name = shared.proxy_user.empty() ? "the portal's own user" : shared.proxy_user;
  return PeerCheck([proxy = *proxy, name](const PeerEnds& ends) -> absl::Status {
    if (ends.peer_address != kLoopback) return absl::OkStatus();
    const absl::StatusOr<uid_t> user = os::LoopbackPeerUser(ends.peer_port, ends.local_port);
    if (!user.ok()) return user.status();
    if (*user == 0 || *user == proxy) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat("a program of another user of this machine (",
                                                    *user,
                                                    ") is not the portal's proxy, which is run by ",
                                                    name, "; --proxy-user names another user"));
  });
}

}  // namespace tony::portal
