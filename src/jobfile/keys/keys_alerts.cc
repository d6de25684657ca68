// Keys of the messages that a job sends to webhooks.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {

KeyGroup AlertKeys() {
  KeyGroup group;
  group.title = "Alerts";
  group.introduction =
      "Messages to webhooks when a job starts, restarts, hangs and ends ([alerts.md](alerts.md)).";
  group.keys = {
      {.name = "tony.alerts.urls",
       .type = ValueType::kSecretUrls,
       .meaning = "Addresses to which the ApplicationMaster posts alerts, `http` or `https`, four "
                  "at most. They count as secrets: pages, logs and messages show scheme and host "
                  "only, and the command line, which others may read, cannot set them."},
      {.name = "tony.alerts.format",
       .type = ValueType::kChoice,
       .default_value = "json",
       .choices = {"json", "slack"},
       .meaning = "`json`: all facts of the event; `slack`: one text, as Slack and programs "
                  "compatible with it want it."},
      {.name = "tony.alerts.events",
       .type = ValueType::kList,
       .default_value = "start,restart,hang,end",
       .meaning = "The events that are sent, of `start`, `restart`, `hang` and `end`."},
      {.name = "tony.alerts.secret-file",
       .type = ValueType::kExistingPath,
       .meaning = "File with the key that signs alerts (HMAC-SHA256), of 16 characters or more. "
                  "Only its owner may have access to it. The ApplicationMaster reads it, so on "
                  "YARN it lies at the same path on every node."},
      {.name = "tony.alerts.proxy",
       .meaning = "`http://HOST:PORT` of the proxy through which the addresses are reached; unset: "
                  "none, whatever the environment says."},
      {.name = "tony.alerts.ca-file",
       .type = ValueType::kExistingPath,
       .meaning = "PEM file with the authorities that may have signed the certificates of `https` "
                  "addresses, in place of the machine's own. On YARN it lies at the same path on "
                  "every node."},
  };
  return group;
}

}  // namespace tony::jobfile
