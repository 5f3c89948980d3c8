/* SPDX-License-Identifier: Apache-2.0
 *
 * Hierarchies of both versions are made up below a folder: this machine has one of them at most. */
#include <acutest.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "sandbox/limits/container.h"

#define MIB ((uint64_t)1 << 20)

static char root[] = "/tmp/test-container-XXXXXX";

static void make_parents(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0755);
        *at = '/';
    }
}

static void put(const char *name, const char *text)
{
    drop_str char *path = xasprintf("%s/%s", root, name);
    make_parents(path);
    FILE *file = fopen(path, "we");
    TEST_ASSERT(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void begin(void)
{
    (void)strcpy(root + sizeof root - 7, "XXXXXX");
    TEST_ASSERT(mkdtemp(root) != NULL);
}

static void end(void)
{
    drop_str char *command = xasprintf("rm -rf '%s'", root);
    TEST_CHECK(system(command) == 0); /* NOLINT: the name is ours */
}

static void version_2_of_a_container_is_read(void)
{
    struct container_use use;
    struct container_memory m;
    begin();
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "536870912\n");
    put("sys/fs/cgroup/memory.current", "209715200\n");
    put("sys/fs/cgroup/memory.stat",
        "anon 1\nfile 2\ninactive_file 52428800\nactive_file 1048576\n");
    put("sys/fs/cgroup/cpu.max", "150000 100000\n");
    container_memory_open(root, &m);
    TEST_CHECK(m.most == 512 * MIB && m.cgroup.unified);
    TEST_CHECK(container_memory_left(&m) == (512 - 200 + 50 + 1) * MIB);
    TEST_CHECK(container_memory_of_kernel(&m) == (512 - 64 - 32) * MIB);
    TEST_CHECK(container_processors(root) == 2);
    put("sys/fs/cgroup/cpu.stat", "usage_usec 5000\nuser_usec 1\n");
    container_look(root, &use);
    TEST_CHECK(use.memory == 149 * MIB && use.cache == 51 * MIB && use.cpu_us == 5000);
    end();
}

static void version_2_without_limits_has_none(void)
{
    struct container_memory m;
    begin();
    put("proc/self/cgroup", "0::/system.slice/ipybox.service\n");
    put("sys/fs/cgroup/system.slice/ipybox.service/memory.max", "max\n");
    put("sys/fs/cgroup/system.slice/ipybox.service/memory.current", "209715200\n");
    put("sys/fs/cgroup/system.slice/ipybox.service/cpu.max", "max 100000\n");
    container_memory_open(root, &m);
    TEST_CHECK(m.most == 0 && m.cgroup.dir[0]);
    TEST_CHECK(container_memory_left(&m) == UINT64_MAX);
    TEST_CHECK(container_memory_of_kernel(&m) == 0);
    TEST_CHECK(container_processors(root) == 0);
    end();
}

static void version_1_of_a_container_is_read(void)
{
    struct container_use use;
    struct container_memory m;
    begin();
    put("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "104857600\n");
    put("sys/fs/cgroup/memory/memory.stat",
        "cache 1\ntotal_inactive_file 1048576\ntotal_active_file 1048576\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    container_memory_open(root, &m);
    TEST_CHECK(m.most == 100 * MIB && !m.cgroup.unified);
    TEST_CHECK(container_memory_left(&m) == 2 * MIB);
    TEST_CHECK(container_memory_of_kernel(&m) == 50 * MIB);
    TEST_CHECK(container_processors(root) == 1);
    put("sys/fs/cgroup/cpuacct/cpuacct.usage", "7000999\n");
    container_look(root, &use);
    TEST_CHECK(use.memory == 98 * MIB && use.cache == 2 * MIB && use.cpu_us == 7000);
    end();
}

static void version_1_without_limits_has_none(void)
{
    struct container_memory m;
    begin();
    put("proc/self/cgroup", "4:memory:/\n3:cpu,cpuacct:/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    container_memory_open(root, &m);
    TEST_CHECK(m.most == 0);
    TEST_CHECK(container_processors(root) == 0);
    end();
}

static void where_there_is_no_cgroup_there_is_no_limit(void)
{
    struct container_memory m;
    begin();
    container_memory_open(root, &m);
    TEST_CHECK(m.most == 0 && container_memory_left(&m) == UINT64_MAX);
    TEST_CHECK(container_processors(root) == 0);
    put("proc/self/cgroup", "nonsense\n\n7:memoryx:/\n");
    container_memory_open(root, &m);
    TEST_CHECK(m.most == 0);
    end();
}

static void the_least_of_what_bounds_processes_counts(void)
{
    begin();
    TEST_CHECK(container_tasks(root) == UINT64_MAX);
    put("proc/sys/kernel/pid_max", "32768\n");
    put("proc/sys/kernel/threads-max", "30000\n");
    TEST_CHECK(container_tasks(root) == 30000);
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/pids.max", "max\n");
    TEST_CHECK(container_tasks(root) == 30000);
    put("sys/fs/cgroup/pids.max", "1024\n");
    TEST_CHECK(container_tasks(root) == 1024);
    end();
    begin();
    put("proc/self/cgroup", "8:pids:/docker/x\n");
    put("sys/fs/cgroup/pids/pids.max", "512\n");
    TEST_CHECK(container_tasks(root) == 512);
    end();
}

TEST_LIST = {
    {"version 2 of a container is read", version_2_of_a_container_is_read},
    {"version 2 without limits has none", version_2_without_limits_has_none},
    {"version 1 of a container is read", version_1_of_a_container_is_read},
    {"version 1 without limits has none", version_1_without_limits_has_none},
    {"where there is no cgroup there is no limit", where_there_is_no_cgroup_there_is_no_limit},
    {"the least of what bounds processes counts", the_least_of_what_bounds_processes_counts},
    {NULL, NULL},
};
