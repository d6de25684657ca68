// Collected logs as Hadoop writes them, and what is made of files that are cut off, damaged or lie.
#include "hadoop/logs/open_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "hadoop/logs/tfile.h"
#include "tests/hadoop/fakes/fake_name_node.h"
#include "tests/hadoop/logs/aggregated_samples.h"
#include "tests/os/temporary_folder.h"

namespace tony::hadoop {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

/// One file in memory, which notes what is asked of it.
class MemoryStore : public FileStore {
 public:
  explicit MemoryStore(std::string bytes) : bytes_(std::move(bytes)) {}
  absl::StatusOr<std::vector<FolderEntry>> List(const std::string&) override {
    return std::vector<FolderEntry>();
  }
  absl::StatusOr<std::string> Read(const std::string&, int64_t offset, size_t size) override {
    largest = std::max(largest, size);
    return bytes_.substr(static_cast<size_t>(offset), size);
  }
  size_t largest = 0;

 private:
  const std::string bytes_;
};

using Log = std::tuple<std::string, std::string, std::string>;
constexpr char kSecond[] = "container_1700000000000_0001_01_000002";
constexpr char kThird[] = "container_1700000000000_0001_01_000003";

std::vector<Log> SampleLogs() {
  return {{"container_1700000000000_0001_01_000001", "amstderr.log", "master\n"},
          {kSecond, "attempt-1.stderr.log", ""},
          {kSecond, "attempt-1.stdout.log", "hello from 2\nand again from 2\n"},
          {kSecond, "executor.log", "said by executor 2\n"},
          {kThird, "attempt-1.stderr.log", ""},
          {kThird, "attempt-1.stdout.log", "hello from 3\nand again from 3\n"},
          {kThird, "executor.log", "said by executor 3\n"}};
}

/// All logs of a file; what was read before an error is in `logs`, too.
absl::Status ReadAll(FileStore& store, size_t bytes, std::vector<Log>* logs) {
  TONY_ASSIGN_OR_RETURN(const StoredFile file,
                        StoredFile::Open(store, "/logs/node_1", static_cast<int64_t>(bytes)));
  TONY_ASSIGN_OR_RETURN(const auto reader, OpenAggregatedLogs(file));
  while (true) {
    TONY_ASSIGN_OR_RETURN(const bool more, reader->Next());
    if (!more) return absl::OkStatus();
    TONY_ASSIGN_OR_RETURN(const std::string text, ReadToEnd(*reader, 1 << 20));
    logs->emplace_back(reader->container(), reader->name(), text);
  }
}

absl::Status ReadAll(const std::string& bytes, std::vector<Log>* logs) {
  MemoryStore store(bytes);
  return ReadAll(store, bytes.size(), logs);
}

/// The numbers of a TFile, up to what the tests need.
std::string Number(int64_t number) {
  if (number >= -32 && number < 128) return {static_cast<char>(number)};
  std::string bytes(1, static_cast<char>(-121));
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift));
  return bytes;
}

std::string Name(const std::string& text) { return Number(std::ssize(text)) + text; }

std::string JavaText(const std::string& text) {
  return std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size())} + text;
}

/// A TFile around one data block, made by hand.
std::string MakeTFile(const std::string& block, const std::string& compression = "none",
                      const std::string& index_block = "") {
  std::string file = TFile::Magic() + block;
  const size_t index_at = file.size();
  const std::string data_index = !index_block.empty()
                                     ? index_block
                                     : Name(compression) + Number(1) + Number(16) +
                                           Number(std::ssize(block)) + Number(std::ssize(block));
  file += data_index;
  const size_t meta_at = file.size();
  file += Number(1) + Name("data:BCFile.index") + Name("none") +
          Number(static_cast<int64_t>(index_at)) + Number(std::ssize(data_index)) +
          Number(std::ssize(data_index));
  for (int shift = 56; shift >= 0; shift -= 8) file.push_back(static_cast<char>(meta_at >> shift));
  return file + std::string("\0\1\0\0", 4) + TFile::Magic();
}

/// A container's key, as it stands before its value.
std::string Key() { return Name(JavaText(kSecond)); }

/// A container's record with one log, in one chunk.
std::string Record(const std::string& log, const std::string& length) {
  const std::string value = JavaText("executor.log") + JavaText(length) + log;
  return Key() + Name(value);
}

