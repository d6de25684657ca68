// Writes a manual page in roff, with the macros of man(7), from text in plain Markdown.
#pragma once

#include <string>
#include <vector>

namespace tony::client {

/// One manual page in the making. The result is ASCII: other characters are written as roff's
/// escapes, so that no reader needs to know an encoding. Not thread safe.
class RoffPage {
 public:
  /// `source`: the program and its version, which the page shows at its foot.
  RoffPage(const std::string& name, int section, const std::string& source);

  void Section(const std::string& title);
  void Subsection(const std::string& title);
  /// `inline_markdown` here and below: `code`, **strong**, *emphasis* and [text](address) in one
  /// line, or in lines that belong together.
  void Paragraph(const std::string& inline_markdown);
  /// A term with its explanation indented below it.
  void Item(const std::string& term, const std::string& inline_markdown);
  /// Lines that are shown as they are.
  void Code(const std::vector<std::string>& lines);
  /// A document: headings from ## on, paragraphs, bullets of two levels, and fenced code. Its first
  /// heading and HTML comments are left out. Tables are not understood.
  void Document(const std::string& markdown);

  const std::string& text() const { return text_; }

 private:
  void Line(const std::string& roff);

  std::string text_;
};

/// `text` for roff, without a meaning for it: escapes, dashes that can be copied, and ASCII only.
std::string RoffText(const std::string& text);

/// Inline Markdown as roff, with fonts.
std::string RoffInline(const std::string& inline_markdown);

}  // namespace tony::client
