// What of an address is shown, and which addresses are good.
#include "jobfile/values/secret_urls.h"

#include <gtest/gtest.h>

namespace tony::jobfile {
namespace {

TEST(SecretUrls, OnlyTheServerIsShown) {
  EXPECT_EQ(SecretUrlServer("https://hooks.slack.com/services/T/B/x"), "https://hooks.slack.com");
  EXPECT_EQ(SecretUrlServer("http://h:8080?token=x"), "http://h:8080");
  EXPECT_EQ(ShownSecretUrls("https://a/x, http://b#y"), "https://a/[redacted],http://b/[redacted]");
  EXPECT_EQ(ShownSecretUrls("https://me:secret@a/x,token"), "[redacted],[redacted]");
}

TEST(SecretUrls, BadOnesAreNotQuoted) {
  for (const char* const url :
       {"", "token", "ftp://a/token", "https://", "https:///token", "https://u:token@a/",
        "https://a/token x", "https://a\\@b/token", "http://:80/token"}) {
    const std::string trouble = SecretUrlTrouble(url);
    EXPECT_NE(trouble, "") << url;
    EXPECT_EQ(trouble.find("token"), std::string::npos) << trouble;
  }
  EXPECT_NE(SecretUrlTrouble("https://a/" + std::string(3000, 'x')), "");
  EXPECT_EQ(SecretUrlTrouble("HTTPS://a/x"), "");
}

}  // namespace
}  // namespace tony::jobfile