TEST(AggregatedLogsTest, ReadsWhatHadoopWrote) {
  for (const char* const sample : kSamples) {
    std::vector<Log> logs;
    ASSERT_EQ(ReadAll(Sample(sample), &logs), absl::OkStatus());
    // An index has them in the order of a hash map.
    EXPECT_THAT(logs, UnorderedElementsAreArray(SampleLogs()));
  }
}

TEST(AggregatedLogsTest, LogsThatNobodyReadsArePassedOver) {
  MemoryStore store(Sample(kCompressedTFile));
  const auto file = StoredFile::Open(store, "/f", std::ssize(Sample(kCompressedTFile)));
  const auto reader = OpenAggregatedLogs(*file);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<std::string> names;
  while (*(*reader)->Next()) names.push_back((*reader)->container() + "/" + (*reader)->name());
  EXPECT_EQ(names.size(), SampleLogs().size());
  EXPECT_EQ(names.back(), absl::StrCat(kThird, "/executor.log"));
}

TEST(AggregatedLogsTest, ReadsFromHdfs) {
  FakeNameNode node;
  WebHdfs hdfs = node.Client();
  ASSERT_EQ(hdfs.Write("/logs/node_1", 0640, false, Sample(kPlainTFile)), absl::OkStatus());
  HdfsStore store(node.Client());
  const auto entries = store.List("/logs");
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front().name, "node_1");
  std::vector<Log> logs;
  EXPECT_EQ(ReadAll(store, static_cast<size_t>(entries->front().bytes), &logs), absl::OkStatus());
  EXPECT_EQ(logs, SampleLogs());
  EXPECT_EQ(*store.Read("/logs/node_1", 16, 10), Sample(kPlainTFile).substr(16, 10));
  EXPECT_EQ(*store.Read("/logs/node_1", 780, 100), Sample(kPlainTFile).substr(780));
  EXPECT_TRUE(absl::IsNotFound(store.List("/nowhere").status()));
}

TEST(AggregatedLogsTest, ReadsFromADisk) {
  const os::TemporaryFolder folder;
  os::Put(folder / "node_1", Sample(kPlainTFile));
  os::Put(folder / "folder/file", "");
  DiskStore store;
  const auto entries = store.List(folder.path());
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_TRUE(entries->front().folder);
  const auto file = StoredFile::Open(store, folder / "node_1", entries->back().bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file->Read(16, 10), Sample(kPlainTFile).substr(16, 10));
  EXPECT_TRUE(absl::IsDataLoss(file->Read(780, 100).status()));
  EXPECT_EQ(*store.Read(folder / "node_1", 780, 100), Sample(kPlainTFile).substr(780));
  EXPECT_TRUE(absl::IsNotFound(store.List(folder / "nowhere").status()));
  EXPECT_TRUE(absl::IsNotFound(store.Read(folder / "nowhere", 0, 1).status()));
}

TEST(AggregatedLogsTest, ALargeLogIsReadInPieces) {
  const size_t size = 20 << 20;
  const std::string log(size, 'x');
  const std::string bytes = MakeTFile(Record(log, absl::StrCat(size)));
  MemoryStore store(bytes);
  const auto file = StoredFile::Open(store, "/f", std::ssize(bytes));
  const auto reader = OpenAggregatedLogs(*file);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE(*(*reader)->Next());
  std::string part(1 << 20, '\0');
  size_t read = 0;
  for (size_t count = 1; count > 0; read += count) {
    count = *(*reader)->Read(part.data(), part.size());
  }
  EXPECT_EQ(read, size);
  EXPECT_LE(store.largest, 4U << 20);
}

TEST(AggregatedLogsTest, CompressedBlocksMayBeOfSeveralStreams) {
  std::string block;
  const std::string record = Record("two halves", "10");
  for (const std::string& half : {record.substr(0, 40), record.substr(40)}) {
    std::string packed(compressBound(half.size()), '\0');
    uLongf size = packed.size();
    ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                       reinterpret_cast<const Bytef*>(half.data()), half.size()),
              Z_OK);
    block += packed.substr(0, size);
  }
  std::vector<Log> logs;
  EXPECT_EQ(ReadAll(MakeTFile(block, "gz"), &logs), absl::OkStatus());
  EXPECT_THAT(logs, ElementsAre(Log(kSecond, "executor.log", "two halves")));
}

