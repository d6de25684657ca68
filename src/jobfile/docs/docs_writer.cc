// The introduction is a constant; each group of the key table becomes one Markdown table.
#include "jobfile/docs/docs_writer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "jobfile/keys/key_table.h"
#include "jobfile/keys/value_check.h"

namespace tony::jobfile {
namespace {

constexpr char kIntroduction[] =
    R"(<!-- Written by scripts/update-docs from the key table in src/jobfile: change the table. -->
# Configuration

A job is described by properties in Hadoop's XML form:

```xml
<configuration>
  <property><name>tony.worker.instances</name><value>2</value></property>
  <property><name>tony.worker.memory</name><value>2g</value></property>
  <property><name>tony.containers.command</name><value>python3 train.py</value></property>
</configuration>
```

TonY's job files work unchanged. If a key is not supported, the error names it and says what to do.

The file is UTF-8, or ISO-8859-1 if its first line says so. Only XML's own entities exist (`&amp;`,
`&lt;`, `&#64;`). A DOCTYPE is skipped with a note. Using an entity that it declares is an error.

## Layers

A value can come from four layers: built-in default < site file < job file < command line
(`--conf key=value`). A later layer replaces the value of an earlier one. The site file is
`$TONY_CONF_DIR/tony-site.xml`, by default `/etc/tony/tony-site.xml`. There are two exceptions:

* `--conf` *adds* to the lists marked "adds up" below. In a list of `NAME=value`, the last value of
  a name wins.
* No later layer may change a property with `<final>true</final>`; an attempt is an error. The final
  properties of `/etc/tony/tony-site.xml` hold even if `TONY_CONF_DIR` names another folder.

In TonY the site file overrides the job file; here it is the other way round. A file may set each
key only once.

## Values

* **Boolean**: `true` or `false`. **Count**, **milliseconds**, **seconds**: whole numbers without
  a unit.
* **Decimal**: `2` or `0.5`.
* **Memory**: `2g`, `2048m`, or a bare number of megabytes.
* **List**: items separated by commas. White space around items is ignored. Inside an item, write
  `\,` for a comma and `\\` for a backslash; any other backslash stands for itself.
* **Pattern**: a regular expression in RE2's syntax. In a list of patterns, write `\,` for a comma:
  `id-\d{3\,5}`.
* **Placement constraint**: where a container may be, in the notation of Hadoop's own tools.
  * `in,SCOPE,TAG…`: where there is a container with each of the tags.
  * `notin,SCOPE,TAG…`: where there is no container with any of the tags.
  * `cardinality,SCOPE,TAG…,MIN,MAX`: where there are already MIN to MAX containers with each of the
    tags.
  * `NAME=VALUE…` or `NAME!=VALUE…`: by an attribute of the node.
  * `and(A:B)` and `or(A:B)` combine several constraints.

  The scope is `node` or `rack`. A tag means containers of the same job. Containers of other
  applications need a prefix: `not-self/`, `all/`, `app-id/ID/` or `app-tag/TAG/`.
* **Path**: absolute, or beginning with `~`, or relative to the folder of the file that names it. On
  the command line, relative to the current folder.
* **Resource**: `path[::localName][#archive]`. tony puts the file or folder into the working folder
  as `localName`, by default the last part of its path. With `#archive` tony unpacks it into a
  folder of that name. All resources of a task need different names. On YARN the path may be a URL
  (`hdfs:`, `webhdfs:`, `http:`, `https:`), which the nodes fetch. The local backend takes local
  files only.

## Task types

A type exists if its `instances` are set. The type `tensorboard` also exists if its command or
`tony.application.tensorboard-log-dir` is set. It is a sidecar by default, and then runs once. If a
job has no tasks, the command runs in the ApplicationMaster's container.

The name of a task type consists of letters, digits, `_` and `-`. These names are reserved, because
keys that belong to no type begin with them:
)";

std::string Cell(const std::string& text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string RowText(const Key& key) {
  const std::string adds_up = key.appends ? ", adds up" : "";
  const std::string default_text =
      key.default_value.empty() ? "–" : absl::StrCat("`", key.default_value, "`");
  return absl::StrCat("| `", key.name, "` | ", Cell(TypeText(key)), adds_up, " | ", default_text,
                      " | ", Cell(StatusText(key)), " | ", Cell(key.meaning), " |\n");
}

std::string ReservedWords() {
  std::vector<std::string> words;
  for (const std::string& word : ReservedTypeNames()) words.push_back(absl::StrCat("`", word, "`"));
  return absl::StrJoin(words, ", ");
}

}  // namespace

// A switch over all types of values, with one text for each: the compiler reports a type that is
// left out.
std::string TypeText(const Key& key) {
  switch (key.type) {
    case ValueType::kText:
      return "text";
    case ValueType::kCommand:
      return "command";
    case ValueType::kBoolean:
      return "boolean";
    case ValueType::kCount:
      return absl::StrCat("count, ", RangeText(key));
    case ValueType::kDecimal:
      return absl::StrCat("decimal, ", RangeText(key));
    case ValueType::kMilliseconds:
      return absl::StrCat("milliseconds, ", RangeText(key));
    case ValueType::kSeconds:
      return absl::StrCat("seconds, ", RangeText(key));
    case ValueType::kMemory:
      return key.minimum < 0 ? "memory, or -1" : "memory";
    case ValueType::kChoice:
      return absl::StrCat("one of ", absl::StrJoin(key.choices, ", "));
    case ValueType::kList:
      return "list";
    case ValueType::kPatterns:
      return "list of patterns";
    case ValueType::kStepPattern:
      return "pattern";
    case ValueType::kKeyValues:
      return "list of `NAME=value`";
    case ValueType::kPlacement:
      return "placement constraint";
    case ValueType::kUserCounts:
      return "numbers for users";
    case ValueType::kUserMemory:
      return "memory for users";
    case ValueType::kAmounts:
      return "list of `NAME=number`";
    case ValueType::kResources:
      return "list of resources";
    case ValueType::kSecretUrls:
      return "list of web addresses";
    case ValueType::kExistingPath:
      return "path of a file or folder";
    case ValueType::kFolder:
      return "path of a folder";
    case ValueType::kLocation:
      return "path or URI";
  }
  return "";
}

std::string StatusText(const Key& key) {
  switch (key.status) {
    case KeyStatus::kWorks:
      return "works";
    case KeyStatus::kOneBackend:
      return absl::StrCat("works on the ", key.reason, " backend");
    case KeyStatus::kNote:
      return absl::StrCat("accepted with a note: ", key.reason);
    case KeyStatus::kRefused:
      return absl::StrCat("refused: ", key.reason);
  }
  return "";
}

std::string RenderIntroduction() {
  return absl::StrCat(
      kIntroduction, ReservedWords(), ".\n\n## Keys\n\n",
      "A *refused* key is an error, unless its value is empty or the default shown (TonY's).\n"
      "A key that is *accepted with a note* has no effect, and the note says why.\n");
}

std::string RenderConfigurationDocs() {
  std::string text = RenderIntroduction();
  for (const KeyGroup& group : KeyGroups()) {
    absl::StrAppend(&text, "\n### ", group.title, "\n\n", group.introduction, "\n\n",
                    "| Key | Type | Default | Status | Meaning |\n|---|---|---|---|---|\n");
    for (const Key& key : group.keys) text += RowText(key);
  }
  return text;
}

}  // namespace tony::jobfile
