// Walks tinyxml2's document. Everything that Hadoop's format does not have is a problem: Hadoop
// ignores unknown elements, which would hide a mistyped <value>.
#include "jobfile/xml/xml_reader.h"

#include <tinyxml2.h>

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jobfile/values/values.h"
#include "jobfile/xml/files.h"
#include "jobfile/xml/tag_mismatch.h"
#include "jobfile/xml/xml_text.h"

namespace tony::jobfile {
namespace {

constexpr int64_t kLargestFileBytes = 16 * 1024 * 1024;
constexpr char kShape[] =
    "write <property><name>tony.worker.instances</name><value>2</value></property>";

bool IsInclude(const tinyxml2::XMLElement& element) {
  const std::string name = element.Name();
  return name == "include" || absl::EndsWith(name, ":include");
}

// The state of reading one document. Not thread safe.
class Reader {
 public:
  explicit Reader(const std::string& display_name) : display_name_(display_name) {}

  XmlFile Read(const std::string& bytes) {
    const DecodedXml decoded = DecodeXml(bytes);
    if (!decoded.problem.empty()) {
      Unreadable(decoded.line, decoded.problem, decoded.remedy);
      return std::move(file_);
    }
    const std::string& text = decoded.text;
    // The library does not expand entities here; TextOf() does, since the library would skip an
    // unknown entity without an error.
    tinyxml2::XMLDocument document(false, tinyxml2::PRESERVE_WHITESPACE);
    if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS) {
      const std::optional<TagMismatch> tags = FindTagMismatch(text);
      Unreadable(tags ? tags->line : document.ErrorLineNum(),
                 tags ? "malformed XML: " + tags->sentence : Malformation(document),
                 "correct the XML");
      return std::move(file_);
    }
    const tinyxml2::XMLElement* const root = document.RootElement();
    const std::string root_name = root == nullptr ? "" : root->Name();
    if (root_name != "configuration") {
      Unreadable(root == nullptr ? 0 : root->GetLineNum(),
                 root == nullptr
                     ? "there is no <configuration>"
                     : absl::StrCat("the root element is <", root_name, ">, not <configuration>"),
                 "put all properties into one <configuration> element");
      return std::move(file_);
    }
    NoteDoctype(document);
    for (auto* node = root->FirstChild(); node != nullptr; node = node->NextSibling()) {
      ReadChildOfRoot(*node);
    }
    if (root->NextSiblingElement() != nullptr) {
      Complain(root->NextSiblingElement()->GetLineNum(), "", "something follows </configuration>",
               "remove it");
    }
    if (more_problems_ > 0) {
      file_.problems.push_back(
          {display_name_, 0, "", absl::StrCat("has ", more_problems_, " more problems"), ""});
    }
    return std::move(file_);
  }

 private:
  // A note, not a problem: files with a harmless DOCTYPE exist. Its entities are not expanded, see
  // ExpandEntities().
  void NoteDoctype(const tinyxml2::XMLDocument& document) {
    for (auto* node = document.FirstChild(); node != nullptr; node = node->NextSibling()) {
      const auto* const unknown = node->ToUnknown();
      if (unknown == nullptr || !absl::StartsWith(unknown->Value(), "DOCTYPE")) continue;
      file_.notes.push_back(
          {display_name_, node->GetLineNum(), "",
           "the DOCTYPE is not read; entities that it declares are not known here", ""});
    }
  }

  static std::string Malformation(const tinyxml2::XMLDocument& document) {
    switch (document.ErrorID()) {
      case tinyxml2::XML_ERROR_EMPTY_DOCUMENT:
        return "the file is empty";
      case tinyxml2::XML_ERROR_MISMATCHED_ELEMENT:
        return "malformed XML: an element is not closed, or closed by another one's end tag";
      case tinyxml2::XML_ELEMENT_DEPTH_EXCEEDED:
        return "malformed XML: elements are nested too deeply";
      default:
        return absl::StrCat("malformed XML (", document.ErrorName(), ")");
    }
  }

  void Complain(int line, const std::string& key, const std::string& message,
                const std::string& remedy) {
    if (file_.problems.size() >= kMostProblems) {
      ++more_problems_;
      return;
    }
    file_.problems.push_back({display_name_, line, key, message, remedy});
  }

  void Unreadable(int line, const std::string& message, const std::string& remedy) {
    file_.readable = false;
    Complain(line, "", message, remedy);
  }

  // In Hadoop's format only <name> and <value> contain text.
  void ReadChildOfRoot(const tinyxml2::XMLNode& node) {
    if (const auto* element = node.ToElement()) {
      if (std::string(element->Name()) == "property") return ReadProperty(*element);
      if (IsInclude(*element)) {
        return Complain(element->GetLineNum(), "", "xi:include is not supported",
                        "copy the properties into this file");
      }
      return Complain(element->GetLineNum(), "",
                      absl::StrCat("unknown element <", element->Name(), ">"), kShape);
    }
    ComplainAboutText(node);
  }

