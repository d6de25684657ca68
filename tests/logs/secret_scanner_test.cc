// Known secrets are taken out of output, wherever the pieces in which it comes begin and end.
#include "logs/secret_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "logs/secret_rules.h"

namespace tony::logs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Put together here, so that no tool takes this file for a leak.
const std::string kAwsKey = std::string("AKIA") + "IOSFODNN7EXAMPLE";
const std::string kAwsSecret = std::string("wJalrXUtnFEMI/K7MDENG/") + "bPxRfiCYEXAMPLEKEY";
const std::string kGitHub = std::string("ghp_") + "abcdefghijklmnopqrstuvwxyz0123456789";
const std::string kHugging = std::string("hf_") + "AbCdEfGhIjKlMnOpQrStUvWxYz01234567";
const std::string kSlack = std::string("xoxb-") + "123456789012-abcdefABCDEF";

std::string InPieces(const std::string& text, const std::vector<size_t>& cuts) {
  SecretScanner scanner;
  std::string result;
  const OutputSink sink = [&](const char* data, size_t size) { result.append(data, size); };
  size_t begin = 0;
  for (const size_t cut : cuts) {
    scanner.Add(text.data() + begin, cut - begin, sink);
    begin = cut;
  }
  scanner.Add(text.data() + begin, text.size() - begin, sink);
  scanner.Flush(sink);
  return result;
}

std::string Redacted(const std::string& text) { return InPieces(text, {}); }

TEST(SecretScanner, TakesOutKnownSecrets) {
  const std::pair<std::string, std::string> cases[] = {
      {"password=hunter2\n", "password=[redacted]\n"},
      {"DB_PASSWORD = hunter2 x\n", "DB_PASSWORD = [redacted] x\n"},
      {"{\"password\": \"a b,c\", \"user\": \"u\"}",
       "{\"password\": \"[redacted]\", \"user\": \"u\"}"},
      {"TONY_COLLECTIVE_KEY=0a1b\nnext", "TONY_COLLECTIVE_KEY=[redacted]\nnext"},
      {"{'TONY_COLLECTIVE_KEY': '0a1b', 'A': '1'}",
       "{'TONY_COLLECTIVE_KEY': '[redacted]', 'A': '1'}"},
      {"Config(passwd='x y', n=1)", "Config(passwd='[redacted]', n=1)"},
      {"{\\\"password\\\":\\\"xyz", "{\\\"password\\\":\\\"[redacted]"},
      {"aws_secret_access_key=" + kAwsSecret + "\n", "aws_secret_access_key=[redacted]\n"},
      {"key " + kAwsKey + " used", "key AKIA[redacted] used"},
      {"Authorization: Bearer abc.def-123==\n", "Authorization: Bearer [redacted]\n"},
      {"AUTHORIZATION: BASIC dXNlcjpwdw==\r\n", "AUTHORIZATION: BASIC [redacted]\r\n"},
      {"https://me:s3cret@host/p?q", "https://me:[redacted]@host/p?q"},
      {"redis://:s3cret@host:6379", "redis://:[redacted]@host:6379"},
      {"http://u:p@w@host", "http://u:[redacted]@host"},
      {"token " + kGitHub + ".", "token ghp_[redacted]."},
      {"HF=" + kHugging, "HF=hf_[redacted]"},
      {kSlack + " sent", "xoxb-[redacted] sent"},
      {"-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nMIIdef\n-----END RSA PRIVATE KEY-----\nafter",
       "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nafter"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Redacted(text), expected);
}

TEST(SecretScanner, LeavesOtherOutputAlone) {
  for (const std::string& text : std::vector<std::string>{"",
                                                          "a",
                                                          "\n",
                                                          "password",
                                                          "password:",
                                                          "wrong password for ann\n",
                                                          "tokens/s: 1234 max_tokens=512\n",
                                                          "the bearer of it\n",
                                                          "AKIAshort",
                                                          "xAKIA" + std::string(16, 'A'),
                                                          "https://host:8080/path@2",
                                                          "http://host/a:b@c",
                                                          "see http://example.org: ok",
                                                          "hf_hub_download(",
                                                          "-----BEGIN CERTIFICATE-----\nMII\n",
                                                          std::string(1000, '-'),
                                                          std::string("\0\xFF\x80p\0a", 6),
                                                          "passport=1 asian=2 ://",
                                                          "tony_collective_=1 collective_keys=2",
                                                          "secretary: x",
                                                          "epoch 1/2 [====>   ] - ETA: 12s"}) {
    EXPECT_EQ(Redacted(text), text);
  }
}

TEST(SecretScanner, DoesNotMindWhereThePiecesAreCut) {
  const std::string text = absl::StrCat(
      "step=1 loss=0.5\npassword=hunter2\nkey ", kAwsKey, " x\n\"api_key\" : \"k e y\"\n",
      "bearer 0123456789abcdef\nftp://u:p@h/x ", kGitHub, "\n", kHugging, " ", kSlack,
      "\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\nend -----");
  const std::string expected = Redacted(text);
  EXPECT_THAT(expected, Not(HasSubstr("hunter2")));
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    ASSERT_EQ(InPieces(text, {cut}), expected) << "cut at " << cut;
  }
  std::vector<size_t> every;
  for (size_t cut = 1; cut < text.size(); ++cut) every.push_back(cut);
  EXPECT_EQ(InPieces(text, every), expected);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<size_t> cuts;
    for (size_t cut = random() % 9; cut < text.size(); cut += 1 + random() % 40) {
      cuts.push_back(cut);
    }
    ASSERT_EQ(InPieces(text, cuts), expected) << "round " << round;
  }
}

