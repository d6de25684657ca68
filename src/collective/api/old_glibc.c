/* What lets libtony_collective.so run with every glibc from 2.28 on, whichever it is built with.
 *
 * Two kinds of functions of a newer glibc get into the library, from its own sources and from the
 * static libstdc++ and libgcc inside it. Those that glibc has only moved (threads, dlopen) are
 * asked for by their old versions, which all glibcs have. Those that old ones lack are made here.
 * All are hidden: nobody but this library sees them. The test collective.library_symbols holds it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#else
#error "which version of glibc was the first one for this processor?"
#endif
#define OLD(name) __asm__(".symver old_" #name ", " #name "@" FIRST_VERSION)

/* Moved into libc.so.6 with 2.34. */
OLD(pthread_create);
int old_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                       void* argument);
HIDDEN int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                          void* (*start)(void*), void* argument) {
  return old_pthread_create(thread, attributes, start, argument);
}

OLD(pthread_join);
int old_pthread_join(pthread_t thread, void** result);
HIDDEN int pthread_join(pthread_t thread, void** result) {
  return old_pthread_join(thread, result);
}

OLD(pthread_detach);
int old_pthread_detach(pthread_t thread);
HIDDEN int pthread_detach(pthread_t thread) { return old_pthread_detach(thread); }

OLD(pthread_once);
int old_pthread_once(pthread_once_t* control, void (*routine)(void));
HIDDEN int pthread_once(pthread_once_t* control, void (*routine)(void)) {
  return old_pthread_once(control, routine);
}

OLD(pthread_key_create);
int old_pthread_key_create(pthread_key_t* key, void (*destructor)(void*));
HIDDEN int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  return old_pthread_key_create(key, destructor);
}
/* libgcc's way to see whether there are threads. */
HIDDEN int __pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  return old_pthread_key_create(key, destructor);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* nobody reads what `value` points to */
OLD(pthread_setspecific);
int old_pthread_setspecific(pthread_key_t key, const void* value);
HIDDEN int pthread_setspecific(pthread_key_t key, const void* value) {
  return old_pthread_setspecific(key, value);
}
#pragma GCC diagnostic pop

OLD(pthread_getspecific);
void* old_pthread_getspecific(pthread_key_t key);
HIDDEN void* pthread_getspecific(pthread_key_t key) { return old_pthread_getspecific(key); }

OLD(dlopen);
void* old_dlopen(const char* file, int mode);
HIDDEN void* dlopen(const char* file, int mode) { return old_dlopen(file, mode); }

OLD(dlsym);
void* old_dlsym(void* handle, const char* name);
HIDDEN void* dlsym(void* handle, const char* name) { return old_dlsym(handle, name); }

OLD(dlclose);
int old_dlclose(void* handle);
HIDDEN int dlclose(void* handle) { return old_dlclose(handle); }

OLD(dlerror);
char* old_dlerror(void);
HIDDEN char* dlerror(void) { return old_dlerror(); }

OLD(dladdr);
int old_dladdr(const void* address, Dl_info* info);
HIDDEN int dladdr(const void* address, Dl_info* info) { return old_dladdr(address, info); }

/* Functions since 2.33; before that the headers called others. The kernel's structure is glibc's.
 */
HIDDEN int fstat(int descriptor, struct stat* found) {
  return (int)syscall(SYS_fstat, descriptor, found);
}
HIDDEN int stat(const char* path, struct stat* found) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, found, 0);
}
HIDDEN int lstat(const char* path, struct stat* found) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
HIDDEN int fstat64(int descriptor, struct stat64* found) {
  return (int)syscall(SYS_fstat, descriptor, found);
}
HIDDEN int stat64(const char* path, struct stat64* found) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, found, 0);
}
HIDDEN int lstat64(const char* path, struct stat64* found) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}

/* Since 2.32. Atomic operations are right with one thread, too. */
HIDDEN char __libc_single_threaded = 0;

static struct timespec Plus(struct timespec a, struct timespec b, struct timespec minus) {
  struct timespec sum = {.tv_sec = a.tv_sec + b.tv_sec - minus.tv_sec,
                         .tv_nsec = a.tv_nsec + b.tv_nsec - minus.tv_nsec};
  for (; sum.tv_nsec < 0; sum.tv_nsec += 1000000000) --sum.tv_sec;
  for (; sum.tv_nsec >= 1000000000; sum.tv_nsec -= 1000000000) ++sum.tv_sec;
  return sum;
}

/* Since 2.30, and taken from there where it is. Otherwise by the clock of the day, which may be set
 * meanwhile: libstdc++ looks at its own clock again. */
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const struct timespec* until) {
  typedef int (*ClockWait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  static ClockWait found;
  static int looked;
  if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&found, (ClockWait)old_dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
  }
  const ClockWait wait = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (wait != NULL) return wait(condition, mutex, clock, until);
  struct timespec now, today;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &today);
  const struct timespec then = Plus(today, *until, now);
  return pthread_cond_timedwait(condition, mutex, &then);
}

/* Since 2.35: where the unwinding tables of the object with `address` are. Objects that unwind here
 * are few, and exceptions rare, so it goes through all that are loaded. */
struct Search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int Look(struct dl_phdr_info* info, size_t size, void* searched) {
  (void)size;
  const struct Search* const search = searched;
  const void* tables = NULL;
  uintptr_t first = 0, last = 0;
  int is_here = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) tables = (const void*)start;
    if (part->p_type != PT_LOAD) continue;
    if (first == 0) first = start;
    last = start + part->p_memsz;
    if (search->address >= start && search->address < last) is_here = 1;
  }
  if (!is_here || tables == NULL) return is_here;
  search->found->dlfo_flags = 0;
  search->found->dlfo_map_start = (void*)first;
  search->found->dlfo_map_end = (void*)last;
  search->found->dlfo_link_map = NULL; /* libgcc does not look at it */
  search->found->dlfo_eh_frame = (void*)tables;
  return 2;
}

HIDDEN int _dl_find_object(void* address, struct dl_find_object* found) {
  struct Search search = {.address = (uintptr_t)address, .found = found};
  return dl_iterate_phdr(Look, &search) == 2 ? 0 : -1;
}