// Whatever is missing is said, and what is said to be there was there.
TEST(AggregatedLogsTest, FilesThatAreCutOff) {
  for (const char* const sample : kSamples) {
    const std::string whole = Sample(sample);
    for (size_t size = 0; size < whole.size(); ++size) {
      std::vector<Log> logs;
      const absl::Status status = ReadAll(whole.substr(0, size), &logs);
      EXPECT_TRUE(absl::IsDataLoss(status)) << size << ": " << status;
      EXPECT_TRUE(logs.empty());
    }
  }
}

// A file that shrinks while it is read.
TEST(AggregatedLogsTest, FilesThatAreShorterThanTheFolderSays) {
  const std::string bytes = Sample(kPlainTFile);
  MemoryStore store(bytes.substr(0, 300));
  std::vector<Log> logs;
  const absl::Status status = ReadAll(store, bytes.size(), &logs);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST(AggregatedLogsTest, DamagedFilesEndInAnErrorOrInLogs) {
  for (const char* const sample : kSamples) {
    const std::string whole = Sample(sample);
    int errors = 0;
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ flip);
        std::vector<Log> logs;
        const absl::Status status = ReadAll(bytes, &logs);
        if (status.ok()) continue;
        ++errors;
        EXPECT_TRUE(absl::IsDataLoss(status) || absl::IsUnimplemented(status)) << at << status;
      }
    }
    EXPECT_GT(errors, 0);
  }
}

TEST(AggregatedLogsTest, FilesThatLie) {
  const std::string huge = Number(int64_t{1} << 62);
  const std::map<std::string, std::string> lies = {
      {MakeTFile(Record("short", "9")), "4 bytes too early"},
      {MakeTFile(Record("none", "-1")), "does not say how long"},
      {MakeTFile(Record("none", "x")), "does not say how long"},
      {MakeTFile(huge), "a key of 4611686018427387904 bytes"},
      {MakeTFile(Number(-5)), "a key of -5 bytes"},
      {MakeTFile(Key() + huge), "a chunk of 4611686018427387904 bytes"},
      {MakeTFile(Key() + Number(INT64_MIN)), "a chunk of -9223372036854775808 bytes"},
      {MakeTFile("", "none", Name("none") + huge), "an index has 4611686018427387904"},
      {MakeTFile("", "none", Name("none") + Number(100)), "an index ends too early"},
      {MakeTFile("", "none", Name("none") + Number(1) + Number(16) + huge), "where at most"},
      {MakeTFile("", "none", Name("none") + Number(1) + Number(3) + Number(1) + Number(1)),
       "before the end of another"},
      {MakeTFile("", "none", huge + "none"), "an index has 4611686018427387904"},
      {MakeTFile("no zlib", "gz"), "damaged"},
      {MakeTFile("", "gz"), "end too early"},
      {absl::StrReplaceAll(MakeTFile(""), {{"BCFile", "BCFilm"}}), "no index of data blocks"},
  };
  for (const auto& [bytes, words] : lies) {
    std::vector<Log> logs;
    const absl::Status status = ReadAll(bytes, &logs);
    EXPECT_TRUE(absl::IsDataLoss(status)) << words << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
}

TEST(AggregatedLogsTest, OtherCompressionsAndVersionsAreNamed) {
  std::vector<Log> logs;
  absl::Status status = ReadAll(MakeTFile(Record("log", "3"), "lzo"), &logs);
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("compressed by 'lzo'"));
  std::string newer = MakeTFile(Record("log", "3"));
  newer[newer.size() - 19] = 7;
  status = ReadAll(newer, &logs);
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 7"));
}

/// An indexed file around an index, made by hand.
std::string MakeIndexedFile(const std::string& index, int64_t index_bytes) {
  const std::string mark(32, 'm');
  std::string file = mark + index;
  for (int shift = 24; shift >= 0; shift -= 8) {
    file.push_back(static_cast<char>(index_bytes >> shift));
  }
  return file + mark;
}

