// Reads Hadoop's configuration XML:
// `<configuration><property><name/><value/></property>…</configuration>`.
#pragma once

#include <string>
#include <vector>

#include "jobfile/xml/problem.h"

namespace tony::jobfile {

/// One `<property>`. A plain value.
struct XmlProperty {
  std::string name;
  std::string value;        ///< without white space around it
  int line = 0;             ///< line of the `<name>` element
  bool final = false;       ///< `<final>true</final>`
  bool has_value = true;    ///< false: there is no <value>, and `value` is empty
  std::string source = {};  ///< text of <source>, in which writers say where the value comes from
};

/// The contents of one file. A plain value.
struct XmlFile {
  std::vector<XmlProperty> properties;  ///< in the file's order; the first one of each key
  std::vector<XmlProperty> repeated;  ///< further ones of a key, each also a problem; Hadoop's rule
  std::vector<Problem> problems;      ///< the first kMostProblems, and how many more there are
  std::vector<Problem> notes;         ///< harmless oddities that were ignored
  bool readable = true;  ///< false: no configuration file at all; `properties` is empty
};

/// Reads the file at `path`, at most 16 MiB. Problems name the file `display_name`. A DOCTYPE is
/// ignored, so an entity that it declares is a problem in a name or a value.
XmlFile ReadXmlFile(const std::string& path, const std::string& display_name);

/// Reads a configuration from text in memory, like ReadXmlFile().
XmlFile ParseXml(const std::string& text, const std::string& display_name);

}  // namespace tony::jobfile
