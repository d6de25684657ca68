// Each paragraph becomes one line of roff, which fills it: only the beginning of a line can be
// taken for a request, so only that needs protection.
#include "client/manual/roff_page.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/utf8.h"

namespace tony::client {
namespace {

/// The end of a run of inline Markdown that begins at `begin` with `mark`; nothing: it has none.
std::optional<size_t> EndOfRun(const std::string& text, size_t begin, const std::string& mark) {
  const size_t end = text.find(mark, begin + mark.size());
  if (end == std::string::npos || end == begin + mark.size()) return std::nullopt;
  return end;
}

/// A run of inline Markdown, as roff, and the position behind it.
struct Run {
  std::string roff;
  size_t end = 0;
};

std::optional<Run> ReadMarked(const std::string& text, size_t begin, const std::string& mark,
                              const char* font) {
  if (text.compare(begin, mark.size(), mark) != 0) return std::nullopt;
  const std::optional<size_t> end = EndOfRun(text, begin, mark);
  if (!end) return std::nullopt;
  const std::string inside = text.substr(begin + mark.size(), *end - begin - mark.size());
  return Run{absl::StrCat("\\f", font, RoffText(inside), "\\fR"), *end + mark.size()};
}

/// [text](address), of which the text stays: a page of the manual has no links.
std::optional<Run> ReadLink(const std::string& text, size_t begin) {
  if (text[begin] != '[') return std::nullopt;
  const size_t middle = text.find("](", begin);
  const size_t end = middle == std::string::npos ? middle : text.find(')', middle);
  if (end == std::string::npos) return std::nullopt;
  return Run{RoffInline(text.substr(begin + 1, middle - begin - 1)), end + 1};
}

std::optional<Run> ReadRun(const std::string& text, size_t begin) {
  if (auto run = ReadMarked(text, begin, "`", "B")) return run;
  if (auto run = ReadMarked(text, begin, "**", "B")) return run;
  // A lone asterisk between spaces is a sign of multiplication.
  if (begin + 1 < text.size() && text[begin + 1] != ' ') {
    if (auto run = ReadMarked(text, begin, "*", "I")) return run;
  }
  return ReadLink(text, begin);
}

/// `roff` as a line that is no request, whatever it begins with.
std::string TextLine(const std::string& roff) {
  const bool like_request = absl::StartsWith(roff, ".") || absl::StartsWith(roff, "'");
  return absl::StrCat(like_request ? "\\&" : "", roff);
}

/// The argument of a request: in quotes, so that it may have blanks.
std::string Argument(const std::string& text) {
  return absl::StrCat("\"", absl::StrJoin(absl::StrSplit(RoffText(text), '"'), "\\(dq"), "\"");
}

/// Reads a document block by block. Not thread safe.
class DocumentReader {
 public:
  /// `text` is the page's own, to which bullets are added.
  DocumentReader(const std::string& markdown, RoffPage& page, std::string& text)
      : page_(page), text_(text) {
    for (const absl::string_view line : absl::StrSplit(markdown, '\n')) lines_.emplace_back(line);
  }

  void Read() {
    while (position_ < lines_.size()) ReadBlock();
    SetNested(false);
  }

 private:
  void ReadBlock() {
    const std::string& line = lines_[position_];
    if (absl::StartsWith(line, "```")) {
      ReadCode();
    } else if (absl::StartsWith(line, "#")) {
      ReadHeading();
    } else if (line.empty() || absl::StartsWith(line, "<!--")) {
      ++position_;
    } else {
      ReadText();
    }
  }

  void ReadCode() {
    std::vector<std::string> code;
    while (++position_ < lines_.size() && !absl::StartsWith(lines_[position_], "```")) {
      code.push_back(lines_[position_]);
    }
    ++position_;
    SetNested(false);
    page_.Code(code);
  }

  void ReadHeading() {
    SetNested(false);
    const std::string& line = lines_[position_++];
    const size_t level = line.find_first_not_of('#');
    const std::string title = line.substr(level + 1);
    if (level == 2) page_.Section(title);
    if (level > 2) page_.Subsection(title);
  }

