// Reads Hadoop's configuration XML:
// `<configuration><property><name/><value/></property>…</configuration>`.
#pragma once

#include <string>
#include <vector>

#include "jobfile/xml/problem.h"

namespace tony::jobfile {

/// One `<property>`.
struct XmlProperty {
  std::string name;
  std::string value;   ///< without white space around it
  int line = 0;        ///< of the `<name>` element
  bool final = false;  ///< `<final>true</final>`
};

struct XmlFile {
  std::vector<XmlProperty> properties;  ///< in the order of the file; of a key set twice the first
  std::vector<XmlProperty> repeated;  ///< what sets a key again, a problem each; Hadoop takes these
  std::vector<Problem> problems;      ///< the first kMostProblems, and how many more there are
  std::vector<Problem> notes;         ///< what is passed over without harm
  bool readable = true;  ///< false: not a configuration file at all; no properties then
};

/// Reads the file at `path`, at most 16 MiB; problems name it `display_name`. A DOCTYPE is not
/// read, and what it declares is not known: an entity of it in a name or a value is a problem.
XmlFile ReadXmlFile(const std::string& path, const std::string& display_name);

/// The same for text in memory.
XmlFile ParseXml(const std::string& text, const std::string& display_name);

}  // namespace tony::jobfile
