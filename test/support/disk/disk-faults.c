/*
 * Makes system calls on chosen files fail, in the process that preloads this library. The file that DISK_FAULTS names
 * has one rule: the calls (read, write, sync, in any combination), the errno, and a text that the path must contain.
 * Without that file nothing fails. Each sync adds a line with the path to the file that DISK_SYNCS names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int must_fail(int file, const char *call)
{
    char link[40], path[4096], rule[4096], calls[64], part[4000];
    int code, saved = errno;
    const char *control = getenv("DISK_FAULTS");
    int open_rule = control ? open(control, O_RDONLY | O_CLOEXEC) : -1;
    if (open_rule < 0) {
        errno = saved;
        return 0;
    }
    ssize_t length = read(open_rule, rule, sizeof rule - 1);
    close(open_rule);
    errno = saved;
    if (length <= 0)
        return 0;
    rule[length] = 0;
    if (sscanf(rule, "%63s %d %3999s", calls, &code, part) != 3)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length < 0)
        return 0;
    path[length] = 0;
    if (!strstr(path, part) || !strstr(calls, call))
        return 0;
    errno = code;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pread(int file, void *bytes, size_t count, off_t at)
{
    return must_fail(file, "read") ? -1 : REAL(pread)(file, bytes, count, at);
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t at)
{
    return must_fail(file, "read") ? -1 : REAL(pread64)(file, bytes, count, at);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at)
{
    return must_fail(file, "write") ? -1 : REAL(pwrite)(file, bytes, count, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at)
{
    return must_fail(file, "write") ? -1 : REAL(pwrite64)(file, bytes, count, at);
}

ssize_t write(int file, const void *bytes, size_t count)
{
    return must_fail(file, "write") ? -1 : REAL(write)(file, bytes, count);
}

static void note_sync(int file)
{
    char link[40], path[4096];
    int saved = errno;
    const char *control = getenv("DISK_SYNCS");
    int notes = control ? open(control, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (notes >= 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length > 0) {
            path[length] = '\n';
            if (write(notes, path, length + 1) < 0)
                perror("DISK_SYNCS");
        }
        close(notes);
    }
    errno = saved;
}

int fsync(int file)
{
    note_sync(file);
    return must_fail(file, "sync") ? -1 : REAL(fsync)(file);
}

int fdatasync(int file)
{
    note_sync(file);
    return must_fail(file, "sync") ? -1 : REAL(fdatasync)(file);
}
