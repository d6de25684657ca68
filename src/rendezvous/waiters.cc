// Notify() takes all waiters of a key off the list at once and posts their callbacks. A handle
// destroyed before Notify() leaves the list; one destroyed between Notify() and the callback only
// withdraws its callback.
#include "rendezvous/waiters.h"

#include <utility>

namespace tony::rendezvous {

struct Waiters::Waiter {
  KeyValueStore::OnValue on_value;
  bool listed = true;  ///< false: the value has come
  bool wanted = true;
};

std::unique_ptr<EventLoop::Handle> Waiters::Add(const std::string& scope, const std::string& key,
                                                KeyValueStore::OnValue on_value) {
  struct Wait : EventLoop::Handle {
    ~Wait() override {
      waiter->wanted = false;
      if (!waiter->listed) return;
      list->second.erase(position);
      if (list->second.empty()) waiters->erase(list);
    }
    std::shared_ptr<WaitersByKey> waiters;
    WaitersByKey::iterator list;
    std::list<std::shared_ptr<Waiter>>::iterator position;
    std::shared_ptr<Waiter> waiter;
  };
  auto wait = std::make_unique<Wait>();
  wait->waiters = waiters_;
  wait->waiter = std::make_shared<Waiter>(Waiter{std::move(on_value)});
  wait->list = waiters_->try_emplace(StoreKey(scope, key)).first;
  auto& list = wait->list->second;
  wait->position = list.insert(list.end(), wait->waiter);
  return wait;
}

void Waiters::Notify(const std::string& scope, const std::string& key, const core::Blob& value) {
  const auto found = waiters_->find(StoreKey(scope, key));
  if (found == waiters_->end()) return;
  for (const std::shared_ptr<Waiter>& waiter : found->second) waiter->listed = false;
  loop_.Post([waiters = std::move(found->second), value] {
    for (const std::shared_ptr<Waiter>& waiter : waiters) {
      if (waiter->wanted) waiter->on_value(value);
    }
  });
  waiters_->erase(found);
}

}  // namespace tony::rendezvous
