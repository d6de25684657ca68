// Seeds that are texts.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/rendezvous/plan_text.h"
#include "core/rendezvous/slot_plan.h"
#include "tests/fuzz/seeds/seeds.h"
#include "tests/support/tree/source_tree.h"

namespace tony::fuzz {
namespace {

namespace fs = std::filesystem;

void AddRequests(Seeds& seeds) {
  const std::string browser =
      "GET /place/logs?code=a%2Bb&empty&x=1=2 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
      "Origin: http://127.0.0.1:8080\r\nCookie: a=1; tony-page=abc ;b = 2\r\n"
      "User-Agent: Mozilla/5.0\r\nAccept: text/html\r\n\r\n";
  seeds.push_back({"http_request", "browser", '\1' + browser});
  seeds.push_back({"http_request", "byte-by-byte", '\0' + browser});
  seeds.push_back({"http_request", "head", "\7HEAD /%41 HTTP/1.0\r\nHost: h\r\n\r\n"});
  seeds.push_back(
      {"http_request", "post", "\3POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"});
  seeds.push_back({"http_request", "body",
                   "\5POST /stop HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                   "Sec-Fetch-Site: same-origin\r\nContent-Length: 13\r\n\r\n{\"reason\":\"\"}"});
  seeds.push_back({"http_request", "chunked",
                   "\5GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"});
  seeds.push_back({"http_request", "two-hosts", "\4GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n"});

  // The first byte: of a request, or of a response.
  seeds.push_back({"program_head", "browser", std::string(1, '\0') + '\1' + browser});
  seeds.push_back({"program_head", "byte-by-byte", std::string(2, '\0') + browser});
  seeds.push_back({"program_head", "web-socket",
                   std::string(1, '\0') +
                       "\3GET /ws HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\n"
                       "Upgrade: websocket\r\nSec-WebSocket-Key: a\r\n\r\n"});
  seeds.push_back({"program_head", "post",
                   std::string(1, '\0') +
                       "\5POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nConnection: "
                       "Content-Length\r\n\r\nabc"});
  seeds.push_back({"program_head", "response",
                   "\1\4HTTP/1.0 302 Found\r\nLocation: http://node1:6006/x\r\n"
                   "Set-Cookie: a=1\r\n\r\nbody"});
  seeds.push_back({"program_head", "interim",
                   "\1\2HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\n"
                   "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nframe"});

  seeds.push_back({"rendezvous_head", "get",
                   "\1GET /global/3 HTTP/1.1\r\nHost: h\r\n"
                   "Accept-Encoding: identity\r\n\r\n"});
  seeds.push_back({"rendezvous_head", "put",
                   "\2PUT /worker_addresses/h:0 HTTP/1.1\r\nHost: h\r\n"
                   "Content-Length: 5\r\n\r\nvalue"});
  const std::string remove = "DELETE /local_h/0 HTTP/1.0\r\nContent-Length: 0\r\n\r\n";
  seeds.push_back({"rendezvous_head", "delete", '\0' + remove});
  seeds.push_back({"rendezvous_head", "page", "\3GET /a/b HTTP/1.1\r\nOrigin: http://x\r\n\r\n"});
}

void AddJobFiles(Seeds& seeds) {
  for (const auto& entry : fs::recursive_directory_iterator(InSourceTree("examples"))) {
    if (entry.path().extension() != ".xml") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string name =
        entry.path().parent_path().filename().string() + "-" + entry.path().stem().string();
    seeds.push_back({"job_file", name, std::string(std::istreambuf_iterator<char>(file), {})});
  }
  seeds.push_back({"job_file", "every-kind",
                   R"(<?xml version="1.0" encoding="UTF-8"?>
<!-- a job -->
<configuration>
 <property><name>tony.worker.instances</name><value>2</value><final>true</final></property>
 <property><name>tony.worker.command</name><value><![CDATA[a < b && c]]></value></property>
 <property><name>tony.worker.memory</name><value>2g</value></property>
 <property><name>tony.worker.resources</name><value>a::b#archive,c</value></property>
 <property><name>tony.ps.instances</name><value>1</value></property>
 <property><name>tony.ps.command</name><value>x &amp; y&#13;</value></property>
 <property><name>tony.worker.depends-on</name><value>ps</value></property>
 <property><name>tony.application.timeout</name><value>90s</value></property>
 <property><name>tony.application.untracked.jobtypes</name><value>ps</value></property>
 <property><name>tony.yarn.queue</name><value>q</value><source>s.xml</source></property>
</configuration>
)"});
}

void AddValues(Seeds& seeds) {
  const std::pair<const char*, const char*> values[] = {
      {"list", "a, b\\,c ,\\\\,NAME=x=y,"},
      {"number", "-9223372036854775808"},
      {"decimal", "0.5"},
      {"memory", "2048m"},
      {"duration", "500ms"},
      {"resource", "/data/x.zip::name#archive"},
      {"location", "hdfs://host:9000/a b::c"},
      {"placement-in", "in,node,worker,all/ps"},
      {"placement-cardinality", "cardinality,rack,app-id/application_1_0001/worker,0,3"},
      {"placement-attribute", "rm.yarn.io/arch=x86,arm"},
      {"placement-and", "AND(notin,NODE,not-self/a:or(java!=1.8:in,rack,app-tag/t/x))"}};
  for (const auto& [name, text] : values) seeds.push_back({"job_values", name, text});
}

void AddProperties(Seeds& seeds) {
  seeds.push_back({"java_properties", "step",
                   "#Fri Nov 27 12:00:00 UTC 2026\nazkaban.webserverhost=http\\://h\\:8081\n"
                   "a\\ b:1,\\\r\n  2\r! c\n\nword\tgr\\u00C3\\u00B6\\u20AC \xF6\\t\\\\\n"});
  seeds.push_back({"java_properties", "pair", "=\\ud83d\\uDE00\n#\\\nb \\"});
}

void AddPlans(Seeds& seeds) {
  core::RendezvousPlan plan;
  plan.slots = core::PlanSlots({{"host", 2}, {"other", 1}}, 3).value();
  seeds.push_back({"rendezvous_plan", "plan", core::FormatPlan(plan)});
  plan.round = 4;
  plan.members = {"worker:0/1", "worker:1/1", "worker:2/3"};
  seeds.push_back({"rendezvous_plan", "round", core::FormatPlan(plan)});
  seeds.push_back({"rendezvous_plan", "members",
                   core::FormatMembers({{{"worker:0/1", "host"}, {"worker:1/2", "other"}}, true})});
  seeds.push_back({"rendezvous_plan", "wait",
                   core::FormatWait({"worker:1 has not asked yet", {"worker:1", "worker:2"}})});
  seeds.push_back({"rendezvous_plan", "workers", "host:2,other:1"});
  seeds.push_back({"rendezvous_plan", "file", core::PlanFileName(41234)});
}

/// The texts as the tools print them: alone, and as those of processes.
void AddStacks(Seeds& seeds) {
  const std::string python =
      "Thread 0x00007f01 (most recent call first):\n  File \"a.py\", line 3 in wait\n  ...\n\n"
      "Current thread 0x00007f02 [main] (most recent call first):\n"
      "  File \"/job/train.py\", line 12 in load_batch\n  File \"x\", line ??? in <module>\n";
  const std::string spy =
      "Thread 7 (idle): \"MainThread\"\n    load (a (1).py:3)\n    main (libc.so)\n";
  const std::string native = "TID 7:\n#0  0x00007f nanosleep\n#1  0x00007e main - 1\nTID 8:\n";
  const std::string kernel = "7\tpython3\tsleeping\tfutex_do_wait\tfutex\n";
  const std::string none(3, '\0');
  seeds.push_back({"stack_text", "faulthandler", none + python});
  seeds.push_back({"stack_text", "py-spy", none + spy});
  seeds.push_back({"stack_text", "eu-stack", none + native});
  seeds.push_back({"stack_text", "proc", none + kernel});
  seeds.push_back({"stack_text", "escapes",
                   none + "Thread \033[31m<b>\xff (most recent call first):\n"
                          "  File \"\033]0;t\007\", line 1 in \xC2\x9B<i>\n"});
  const auto process = [](char pid, char parent, char way, const std::string& text) {
    std::string bytes{pid, parent, way, '\0', static_cast<char>(text.size())};
    return bytes + text;
  };
  const std::string rank = python.substr(python.find("Current"));
  const std::string pair = "\2" + process(1, 0, 3, kernel) + process(2, 1, 0, rank);
  seeds.push_back({"stack_text", "ranks", pair + pair + "\1" + process(3, 1, 0, spy)});
}

/// Put together here, so that no tool takes this file for a leak.
void AddOutput(Seeds& seeds) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  const std::string secrets =
      "\2DB_PASSWORD = hunter2 x\n{\"password\": \"a b,c\"}\nConfig(passwd='x y', n=1)\n"
      "Authorization: Bearer abc.def-123==\nAUTHORIZATION: BASIC dXNlcjpwdw==\r\n"
      "https://me:s3cret@host/p?q redis://:s3cret@host\nkey " +
      std::string("AKIA") + "IOSFODNN7EXAMPLE\n" + "ghp_" + letters + "\nHF=hf_" + letters +
      "\nxoxb-" + "123456789012-abcdefABCDEF\n";
  seeds.push_back({"secret_scanner", "known", secrets});
  seeds.push_back({"secret_scanner", "byte-by-byte", '\0' + secrets.substr(1)});
  const std::string key = "PRIVATE KEY-----";
  seeds.push_back(
      {"secret_scanner", "private-key",
       "\4a\n-----BEGIN RSA " + key + "\nMIIEpAIBAAKCAQEA\nabc=\n-----END RSA " + key + "\nb\n"});
  seeds.push_back({"secret_scanner", "patterns", "\3tok-123 KEY:  value rest\rtok-\n"});
}

/// What programs report of themselves; the first byte says how it is divided.
void AddReports(Seeds& seeds) {
  seeds.push_back({"report_lines", "steps",
                   "\2step=1 loss=2.5\nstep=2 note=\"all well\"\nloss=nan\nphase=checkpoint\n"
                   "checkpoint=/a/b phase= checkpoint_seconds=2\n"});
  seeds.push_back({"report_lines", "defects", "\1step = 1\nstep=two\n=x\nb=\xff\nstep=-1e300\n"});
  seeds.push_back({"report_lines", "long", "\5" + std::string(5000, 'a') + "\nstep=3\n"});
}

/// Text with control sequences for a terminal.
void AddTerminalText(Seeds& seeds) {
  seeds.push_back({"safe_text", "title", "a\033]0;title\007b \033[31mred\033[0m\tt\r\n"});
  seeds.push_back({"safe_text", "escape-and-letter", "\033\305\201\033]0;PWNED\007"});
  seeds.push_back({"safe_text", "utf8", "äöü 漢字 \xF0\x9F\x98\x80 \xC2\x9B 31m \xE2\x80\xAE"});
  seeds.push_back({"safe_text", "json", "{\"a\": [\"\xC2\x9B 1;31m \", 1.5, null]}"});
}

}  // namespace

void AddTextSeeds(Seeds& seeds) {
  AddRequests(seeds);
  AddJobFiles(seeds);
  AddValues(seeds);
  AddProperties(seeds);
  AddPlans(seeds);
  AddStacks(seeds);
  AddOutput(seeds);
  AddReports(seeds);
  AddTerminalText(seeds);
}

}  // namespace tony::fuzz
