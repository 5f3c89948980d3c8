/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/names.h"

#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"

#define FIRST 0xC6120001U /* 198.18.0.1 */
enum { ADDRESSES = 0x20000 - 2, FILE_MODE = 0444 };

/* Columns, so that a search reads little memory: 8192 names are compared in some microseconds. */
struct host_names {
    pthread_mutex_t lock;
    size_t count;
    uint64_t clock;
    uint32_t next; /* address, counted from FIRST */
    uint32_t hash[NAMES_MAX];
    uint32_t address[NAMES_MAX];
    uint64_t used[NAMES_MAX]; /* by the clock */
    char *name[NAMES_MAX];    /* owned, lower case */
};

struct host_names *names_new(void)
{
    struct host_names *names = NEW(struct host_names);
    (void)pthread_mutex_init(&names->lock, NULL);
    return names;
}

struct host_names *names_free(struct host_names *names)
{
    if (!names)
        return NULL;
    for (size_t i = 0; i < names->count; i++)
        xfree(names->name[i]);
    (void)pthread_mutex_destroy(&names->lock);
    xfree(names);
    return NULL;
}

static uint32_t name_hash_of(const char *name)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619U;
    return hash;
}

static size_t place_of_address(const struct host_names *names, uint32_t address)
{
    size_t i = 0;
    while (i < names->count && names->address[i] != address)
        i++;
    return i;
}

static size_t place_of_name(const struct host_names *names, const char *name, uint32_t hash)
{
    size_t i = 0;
    while (i < names->count && (names->hash[i] != hash || strcmp(names->name[i], name) != 0))
        i++;
    return i;
}

/* Where a new name goes: a new place, or that of the one unused for longest. */
static size_t place_for_new_name(struct host_names *names)
{
    if (names->count < NAMES_MAX)
        return names->count++;
    size_t oldest = 0;
    for (size_t i = 1; i < NAMES_MAX; i++)
        if (names->used[i] < names->used[oldest])
            oldest = i;
    xfree(names->name[oldest]);
    names->name[oldest] = NULL;
    return oldest;
}

static uint32_t address_for_new(struct host_names *names)
{
    uint32_t address;
    do {
        address = FIRST + names->next;
        names->next = (names->next + 1) % ADDRESSES;
    } while (place_of_address(names, address) < names->count);
    return address;
}

uint32_t names_address(struct host_names *names, const char *name)
{
    char lower[DNS_NAME_MAX + 1] = "";
    size_t n = strlen(name);
    if (n > DNS_NAME_MAX)
        return 0;
    for (size_t i = 0; i < n; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    uint32_t hash = name_hash_of(lower);
    (void)pthread_mutex_lock(&names->lock);
    size_t at = place_of_name(names, lower, hash);
    if (at == names->count) {
        uint32_t address = address_for_new(names);
        at = place_for_new_name(names);
        names->name[at] = xstrdup(lower);
        names->hash[at] = hash;
        names->address[at] = address;
    }
    names->used[at] = ++names->clock;
    uint32_t address = names->address[at];
    (void)pthread_mutex_unlock(&names->lock);
    return address;
}

bool names_find(struct host_names *names, uint32_t address, char name[static DNS_NAME_MAX + 1])
{
    (void)pthread_mutex_lock(&names->lock);
    size_t at = place_of_address(names, address);
    bool found = at < names->count;
    if (found) {
        names->used[at] = ++names->clock;
        memcpy(name, names->name[at], strlen(names->name[at]) + 1);
    }
    (void)pthread_mutex_unlock(&names->lock);
    return found;
}

int names_file(const char *label, const struct buf *text)
{
    drop_fd int fd = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int r = fd_write(fd, buf_text(text), text->len);
    if (r < 0)
        return r;
    int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (fchmod(fd, FILE_MODE) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)
        return -errno;
    char path[32]; /* opened again: the descriptor of memfd_create() is for writing too */
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reader = open(path, O_RDONLY | O_CLOEXEC);
    return reader < 0 ? -errno : reader;
}
