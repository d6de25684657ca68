// The thread writes one batch at a time; results return to the event loop as a posted function.
#include "appmaster/record/journal_thread.h"

#include <utility>

#include "common/logging.h"

namespace tony::appmaster {

JournalThread::JournalThread(Journal journal, EventLoop& loop)
    : journal_(std::move(journal)), incarnation_(journal_.incarnation()), loop_(loop) {
  thread_ = std::thread([this] { Run(); });
}

JournalThread::~JournalThread() {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void JournalThread::Append(const core::Decisions& decisions, OnKept on_kept) {
  {
    std::lock_guard lock(mutex_);
    next_.decisions.insert(next_.decisions.end(), decisions.begin(), decisions.end());
    next_.waiting.push_back(std::move(on_kept));
  }
  changed_.notify_one();
}

void JournalThread::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return leaving_ || !next_.waiting.empty(); });
    if (next_.waiting.empty()) return;
    // The mutex is not held during the write, so that Append() never waits for the storage.
    Batch batch = std::exchange(next_, {});
    lock.unlock();
    const absl::Status status = journal_.Write(batch.decisions);
    if (!status.ok()) LogWarning("decisions are not kept", {{"why", status.message()}});
    lock.lock();
    written_.emplace_back(std::move(batch), status);
    loop_.Post(lifetime_.Guard([this] { Answer(); }));
  }
}

void JournalThread::Answer() {
  std::vector<std::pair<Batch, absl::Status>> written;
  {
    std::lock_guard lock(mutex_);
    written.swap(written_);
  }
  for (const auto& [batch, status] : written) {
    for (const OnKept& on_kept : batch.waiting) on_kept(status);
  }
}

}  // namespace tony::appmaster