  void ComplainAboutText(const tinyxml2::XMLNode& node) {
    const auto* const text = node.ToText();
    if (text == nullptr || absl::StripAsciiWhitespace(text->Value()).empty()) return;
    Complain(node.GetLineNum(), "", "text outside of <name> and <value>", kShape);
  }

  void ReadProperty(const tinyxml2::XMLElement& property) {
    if (property.FirstAttribute() != nullptr) {
      return Complain(property.GetLineNum(), "", "attributes of <property> are not supported",
                      kShape);
    }
    std::map<std::string, std::string> parts;
    int line = property.GetLineNum();
    for (auto* node = property.FirstChild(); node != nullptr; node = node->NextSibling()) {
      const auto* const element = node->ToElement();
      if (element == nullptr) {
        ComplainAboutText(*node);
        continue;
      }
      if (std::string(element->Name()) == "name") line = element->GetLineNum();
      ReadPart(*element, &parts);
    }
    Add(parts, line);
  }

  void ReadPart(const tinyxml2::XMLElement& element, std::map<std::string, std::string>* parts) {
    const std::string name = element.Name();
    const bool known = name == "name" || name == "value" || name == "final" ||
                       name == "description" || name == "source";
    if (!known) {
      return Complain(element.GetLineNum(), "",
                      absl::StrCat("unknown element <", name, "> in <property>"),
                      IsInclude(element) ? "xi:include is not supported" : kShape);
    }
    // Hadoop's and tony's own writers add <source>, and people <description>: no part of the value.
    if (name == "source" && element.GetText() != nullptr) {
      parts->try_emplace(name, element.GetText());
    }
    if (name == "description" || name == "source") return;
    if (parts->contains(name)) {
      return Complain(element.GetLineNum(), "",
                      absl::StrCat("a second <", name, "> in one <property>"),
                      "give each key a <property> of its own");
    }
    (*parts)[name] = TextOf(element);
  }

  // All text of the element, which comments may divide into several nodes.
  std::string TextOf(const tinyxml2::XMLElement& element) {
    std::string text;
    for (auto* node = element.FirstChild(); node != nullptr; node = node->NextSibling()) {
      if (const auto* part = node->ToText()) {
        text += part->CData() ? part->Value() : Expand(*part);
      }
      if (node->ToElement() != nullptr) {
        Complain(node->GetLineNum(), "",
                 absl::StrCat("element <", node->Value(), "> inside of <", element.Name(), ">"),
                 "write < as &lt; in text");
      }
    }
    return std::string(absl::StripAsciiWhitespace(text));
  }

  std::string Expand(const tinyxml2::XMLText& text) {
    ExpandedText expanded = ExpandEntities(text.Value());
    if (!expanded.unknown.empty()) {
      Complain(text.GetLineNum(), "",
               absl::StrCat("the entity ", expanded.unknown, " is not known here"),
               absl::StrCat("write its text, or &amp;", expanded.unknown.substr(1),
                            " for these characters themselves"));
    }
    return std::move(expanded.text);
  }

  void Add(const std::map<std::string, std::string>& parts, int line) {
    const auto name = parts.find("name");
    const auto value = parts.find("value");
    const std::string key = name == parts.end() ? "" : name->second;
    if (key.empty()) return Complain(line, "", "a <property> without a <name>", kShape);
    const auto final = parts.find("final");
    const bool is_final = final != parts.end() && ParseBoolean(final->second).value_or(false);
    // Whether a key may lack its value is a question of the key.
    const bool has_value = value != parts.end();
    const auto source = parts.find("source");
    const XmlProperty property{key,       has_value ? value->second : "",
                               line,      is_final,
                               has_value, source != parts.end() ? source->second : ""};
    // Hadoop takes the last value of a repeated key. In a job file the repetition is more likely a
    // mistake, so it is a problem; hadoop::Configuration uses `repeated` and follows Hadoop.
    const auto [first, added] = first_lines_.try_emplace(key, line);
    if (!added) {
      file_.repeated.push_back(property);
      return Complain(line, key, absl::StrCat("is set twice, first in line ", first->second),
                      "remove one of the two");
    }
    file_.properties.push_back(property);
  }

  const std::string display_name_;
  XmlFile file_;
  std::map<std::string, int> first_lines_;
  size_t more_problems_ = 0;
};

}  // namespace

XmlFile ReadXmlFile(const std::string& path, const std::string& display_name) {
  const absl::StatusOr<std::string> text = ReadFile(path, kLargestFileBytes);
  if (text.ok()) return ParseXml(*text, display_name);
  const std::string remedy = absl::IsNotFound(text.status()) ? "correct the path"
                             : absl::IsPermissionDenied(text.status())
                                 ? "make it readable for the user who submits"
                                 : "name a configuration file in XML";
  XmlFile file;
  file.readable = false;
  file.problems.push_back({display_name, 0, "", std::string(text.status().message()), remedy});
  return file;
}

XmlFile ParseXml(const std::string& text, const std::string& display_name) {
  return Reader(display_name).Read(text);
}

}  // namespace tony::jobfile