TEST(SecretScanner, FindsASecretAtEveryPlaceOfABlock) {
  for (size_t before = 0; before < 9; ++before) {
    const std::string start(before, '.');
    EXPECT_EQ(Redacted(start + "passwd=x"), start + "passwd=[redacted]");
    EXPECT_EQ(Redacted(start + kHugging), start + "hf_[redacted]");
  }
}

TEST(SecretScanner, HoldsBackOnlyWhatMayBeASecret) {
  SecretScanner scanner;
  std::string result;
  const OutputSink sink = [&](const char* data, size_t size) { result.append(data, size); };
  const auto add = [&](const std::string& text) { scanner.Add(text.data(), text.size(), sink); };
  add("50% done");
  EXPECT_EQ(result, "50% done");
  add(" passw");
  EXPECT_EQ(result, "50% done ");
  add("ed the test");
  EXPECT_EQ(result, "50% done passwed the test");
  add(" password=");
  EXPECT_EQ(result, "50% done passwed the test ");
  scanner.Flush(sink);
  EXPECT_EQ(result, "50% done passwed the test password=");
}

TEST(SecretScanner, WhatIsHeldIsBounded) {
  const std::string endless(4096, 'x');
  // Each begins like a secret and is none.
  for (const std::string& text : {"redis://u:" + endless, "password" + std::string(4096, ' '),
                                  "-----BEGIN " + endless, "AKIA" + endless}) {
    SecretScanner scanner;
    size_t given = 0;
    size_t passed = 0;
    const OutputSink sink = [&](const char*, size_t size) { passed += size; };
    for (const char& byte : text) {
      scanner.Add(&byte, 1, sink);
      ++given;
      ASSERT_LE(given - passed, kMaxUndecidedBytes) << text.substr(0, 20);
    }
    scanner.Flush(sink);
    EXPECT_EQ(passed, given);
  }
}

TEST(SecretScanner, AValueWithoutAnEndIsSwallowedWithoutBeingHeld) {
  SecretScanner scanner;
  size_t passed = 0;
  const OutputSink sink = [&](const char*, size_t size) { passed += size; };
  scanner.Add("password=", 9, sink);
  const std::string block(1'000'000, 'x');
  for (int i = 0; i < 100; ++i) scanner.Add(block.data(), block.size(), sink);
  EXPECT_EQ(passed, sizeof("password=[redacted]") - 1);
  scanner.Add("\nnext", 5, sink);
  EXPECT_EQ(passed, sizeof("password=[redacted]\nnext") - 1);
}

TEST(SecretScanner, APrivateKeyWithoutAnEndIsGivenUp) {
  const std::string text =
      "-----BEGIN PRIVATE KEY-----\n" + std::string(100'000, 'A') + "\n" + std::string(100, 'B');
  std::vector<size_t> cuts;
  for (size_t cut = 4096; cut < text.size(); cut += 4096) cuts.push_back(cut);
  const std::string result = InPieces(text, cuts);
  EXPECT_THAT(result, ::testing::EndsWith("A\n" + std::string(100, 'B')));
  EXPECT_LT(result.size(), 60'000u);
}

}  // namespace
}  // namespace tony::logs
