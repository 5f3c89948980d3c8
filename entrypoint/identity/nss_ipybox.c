/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/identity/nss_ipybox.c - libnss_ipybox.so.2, a module of the C library's name service:
 * the name of a user that has no line in /etc/passwd, as with `docker run --user 4242` or the owner
 * of a workspace. Each process finds itself, and nobody else, under the name "ipybox", so that
 * nothing is to be written at the start, when the root filesystem may be read-only.
 * Calls:  by glibc, behind "files" (nsswitch.conf); any thread. No C library is linked: it is
 *         loaded beside that of any program.
 * Limits: programs without glibc's name service know /etc/passwd alone. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As glibc has them (nss.h), which the headers here may not be. */
enum nss_status { NSS_STATUS_TRYAGAIN = -2, NSS_STATUS_NOTFOUND = 0, NSS_STATUS_SUCCESS = 1 };

#define NAME "ipybox"
#define HOME "/home/ipybox"
#define SHELL "/bin/bash"

uid_t getuid(void); /* of the C library that is there */
gid_t getgid(void);

enum nss_status _nss_ipybox_getpwuid_r(uid_t uid, struct passwd *ret, char *buffer, size_t size,
                                       int *error);
enum nss_status _nss_ipybox_getpwnam_r(const char *name, struct passwd *ret, char *buffer,
                                       size_t size, int *error);
enum nss_status _nss_ipybox_getgrgid_r(gid_t gid, struct group *ret, char *buffer, size_t size,
                                       int *error);
enum nss_status _nss_ipybox_getgrnam_r(const char *name, struct group *ret, char *buffer,
                                       size_t size, int *error);

static bool is_name(const char *name)
{
    static const char own[] = NAME;
    size_t i = 0;
    while (i < sizeof own - 1 && name[i] == own[i])
        i++;
    return i == sizeof own - 1 && name[i] == '\0';
}

/* Texts of entries belong to the caller: these, one behind the other, in his buffer. */
static bool put_entry_texts(const char *texts, size_t length, char *buffer, size_t size)
{
    for (size_t i = 0; i < length && length <= size; i++)
        buffer[i] = texts[i];
    return length <= size;
}

static enum nss_status give_user(uid_t uid, struct passwd *ret, char *buffer, size_t size,
                                 int *error)
{
    static const char texts[] = NAME "\0x\0\0" HOME "\0" SHELL;
    if (!put_entry_texts(texts, sizeof texts, buffer, size)) {
        *error = ERANGE;
        return NSS_STATUS_TRYAGAIN;
    }
    *ret = (struct passwd){.pw_name = buffer, .pw_uid = uid, .pw_gid = getgid()};
    ret->pw_passwd = buffer + sizeof NAME;
    ret->pw_gecos = ret->pw_passwd + sizeof "x";
    ret->pw_dir = ret->pw_gecos + sizeof "";
    ret->pw_shell = ret->pw_dir + sizeof HOME;
    return NSS_STATUS_SUCCESS;
}

static enum nss_status give_group(gid_t gid, struct group *ret, char *buffer, size_t size,
                                  int *error)
{
    static const char texts[] = NAME "\0x";
    size_t skip = -(size_t)buffer % _Alignof(char *), room = skip + sizeof(char *);
    if (size < room || !put_entry_texts(texts, sizeof texts, buffer + room, size - room)) {
        *error = ERANGE;
        return NSS_STATUS_TRYAGAIN;
    }
    char **members = (char **)(void *)(buffer + skip);
    members[0] = NULL;
    *ret = (struct group){.gr_name = buffer + room, .gr_gid = gid, .gr_mem = members};
    ret->gr_passwd = ret->gr_name + sizeof NAME;
    return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_ipybox_getpwuid_r(uid_t uid, struct passwd *ret, char *buffer, size_t size,
                                       int *error)
{
    return uid == getuid() ? give_user(uid, ret, buffer, size, error) : NSS_STATUS_NOTFOUND;
}

enum nss_status _nss_ipybox_getpwnam_r(const char *name, struct passwd *ret, char *buffer,
                                       size_t size, int *error)
{
    return is_name(name) ? give_user(getuid(), ret, buffer, size, error) : NSS_STATUS_NOTFOUND;
}

enum nss_status _nss_ipybox_getgrgid_r(gid_t gid, struct group *ret, char *buffer, size_t size,
                                       int *error)
{
    return gid == getgid() ? give_group(gid, ret, buffer, size, error) : NSS_STATUS_NOTFOUND;
}

enum nss_status _nss_ipybox_getgrnam_r(const char *name, struct group *ret, char *buffer,
                                       size_t size, int *error)
{
    return is_name(name) ? give_group(getgid(), ret, buffer, size, error) : NSS_STATUS_NOTFOUND;
}
