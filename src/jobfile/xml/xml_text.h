// Decodes the text of XML documents: character encodings and entities.
#pragma once

#include <string>

namespace tony::jobfile {

/// The text of a document, or the reason why it cannot be decoded. Plain data.
struct DecodedXml {
  std::string text;     ///< UTF-8
  std::string problem;  ///< empty: `text` is valid
  std::string remedy;
  int line = 0;  ///< line of the problem, counted from 1; 0: the whole file
};

/// Decodes `bytes`. UTF-8 stays as it is; ISO-8859-1 is converted if the document declares it.
/// Everything else is a problem, as for Hadoop's reader: bytes in another encoding than the
/// declared one would become wrong letters, also in paths and commands.
DecodedXml DecodeXml(const std::string& bytes);

/// Text with its entities expanded. Plain data.
struct ExpandedText {
  std::string text;
  std::string unknown;  ///< the first "&name;" or "&#number;" without a meaning, which stays in
                        ///< `text`; empty: there is none
};

/// Expands the five predefined entities and character references. Entities that a DOCTYPE declares
/// stay unknown: they could read other files (XXE) or grow without bound (billion laughs). A "&"
/// that begins no reference stays.
ExpandedText ExpandEntities(const std::string& raw);

}  // namespace tony::jobfile
