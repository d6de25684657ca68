// Texts of programs are `bytes` in the messages; sentences of tony's own are made UTF-8.
#include "rpc/convert/convert_stacks.h"

#include <utility>

#include "rpc/convert/convert.h"
#include "rpc/convert/utf8.h"

namespace tony::rpc {
namespace {

v1::StacksResponse::Process ToProto(const core::ProcessStacks& process) {
  v1::StacksResponse::Process message;
  message.set_pid(process.pid);
  message.set_inner_pid(process.inner_pid);
  message.set_parent(process.parent);
  message.set_program(process.program);
  message.set_way(ToUtf8(process.way));
  message.set_trouble(ToUtf8(process.trouble));
  for (const core::ThreadStack& thread : process.threads) {
    v1::StacksResponse::Thread& added = *message.add_threads();
    added.set_name(thread.name);
    added.set_stack(thread.stack);
    added.set_main(thread.main);
  }
  return message;
}

core::ProcessStacks FromProto(const v1::StacksResponse::Process& message, int stacks) {
  core::ProcessStacks process{message.pid(),
                              message.inner_pid(),
                              message.parent(),
                              message.program(),
                              message.way(),
                              message.trouble(),
                              {}};
  for (const v1::StacksResponse::Thread& thread : message.threads()) {
    if (thread.stack() < 0 || thread.stack() >= stacks) continue;
    process.threads.push_back({thread.name(), thread.stack(), thread.main()});
  }
  return process;
}

}  // namespace

v1::ProcessDump ToProto(const core::ProcessDump& dump) {
  v1::ProcessDump message;
  message.set_pid(dump.pid);
  message.set_inner_pid(dump.inner_pid);
  message.set_parent(dump.parent);
  message.set_program(dump.program);
  message.set_way(ToUtf8(dump.way));
  message.set_text(dump.text);
  message.set_trouble(ToUtf8(dump.trouble));
  return message;
}

std::vector<core::ProcessDump> FromProto(const v1::TaskStacks& stacks) {
  std::vector<core::ProcessDump> dumps;
  for (const v1::ProcessDump& message : stacks.processes()) {
    dumps.push_back({message.pid(), message.inner_pid(), message.parent(), message.program(),
                     message.way(), message.text(), message.trouble()});
  }
  return dumps;
}

v1::StacksResponse ToProto(const core::StackReport& report) {
  v1::StacksResponse response;
  response.set_unix_millis(report.unix_millis);
  for (const core::Stack& stack : report.stacks) {
    v1::StacksResponse::Stack& added = *response.add_stacks();
    added.set_cut(stack.cut);
    for (const core::StackFrame& frame : stack.frames) {
      v1::StacksResponse::Frame& call = *added.add_frames();
      call.set_file(frame.file);
      call.set_line(frame.line);
      call.set_function(frame.function);
    }
  }
  for (const core::TaskStacks& task : report.tasks) {
    v1::StacksResponse::Task& added = *response.add_tasks();
    *added.mutable_task() = ToProto(task.task);
    added.set_host(ToUtf8(task.host));
    added.set_attempt(task.attempt);
    added.set_trouble(ToUtf8(task.trouble));
    for (const core::ProcessStacks& process : task.processes) {
      *added.add_processes() = ToProto(process);
    }
  }
  return response;
}

core::StackReport FromProto(const v1::StacksResponse& response) {
  core::StackReport report;
  report.unix_millis = response.unix_millis();
  for (const v1::StacksResponse::Stack& message : response.stacks()) {
    core::Stack& stack = report.stacks.emplace_back();
    stack.cut = message.cut();
    for (const v1::StacksResponse::Frame& frame : message.frames()) {
      stack.frames.push_back({frame.file(), frame.line(), frame.function()});
    }
  }
  for (const v1::StacksResponse::Task& message : response.tasks()) {
    core::TaskStacks task{
        FromProto(message.task()), message.host(), message.attempt(), message.trouble(), {}};
    for (const v1::StacksResponse::Process& process : message.processes()) {
      task.processes.push_back(FromProto(process, response.stacks_size()));
    }
    report.tasks.push_back(std::move(task));
  }
  return report;
}

}  // namespace tony::rpc
