// What a portal of several users may be given.
#include "portal/shared_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "portal/options.h"

namespace tony::portal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SharedUse Users(const std::string& address) {
  SharedUse shared;
  shared.address = address;
  shared.port = 8443;
  shared.users = "/users";
  shared.certificate = "/certificate";
  shared.key = "/key";
  return shared;
}

SharedUse Proxy(const std::string& address, const std::string& from) {
  SharedUse shared;
  shared.address = address;
  shared.port = 8080;
  shared.proxy_header = "X-Forwarded-User";
  shared.proxy_from = {from};
  return shared;
}

std::string WrongWith(const SharedUse& shared) {
  return std::string(CheckSharedUse(shared, {"127.0.0.1", "10.0.0.7", "::1"}).message());
}

TEST(SharedUse, KindsOfAddresses) {
  EXPECT_EQ(KindOf("127.0.0.2"), AddressKind::kLoopback);
  EXPECT_EQ(KindOf("::1"), AddressKind::kLoopback);
  for (const char* const text : {"10.1.2.3", "172.31.0.1", "192.168.9.9", "fd00::1", "fe80::1"}) {
    EXPECT_EQ(KindOf(text), AddressKind::kPrivate) << text;
  }
  for (const char* const text : {"0.0.0.0", "::", "172.32.0.1", "8.8.8.8", "2001:db8::1"}) {
    EXPECT_EQ(KindOf(text), AddressKind::kOther) << text;
  }
  for (const char* const text : {"", "localhost", "10.0.0", "10.0.0.1:80"}) {
    EXPECT_EQ(KindOf(text), AddressKind::kNone) << text;
  }
}

TEST(SharedUse, WhatIsSafe) {
  EXPECT_EQ(WrongWith({}), "");
  EXPECT_EQ(WrongWith(Users("0.0.0.0")), "");
  EXPECT_EQ(WrongWith(Users("127.0.0.1")), "");
  EXPECT_EQ(WrongWith(Proxy("10.0.0.7", "10.0.0.9")), "");
  EXPECT_EQ(WrongWith(Proxy("127.0.0.1", "127.0.0.1")), "");
  SharedUse far = Proxy("0.0.0.0", "8.8.8.8");
  far.certificate = "/certificate";
  far.key = "/key";
  EXPECT_EQ(WrongWith(far), "");
}

TEST(SharedUse, WhatIsRefusedNamesTheRemedy) {
  SharedUse no_tls = Users("10.0.0.7");
  no_tls.certificate = no_tls.key = "";
  EXPECT_THAT(WrongWith(no_tls), HasSubstr("--certificate FILE and --key FILE"));
  SharedUse no_key = Users("10.0.0.7");
  no_key.key = "";
  EXPECT_THAT(WrongWith(no_key), HasSubstr("go together"));
  SharedUse no_login = Users("10.0.0.7");
  no_login.users = "";
  EXPECT_THAT(WrongWith(no_login), HasSubstr("--add-user"));
  SharedUse both = Users("10.0.0.7");
  both.proxy_header = "X-User";
  EXPECT_THAT(WrongWith(both), HasSubstr("one login"));
  SharedUse roles = Users("10.0.0.7");
  roles.control = {"alice"};
  EXPECT_THAT(WrongWith(roles), HasSubstr("belong to --proxy-header"));
  SharedUse no_listen = Users("");
  EXPECT_THAT(WrongWith(no_listen), HasSubstr("--listen"));
  SharedUse from_anywhere = Proxy("10.0.0.7", "10.0.0.9");
  from_anywhere.proxy_from.clear();
  EXPECT_THAT(WrongWith(from_anywhere), HasSubstr("--proxy-from"));
  EXPECT_THAT(WrongWith(Proxy("0.0.0.0", "10.0.0.9")), HasSubstr("private networks only"));
  EXPECT_THAT(WrongWith(Proxy("10.0.0.7", "8.8.8.8")), HasSubstr("private networks only"));
  EXPECT_THAT(WrongWith(Proxy("10.0.0.7", "proxy")), HasSubstr("not a numeric address"));
  EXPECT_THAT(WrongWith(Proxy("10.0.0.7", "10.0.0.7")), HasSubstr("through 127.0.0.1"));
  SharedUse everywhere = Proxy("0.0.0.0", "127.0.0.1");
  everywhere.certificate = everywhere.key = "pem";
  EXPECT_THAT(WrongWith(everywhere), HasSubstr("listens on 127.0.0.1 only"));
  EXPECT_THAT(WrongWith(Proxy("127.0.0.1", "::1")), HasSubstr("through 127.0.0.1"));
  EXPECT_THAT(WrongWith(Proxy("127.0.0.1", "127.0.0.2")), HasSubstr("through 127.0.0.1"));
  SharedUse header = Proxy("10.0.0.7", "10.0.0.9");
  header.proxy_header = "X User";
  EXPECT_THAT(WrongWith(header), HasSubstr("not the name of a header"));
}

TEST(SharedUse, Names) {
  SharedUse shared = Users("fd00::7");
  EXPECT_EQ(CalledNames(shared).front(), "[fd00::7]");
  EXPECT_EQ(CalledNames(shared).size(), 2U);
  EXPECT_EQ(CalledNames(Users("0.0.0.0")).size(), 1U);
  shared.names = {"portal.example", "portal"};
  EXPECT_THAT(CalledNames(shared), ElementsAre("portal.example", "portal"));
  EXPECT_EQ(AddressOf(shared), "https://portal.example:8443/");
  EXPECT_EQ(AddressOf(Proxy("127.0.0.1", "127.0.0.1")), "http://127.0.0.1:8080/");
}

TEST(SharedUse, TheAddressToListenOn) {
  const auto parse = [](const std::string& listen) {
    return ParseOptions({"tony-portal", "--location=/l", "--index=/i", "--users=/u",
                         "--certificate=/c", "--key=/k", "--listen=" + listen});
  };
  EXPECT_EQ(parse("10.0.0.7:8443")->shared.address, "10.0.0.7");
  EXPECT_EQ(parse("[::]:8443")->shared.address, "::");
  EXPECT_EQ(parse("[::]:8443")->shared.port, 8443);
  for (const char* const text : {"8443", "host:8443", "10.0.0.7", "10.0.0.7:0", "10.0.0.7:x", ""}) {
    EXPECT_TRUE(absl::IsInvalidArgument(parse(text).status())) << text;
  }
}

// Its number is looked up once: the database of users may be far away.
TEST(SharedUse, TheProxysUserIsKnownAtTheStart) {
  SharedUse shared;
  shared.proxy_from = {"127.0.0.1"};
  shared.proxy_user = "no.such.user";
  const absl::Status unknown = SharedPeerCheck(shared).status();
  EXPECT_TRUE(absl::IsNotFound(unknown)) << unknown;
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("--proxy-user no.such.user"));
  shared.proxy_user = "root";
  const absl::StatusOr<PeerCheck> check = SharedPeerCheck(shared);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_FALSE((*check)({"127.0.0.1", 1, 1}).ok()) << "nobody has that connection";
  EXPECT_TRUE((*check)({"10.0.0.1", 1, 1}).ok()) << "the header's own rules are for others";
}

}  // namespace
}  // namespace tony::portal
