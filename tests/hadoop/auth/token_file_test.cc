// Token files in both forms, whole, cut off and changed.
#include "hadoop/auth/token_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <limits>
#include <random>

#include "absl/strings/escaping.h"
#include "hadoop/base/writable.h"
#include "os/files/files.h"
#include "tests/os/temporary_folder.h"

namespace tony::hadoop {
namespace {

using ::testing::HasSubstr;

TokenStore Sample() {
  TokenStore store;
  store.Add({.identifier = std::string("\0\xff id", 5),
             .password = std::string(300, 'p'),
             .kind = kAmRmToken,
             .service = ""});
  store.Add({.identifier = "i", .password = "p", .kind = kHdfsDelegationToken, .service = "h:1"});
  store.secrets = {{"key", std::string("\0secret", 7)}, {"empty", ""}};
  return store;
}

TEST(Writable, WritesNumbersAsHadoopDoes) {
  const std::pair<int64_t, const char*> cases[] = {
      {0, "00"},
      {127, "7f"},
      {-112, "90"},
      {128, "8f80"},
      {-113, "8770"},
      {255, "8fff"},
      {256, "8e0100"},
      {-256, "87ff"},
      {-257, "860100"},
      {std::numeric_limits<int64_t>::max(), "887fffffffffffffff"},
      {std::numeric_limits<int64_t>::min(), "807fffffffffffffff"}};
  for (const auto& [number, hex] : cases) {
    std::string text;
    AppendWritableNumber(number, &text);
    EXPECT_EQ(absl::BytesToHexString(text), hex) << number;
    WritableReader reader(text);
    EXPECT_EQ(*reader.Number(), number);
    EXPECT_TRUE(reader.AtEnd());
  }
}

TEST(TokenFile, IsReadAsItWasWritten) {
  for (const TokenFormat format : {TokenFormat::kWritable, TokenFormat::kProtobuf}) {
    const auto read = ParseTokens(FormatTokens(Sample(), format));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, Sample());
  }
}

// As Hadoop's Credentials writes one token: HDTS, version 0, one token, alias, four parts, no
// secret.
TEST(TokenFile, HasHadoopsForm) {
  TokenStore store;
  store.tokens.push_back(
      {"a", {.identifier = "id", .password = "pw", .kind = "kind", .service = "host:1"}});
  EXPECT_EQ(FormatTokens(store, TokenFormat::kWritable),
            std::string("HDTS\0\1\1a\2id\2pw\4kind\6host:1\0", 27));
}

TEST(TokenFile, FindsAndReplacesTokens) {
  TokenStore store = Sample();
  ASSERT_NE(store.Find(kHdfsDelegationToken), nullptr);
  EXPECT_EQ(store.Find(kHdfsDelegationToken)->service, "h:1");
  EXPECT_EQ(store.Find(kNodeManagerToken), nullptr);
  store.Add({.identifier = "new", .password = "", .kind = "k", .service = "h:1"});
  EXPECT_EQ(store.tokens.size(), 2);
  EXPECT_EQ(store.Find("k")->identifier, "new");
}

TEST(TokenFile, IsReadableForItsOwnerOnly) {
  const os::TemporaryFolder folder;
  const std::string path = folder / "tokens";
  ASSERT_TRUE(WriteTokenFile(path, Sample(), TokenFormat::kWritable).ok());
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600);
  EXPECT_EQ(*ReadTokenFile(path), Sample());
  EXPECT_TRUE(absl::IsNotFound(ReadTokenFile(path + ".no").status()));
  ASSERT_TRUE(os::WriteFileAtomically(path, "something else").ok());
  const auto other = ReadTokenFile(path);
  EXPECT_TRUE(absl::IsDataLoss(other.status()));
  EXPECT_THAT(std::string(other.status().message()), HasSubstr(path));
}

TEST(TokenFile, RefusesWhatIsCutOffOrChanged) {
  const google::protobuf::LogSilencer no_words_about_broken_text;
  for (const TokenFormat format : {TokenFormat::kWritable, TokenFormat::kProtobuf}) {
    const std::string whole = FormatTokens(Sample(), format);
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_TRUE(absl::IsDataLoss(ParseTokens(whole.substr(0, size)).status())) << size;
    }
    std::mt19937 random(1);
    for (int round = 0; round < 20'000; ++round) {
      std::string changed = whole;
      changed[random() % changed.size()] = static_cast<char>(random());
      const auto read = ParseTokens(changed);
      EXPECT_TRUE(read.ok() || absl::IsDataLoss(read.status()));
    }
  }
  EXPECT_TRUE(absl::IsDataLoss(ParseTokens("HDTS\x02").status()));
  // A count that lies.
  EXPECT_TRUE(absl::IsDataLoss(
      ParseTokens(std::string("HDTS\0\x88\x7f\xff\xff\xff\xff\xff\xff\xff", 14)).status()));
}

TEST(TokenText, IsUrlSafe) {
  const Token token = Sample().tokens.front().second;
  const std::string text = FormatTokenText(token);
  EXPECT_EQ(text.find_first_of("+/="), std::string::npos);
  EXPECT_EQ(*ParseTokenText(text), token);
  for (const std::string& bad : std::vector<std::string>{"", "!!", "AAAA", text + "AAAA"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseTokenText(bad).status())) << bad;
  }
}

}  // namespace
}  // namespace tony::hadoop