  /// A paragraph or a bullet, to its last line.
  void ReadText() {
    std::string text = lines_[position_++];
    while (position_ < lines_.size() && !StartsBlock(lines_[position_])) {
      absl::StrAppend(&text, " ", absl::StripAsciiWhitespace(lines_[position_++]));
    }
    const bool indented = absl::StartsWith(text, " ");
    text = std::string(absl::StripAsciiWhitespace(text));
    const bool bullet = absl::StartsWith(text, "* ");
    SetNested(bullet && indented);
    const std::string roff = TextLine(RoffInline(bullet ? text.substr(2) : text));
    const char* const request = bullet ? ".IP \\(bu 2" : indented ? ".IP \"\" 2" : ".PP";
    absl::StrAppend(&text_, request, "\n", roff, "\n");
  }

  static bool StartsBlock(const std::string& line) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    return text.empty() || absl::StartsWith(text, "* ") || absl::StartsWith(text, "#") ||
           absl::StartsWith(text, "```");
  }

  /// Begins or ends the indentation of bullets within a bullet.
  void SetNested(bool nested) {
    if (nested != nested_) absl::StrAppend(&text_, nested ? ".RS 2\n" : ".RE\n");
    nested_ = nested;
  }

  RoffPage& page_;
  std::string& text_;
  std::vector<std::string> lines_;
  size_t position_ = 0;
  bool nested_ = false;
};

}  // namespace

RoffPage::RoffPage(const std::string& name, int section, const std::string& source) {
  Line(".\\\" Written by tony-manual from the tables of options and keys.");
  Line(absl::StrCat(".TH ", Argument(absl::AsciiStrToUpper(name)), " ", section, " \"\" ",
                    Argument(source), " \"tony's manual\""));
  // No hyphens and no stretched lines: names of options and keys are meant to be copied.
  Line(".nh");
  Line(".ad l");
}

void RoffPage::Section(const std::string& title) {
  Line(absl::StrCat(".SH ", Argument(absl::AsciiStrToUpper(title))));
}

void RoffPage::Subsection(const std::string& title) { Line(absl::StrCat(".SS ", Argument(title))); }

void RoffPage::Paragraph(const std::string& inline_markdown) {
  Line(".PP");
  Line(TextLine(RoffInline(inline_markdown)));
}

void RoffPage::Item(const std::string& term, const std::string& inline_markdown) {
  Line(".TP");
  Line(TextLine(RoffInline(term)));
  Line(TextLine(RoffInline(inline_markdown)));
}

void RoffPage::Code(const std::vector<std::string>& lines) {
  for (const char* request : {".PP", ".RS 4", ".nf"}) Line(request);
  for (const std::string& line : lines) Line(TextLine(RoffText(line)));
  for (const char* request : {".fi", ".RE"}) Line(request);
}

void RoffPage::Document(const std::string& markdown) {
  DocumentReader(markdown, *this, text_).Read();
}

void RoffPage::Line(const std::string& roff) { absl::StrAppend(&text_, roff, "\n"); }

std::string RoffText(const std::string& text) {
  std::string roff;
  for (size_t position = 0; position < text.size();) {
    const Utf8Character character = DecodeUtf8(text, position);
    position += character.bytes;
    switch (character.code_point) {
      case '\\':
        roff += "\\e";
        break;
      case '-':  // roff's plain dash is a hyphen, which nobody can paste into a command line
        roff += "\\-";
        break;
      case '~':
        roff += "\\(ti";
        break;
      case '^':
        roff += "\\(ha";
        break;
      case '`':
        roff += "\\(ga";
        break;
      case '\'':
        roff += "\\(aq";
        break;
      case '\n':
        roff += ' ';
        break;
      default:
        if (character.code_point < 0x80) {
          roff += static_cast<char>(character.code_point);
        } else {
          absl::StrAppendFormat(&roff, "\\[u%04X]", character.code_point);
        }
    }
  }
  return roff;
}

std::string RoffInline(const std::string& inline_markdown) {
  std::string roff, plain;
  for (size_t position = 0; position < inline_markdown.size();) {
    if (const std::optional<Run> run = ReadRun(inline_markdown, position)) {
      absl::StrAppend(&roff, RoffText(plain), run->roff);
      plain.clear();
      position = run->end;
    } else {
      plain += inline_markdown[position++];
    }
  }
  return absl::StrCat(roff, RoffText(plain));
}

}  // namespace tony::client
