// Markdown tables from the key table, one for each of its groups.
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

The key names are TonY's; a job file of TonY runs unchanged, or the message says which key is
missing something.

The file is UTF-8, or ISO-8859-1 where its first line declares that. Entities are those that XML
itself has (`&amp;`, `&lt;`, `&#64;`); a DOCTYPE is passed over with a note, and an entity that it
declares is a mistake where it is used.

## Layers

Built-in default < site file < job file < command line (`--conf key=value`): a later layer
replaces what an earlier one says. The site file is `$TONY_CONF_DIR/tony-site.xml`, by default
`/etc/tony/tony-site.xml`. Two exceptions:

* `--conf` *adds* to the lists marked "adds up" below. In a list of `NAME=value` the last one of a
  name wins.
* A property with `<final>true</final>` may not be changed by a later layer; trying is an error.

Unlike in TonY the job file beats the site file. A key may stand only once in a file.

## Values

* **Boolean**: `true` or `false`. **Count**, **milliseconds**, **seconds**: whole numbers without
  a unit.
* **Decimal**: `2` or `0.5`.
* **Memory**: `2g`, `2048m`, or megabytes as a bare number.
* **List**: items divided by commas; white space around items does not count. `\,` is a comma
  inside an item and `\\` a backslash; every other backslash is itself.
* **Pattern**: a regular expression as RE2 takes it. In a list of them a comma is `\,`, say
  `id-\d{3\,5}`.
* **Placement constraint**, in the notation of Hadoop's own tools: `in,SCOPE,TAG…` where containers
  with each of the tags are, `notin,SCOPE,TAG…` where none is, `cardinality,SCOPE,TAG…,MIN,MAX` where
  there are so many of each before this one comes, `NAME=VALUE…` or `NAME!=VALUE…` by an attribute
  of the node; several as `and(A:B)` and `or(A:B)`. The scope is `node` or `rack`. Tags are those of
  the same job, or with `not-self/`, `all/`, `app-id/ID/` or `app-tag/TAG/` before them those of
  other applications.
* **Path**: absolute, beginning with `~`, or relative to the folder of the file that names it (on
  the command line: to the current folder).
* **Resource**: `path[::localName][#archive]`. A file or folder is laid into the working folder as
  `localName`, by default the last part of its path. With `#archive` it is unpacked into a folder
  of that name. Within one task no two resources may have one name. Remote paths (`hdfs://…`) need
  a backend that this version does not have.

## Task types

A type exists because its `instances` are set. The type `tensorboard` also exists when its command
or `tony.application.tensorboard-log-dir` is set; as a sidecar, which it is by default, it runs
once. When there are no tasks at all, the command runs in the ApplicationMaster's container.

A task type is called by letters, digits, `_` and `-`. Reserved are the first words of the keys
that belong to no type:
)";

std::string Cell(const std::string& text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

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
    case ValueType::kKeyValues:
      return "list of `NAME=value`";
    case ValueType::kPlacement:
      return "placement constraint";
    case ValueType::kAmounts:
      return "list of `NAME=number`";
    case ValueType::kResources:
      return "list of resources";
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
    case KeyStatus::kNeedsBackend:
      return absl::StrCat("works on the ", key.reason, " backend, refused elsewhere");
    case KeyStatus::kNote:
      return absl::StrCat("accepted with a note: ", key.reason);
    case KeyStatus::kRefused:
      return absl::StrCat("refused: ", key.reason);
  }
  return "";
}

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

std::string RenderConfigurationDocs() {
  std::string text = kIntroduction;
  absl::StrAppend(
      &text, ReservedWords(), ".\n\n## Keys\n\n",
      "A key that is *refused* is an error, except with an empty value or with the default shown,\n"
      "which is TonY's and changes nothing. A key that is *accepted with a note* has no effect, "
      "and\n"
      "the note says why.\n");
  for (const KeyGroup& group : KeyGroups()) {
    absl::StrAppend(&text, "\n### ", group.title, "\n\n", group.introduction, "\n\n",
                    "| Key | Type | Default | Status | Meaning |\n|---|---|---|---|---|\n");
    for (const Key& key : group.keys) text += RowText(key);
  }
  return text;
}

}  // namespace tony::jobfile