TEST(IndexedLogsTest, FilesThatLie) {
  const std::string start("\xac\xed\0\5", 4);
  const std::string no_class("r\0\1K\0\0\0\0\0\0\0\0\2\0\0xp", 17);
  std::string deep = start;
  for (int i = 0; i < 1000; ++i) deep += std::string("r\0\1K\0\0\0\0\0\0\0\0\2\0\0x", 16);
  const std::map<std::string, std::string> lies = {
      {MakeIndexedFile("", 1 << 30), "its index cannot have 1073741824 bytes"},
      {MakeIndexedFile("", 0), "end too early"},
      {MakeIndexedFile("no Java", 7), "no Java objects"},
      {MakeIndexedFile(start + "s", 5), "end too early"},
      {MakeIndexedFile(start + "sp", 6), "has no class"},
      {MakeIndexedFile(start + "t\xff\xff", 7), "end too early"},
      {MakeIndexedFile(start + std::string("q\0\x7e\0\0", 5), 9), "one that is not there"},
      {MakeIndexedFile(start + std::string("st\0\1K", 5), 9), "something else's class"},
      // It is its own parent.
      {MakeIndexedFile(start + "s" + no_class.substr(0, 16) + std::string("q\0\x7e\0\0", 5), 26),
       "its own ancestor"},
      {MakeIndexedFile(deep, std::ssize(deep)), "too deep"},
      {MakeIndexedFile(start, 4), "compressed by ''"},
      {MakeIndexedFile(start + "{", 5), "kind 123"},
  };
  for (const auto& [bytes, words] : lies) {
    std::vector<Log> logs;
    const absl::Status status = ReadAll(bytes, &logs);
    EXPECT_TRUE(absl::IsDataLoss(status) || absl::IsUnimplemented(status)) << words << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
}

// Each of the encoding's lengths, at its borders, as Hadoop's own code writes them.
TEST(ByteStreamTest, NumbersOfTFiles) {
  const std::vector<std::pair<std::string, int64_t>> numbers = {
      {"7f", 127},
      {"e0", -32},
      {"cc80", 128},
      {"cbdf", -33},
      {"dfff", 5119},
      {"a81400", 5120},
      {"b800", -5120},
      {"a7ebff", -5121},
      {"b7ffff", 1048575},
      {"90100000", 1048576},
      {"980000", -1048576},
      {"8fefffff", -1048577},
      {"97ffffff", 134217727},
      {"8308000000", 134217728},
      {"88000000", -134217728},
      {"83f7ffffff", -134217729},
      {"837fffffff", 2147483647},
      {"840080000000", 2147483648},
      {"8380000000", -2147483648},
      {"84ff7fffffff", -2147483649},
      {"847fffffffff", 549755813887},
      {"85008000000000", 549755813888},
      {"848000000000", -549755813888},
      {"85ff7fffffffff", -549755813889},
      {"857fffffffffff", 140737488355327},
      {"8600800000000000", 140737488355328},
      {"86ff7fffffffffff", -140737488355329},
      {"867fffffffffffff", 36028797018963967},
      {"870080000000000000", 36028797018963968},
      {"877fffffffffffffff", 9223372036854775807},
      {"878000000000000000", INT64_MIN},
  };
  for (const auto& [hex, number] : numbers) {
    const std::string bytes = absl::HexStringToBytes(hex);
    TextStream stream(bytes);
    const auto read = ReadTFileNumber(stream);
    ASSERT_TRUE(read.ok()) << hex << ": " << read.status();
    EXPECT_EQ(*read, number) << hex;
    EXPECT_EQ(*ReadTFileNumber(stream), std::nullopt) << hex;
    const std::string cut = bytes.substr(0, bytes.size() - 1);
    TextStream cut_stream(cut);
    if (cut.empty()) continue;
    EXPECT_TRUE(absl::IsDataLoss(ReadTFileNumber(cut_stream).status())) << hex;
  }
  for (const char first : {'\x80', '\x81', '\x82'}) {
    const std::string bytes(9, first);
    TextStream stream(bytes);
    EXPECT_TRUE(absl::IsDataLoss(ReadTFileNumber(stream).status()));
  }
}

TEST(ByteStreamTest, TextsOfJava) {
  const std::string bytes("\0\2ab\0\0\0\5abc", 11);
  TextStream stream(bytes);
  EXPECT_EQ(*ReadJavaText(stream), "ab");
  EXPECT_EQ(*ReadJavaText(stream), "");
  EXPECT_TRUE(absl::IsDataLoss(ReadJavaText(stream).status()));
  EXPECT_EQ(*ReadJavaText(stream), std::nullopt);
}

}  // namespace
}  // namespace tony::hadoop
