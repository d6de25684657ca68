// A table of options: how a command line is split, which values are stored, and what is refused.
#include "common/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "common/option_store.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kUsage[] = "tony-example is started by tony, with --folder=";

/// A value of a type that has its own parser.
enum class Color { kRed, kGreen };

absl::StatusOr<Color> ParseColor(absl::string_view name) {
  if (name == "red") return Color::kRed;
  if (name == "green") return Color::kGreen;
  return absl::InvalidArgumentError("no color; there are red and green");
}

/// One member of each form.
struct Options {
  std::string folder;
  bool fast = false;
  int port = 0;
  uint64_t files = 0;
  std::chrono::milliseconds limit{0};
  std::vector<std::string> tasks;
  std::vector<std::string> paths;
  Color color = Color::kRed;
};

OptionTable TableOf(Options& options) {
  return {
      {.name = "folder",
       .value = "FOLDER",
       .meaning = "the folder of the example",
       .required = true,
       .store = StoreText(options.folder)},
      {.name = "fast", .meaning = "does less", .letter = "f", .store = StoreFlag(options.fast)},
      {.name = "port",
       .value = "PORT",
       .meaning = "where it listens",
       .store = StoreNumber(options.port, "a port", 1, 65535)},
      {.name = "open-files",
       .value = "NUMBER",
       .meaning = "a limit",
       .store = StoreNumber(options.files, "a number of files")},
      {.name = "limit-ms",
       .value = "NUMBER",
       .meaning = "a limit in milliseconds",
       .store = StoreMilliseconds(options.limit, 1)},
      {.name = "tasks",
       .value = "TASK,…",
       .meaning = "the tasks",
       .store = StoreList(options.tasks, ',')},
      {.name = "path",
       .value = "PATH",
       .repeatable = true,
       .meaning = "a path",
       .store = StoreList(options.paths, ':')},
      {.name = "color",
       .value = "COLOR",
       .meaning = "red or green",
       .store = StoreParsed(options.color, &ParseColor)},
      {.name = "note", .value = "TEXT", .meaning = "stored nowhere"},
  };
}

absl::StatusOr<Options> Parse(const std::vector<std::string>& arguments) {
  Options options;
  const absl::Status status = ParseOptions(TableOf(options), arguments, kUsage);
  if (!status.ok()) return status;
  return options;
}

/// The message of the refusal of `--folder=/f` with `arguments`.
std::string RefusalOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--folder=/f");
  const absl::StatusOr<Options> options = Parse(arguments);
  EXPECT_TRUE(absl::IsInvalidArgument(options.status())) << options.status();
  return std::string(options.status().message());
}

TEST(ParseOptionsTest, StoresAValueOfEachForm) {
  const auto options =
      Parse({"--limit-ms=1500", "--folder=/a b=c", "--fast", "--port=4711", "--tasks=a:0,b:1",
             "--color=green", "--open-files=18446744073709551615", "--note=x"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->folder, "/a b=c");
  EXPECT_TRUE(options->fast);
  EXPECT_EQ(options->port, 4711);
  EXPECT_EQ(options->files, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(options->limit, std::chrono::milliseconds(1500));
  EXPECT_THAT(options->tasks, ElementsAre("a:0", "b:1"));
  EXPECT_EQ(options->color, Color::kGreen);
}

TEST(ParseOptionsTest, LeavesMembersOfAbsentOptionsAsTheyWere) {
  Options options;
  options.port = 80;
  options.color = Color::kGreen;
  ASSERT_TRUE(ParseOptions(TableOf(options), {"--folder=/f"}, kUsage).ok());
  EXPECT_EQ(options.port, 80);
  EXPECT_EQ(options.color, Color::kGreen);
  EXPECT_FALSE(options.fast);
  EXPECT_THAT(options.tasks, IsEmpty());
}

TEST(ParseOptionsTest, TakesAllSpellings) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--open-files=7"}, {"--open_files=7"}, {"-open-files", "7"}, {"--open-files", "7"}}) {
    std::vector<std::string> arguments = words;
    arguments.push_back("--folder=/f");
    EXPECT_EQ(Parse(arguments).value().files, 7u) << words.front();
  }
  EXPECT_TRUE(Parse({"--folder=/f", "-f"}).value().fast);
  EXPECT_TRUE(Parse({"--folder=/f", "--fast", "--fast"}).value().fast);
}

