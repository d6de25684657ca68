// What the bytes of an XML document say: its encoding, and the entities in its text.
#pragma once

#include <string>

namespace tony::jobfile {

/// The text of a document, or why there is none. Plain data.
struct DecodedXml {
  std::string text;     ///< UTF-8
  std::string problem;  ///< empty: `text` is good
  std::string remedy;
  int line = 0;  ///< of the problem, counted from 1; 0: the whole file
};

/// `bytes` as UTF-8: as they are where they are UTF-8, converted where the document declares
/// ISO-8859-1. Everything else is a problem, as it is for Hadoop's reader: bytes that are not what
/// the document declares would become other letters, in paths and commands too.
DecodedXml DecodeXml(const std::string& bytes);

/// Text as it stands in a document, and as it is meant. Plain data.
struct ExpandedText {
  std::string text;
  std::string unknown;  ///< the first "&name;" or "&#number;" that stands for nothing, which `text`
                        ///< keeps; empty: there is none
};

/// Replaces the five entities that XML predefines, and numbers of characters. Entities that a
/// DOCTYPE declares are not known: they could read other files, or grow without bound. A "&" that
/// begins no reference stays.
ExpandedText ExpandEntities(const std::string& raw);

}  // namespace tony::jobfile
