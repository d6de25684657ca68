// Two regular expressions tell errors from mere mentions of errors; a state machine collects a
// Python traceback with the tracebacks that it is chained to.
#include "logs/error_finder.h"

#include <re2/re2.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "logs/log_bytes.h"

namespace tony::logs {
namespace {

constexpr char kTraceback[] = "Traceback (most recent call last):";
/// The first line of faulthandler's stacks, which Python prints when a signal kills it.
constexpr char kFatalPython[] = "Fatal Python error: ";

/// Messages that programs print when they fail, and hardly ever in passing.
constexpr char kErrors[] =
    R"((?:^|[^\w.])[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)(?::|$))"
    R"(|\bFATAL\b|\bFatal Python error\b|\b[Ss]egmentation fault\b|\bcore dumped\b)"
    R"(|\bCUDA (?:error|out of memory)\b|\bCUDA_ERROR_\w+|\bcu(?:da|DNN|BLAS)\w*(?:Error|_STATUS)_?\w*)"
    R"(|\bNCCL (?:error|WARN|failure)\b|\bnccl(?:System|Internal|Unhandled|Remote|InvalidUsage)\w*)"
    R"(|\bXid\b.*\d|terminate called|\bAssertion .*failed|^panic: |\bOut of memory\b)"
    R"(|: command not found$|^Killed$|\bSIG(?:SEGV|ABRT|BUS|ILL|FPE)\b|\bAddressSanitizer\b)";

constexpr char kMentions[] = R"(\bERROR\b|\bCRITICAL\b|(?i:\berror:)|^Error\b|^E\d{4} )";

/// The two patterns, compiled once for the process. Thread safe (immutable).
struct Patterns {
  re2::RE2 errors{kErrors, Options()};
  re2::RE2 mentions{kMentions, Options()};

 private:
  static re2::RE2::Options Options() {
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);  // output is bytes
    options.set_never_capture(true);
    return options;
  }
};

/// Whether Python prints this line between two chained tracebacks.
bool LeadsOn(const std::string& line) {
  return absl::StartsWith(line, "During handling of the above exception") ||
         absl::StartsWith(line, "The above exception was the direct cause");
}

bool IsIndented(const std::string& line) {
  return line.empty() || line[0] == ' ' || line[0] == '\t';
}

}  // namespace

ErrorSign SignOf(const std::string& line) {
  static const Patterns patterns;
  if (absl::StrContains(line, kTraceback)) return ErrorSign::kTraceback;
  if (re2::RE2::PartialMatch(line, patterns.errors)) return ErrorSign::kError;
  if (re2::RE2::PartialMatch(line, patterns.mentions)) return ErrorSign::kMention;
  return ErrorSign::kNone;
}

bool ErrorFinder::Add(const LogLine& line) {
  ++line_number_;
  if (part_ == Part::kStacks) return AddToStacks(line.text);
  if (part_ != Part::kNone) return AddToTraceback(line.text);
  const ErrorSign sign = SignOf(line.text);
  if (sign == ErrorSign::kTraceback) {
    error_ = Begin(line);
    prefix_ = line.text.substr(0, line.text.find(kTraceback));
    part_ = Part::kFrames;
    return false;
  }
  if (sign == ErrorSign::kError) {
    error_ = Begin(line);
    part_ = absl::StartsWith(line.text, kFatalPython) ? Part::kStacks : Part::kDone;
    return part_ == Part::kDone;
  }
  // A mention does not end the search: a real error may follow.
  if (sign == ErrorSign::kMention && !mention_) mention_ = Begin(line);
  before_.push_back(line.text);
  if (before_.size() > kLinesBefore) before_.pop_front();
  return false;
}

// A traceback is complete only at the first line after its exception that leads to no other
// traceback. Lines between two tracebacks are held back until the next one really comes; otherwise
// they are dropped.
bool ErrorFinder::AddToTraceback(const std::string& line) {
  if (part_ == Part::kDone || error_->lines.size() >= kMaxLines) return true;
  const bool prefixed = !prefix_.empty() && absl::StartsWith(line, prefix_);
  const std::string text = prefixed ? line.substr(prefix_.size()) : line;
  if (part_ == Part::kFrames) {
    error_->lines.push_back(line);
    if (!IsIndented(text)) part_ = Part::kException;
    return false;
  }
  // After the exception's line: another traceback follows, or the error is complete.
  const bool another = absl::StrContains(text, kTraceback);
  if (!another && !text.empty() && !LeadsOn(text)) {
    part_ = Part::kDone;
    return true;
  }
  held_.push_back(line);
  if (another) {
    error_->lines.insert(error_->lines.end(), held_.begin(), held_.end());
    held_.clear();
    part_ = Part::kFrames;
  }
  return false;
}

// Empty lines separate the stacks of the threads; the last one belongs to nothing.
bool ErrorFinder::AddToStacks(const std::string& line) {
  const bool belongs = IsIndented(line) || absl::EndsWith(line, "(most recent call first):");
  if (!belongs || error_->lines.size() >= kMaxLines) {
    part_ = Part::kDone;
    return true;
  }
  held_.push_back(line);
  if (line.empty()) return false;
  error_->lines.insert(error_->lines.end(), held_.begin(), held_.end());
  held_.clear();
  return false;
}

PrintedError ErrorFinder::Begin(const LogLine& line) const {
  return {
      line_number_, line.unix_millis, {before_.begin(), before_.end()}, {line.text}, line.position};
}

std::optional<PrintedError> ErrorFinder::Finish() { return error_ ? error_ : mention_; }

bool IsMention(const PrintedError& error) { return SignOf(error.lines[0]) == ErrorSign::kMention; }

bool ExplainsMore(const PrintedError& left, const PrintedError& right) {
  if (IsMention(left) != IsMention(right)) return IsMention(right);
  return left.unix_millis < right.unix_millis;
}

std::optional<PrintedError> FindFirstErrorIn(const std::string& path, int64_t since_millis,
                                             const std::function<bool()>& enough) {
  // Asking may cost a look at a clock.
  constexpr int64_t kLinesBetween = 1024;
  LogReader reader(path);
  ErrorFinder finder;
  LogLine line;
  int64_t lines = 0;
  while (reader.Finish(&line)) {
    if (enough && ++lines % kLinesBetween == 0 && enough()) break;
    if (line.unix_millis > 0 && line.unix_millis < since_millis) {
      finder.Skip();
    } else if (finder.Add(line)) {
      break;
    }
  }
  std::optional<PrintedError> error = finder.Finish();
  if (!error) return error;
  const absl::StatusOr<LogBytes> bytes = LogBytes::Open(path);
  if (bytes.ok()) error->offset = bytes->OffsetOf(error->position);
  return error;
}

}  // namespace tony::logs