TEST(ParseOptionsTest, AListHasTheItemsOfAllItsOptions) {
  EXPECT_THAT(Parse({"--folder=/f", "--path=/a:/b", "--path=/c", "--tasks=,a,,b,"})->paths,
              ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(Parse({"--folder=/f", "--tasks=,a,,b,"})->tasks, ElementsAre("a", "b"));
  EXPECT_THAT(Parse({"--folder=/f", "--tasks="})->tasks, IsEmpty());
}

TEST(ParseOptionsTest, NamesTheNearestOfAnUnknownOption) {
  EXPECT_EQ(RefusalOf({"--prot=1"}), "unknown option '--prot'; did you mean '--port'?");
  EXPECT_EQ(RefusalOf({"--open_fils=1"}),
            "unknown option '--open_fils'; did you mean '--open-files'?");
}

TEST(ParseOptionsTest, ListsTheOptionsOfATableWithoutHelp) {
  EXPECT_EQ(RefusalOf({"--bananas"}),
            "unknown option '--bananas'; there are --folder, --fast, --port, --open-files, "
            "--limit-ms, --tasks, --path, --color, --note");
  EXPECT_EQ(SplitCommandLine({{.name = "help"}}, {"--bananas"}).status().message(),
            "unknown option '--bananas'; --help lists all options");
}

TEST(ParseOptionsTest, RefusesAnOptionWithoutItsValue) {
  EXPECT_EQ(RefusalOf({"--port"}), "--port needs a value: --port=PORT");
  EXPECT_THAT(RefusalOf({"--port", "--fast"}), HasSubstr("it is followed by the option '--fast'"));
}

TEST(ParseOptionsTest, RefusesAValueOfAFlag) {
  EXPECT_EQ(RefusalOf({"--fast=yes"}), "--fast takes no value; leave '=yes' out");
}

TEST(ParseOptionsTest, RefusesASecondValue) {
  EXPECT_EQ(RefusalOf({"--port=1", "--port=2"}),
            "--port was given twice: '1' and '2'; give it once");
}

TEST(ParseOptionsTest, RefusesAWordThatIsNoOption) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"job.xml"}, {"--", "job.xml"}}) {
    EXPECT_EQ(RefusalOf(words), std::string("unexpected argument 'job.xml'; ") + kUsage);
  }
}

TEST(ParseOptionsTest, RefusesNumbersOutsideTheirRange) {
  for (const std::string number : {"0", "65536", "-1", "", "x", "1e3", "99999999999999999999"}) {
    EXPECT_EQ(RefusalOf({"--port=" + number}),
              "--port=" + number + ": not a port; expected a number from 1 to 65535");
  }
  EXPECT_EQ(Parse({"--folder=/f", "--port=1"})->port, 1);
  EXPECT_EQ(Parse({"--folder=/f", "--port=65535"})->port, 65535);
  EXPECT_THAT(RefusalOf({"--open-files=-1"}),
              StartsWith("--open-files=-1: not a number of files; expected a number from 0 to "));
  EXPECT_THAT(RefusalOf({"--limit-ms=0"}),
              StartsWith("--limit-ms=0: not a number of milliseconds; expected a number from 1 "));
}

TEST(ParseOptionsTest, QuotesTheOptionWhoseParserRefuses) {
  EXPECT_EQ(RefusalOf({"--color=blue"}), "--color=blue: no color; there are red and green");
}

TEST(ParseOptionsTest, NamesWhatIsMissing) {
  const std::string missing =
      std::string(kUsage) + "; --folder=FOLDER is missing, which is the folder of the example";
  EXPECT_EQ(Parse({}).status().message(), missing);
  EXPECT_EQ(Parse({"--folder="}).status().message(), missing);
  EXPECT_EQ(Parse({"--port=0"}).status().message(), missing) << "before what is wrong";
}

TEST(OptionTableTest, RendersEachRowWithItsKindOfValue) {
  Options options;
  const std::string help = RenderOptionTable(TableOf(options), 80);
  EXPECT_THAT(help, HasSubstr("  --folder FOLDER               the folder of the example\n"));
  EXPECT_THAT(help, HasSubstr("  -f, --fast                    does less\n"));
  EXPECT_THAT(help, HasSubstr("  --path PATH                   a path (repeatable)\n"));
}

}  // namespace
}  // namespace tony
