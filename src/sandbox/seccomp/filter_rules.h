/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/seccomp/filter_rules.h - the table behind filter.h: which call is answered how, and when.
 * Reading: the rows of one call stand together; the first row that holds and whose tests are all
 *          true decides, and no row means the call is allowed.
 * Adding:  a row in filter_rules.c, and a test that makes the call. */
#ifndef SANDBOX_SECCOMP_FILTER_RULES_H
#define SANDBOX_SECCOMP_FILTER_RULES_H

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

enum filter_when {
    WHEN_ALWAYS,      /* in every sandbox */
    WHEN_READS,       /* every open is notified */
    WHEN_MARKS,       /* but for marked ones */
    WHEN_WRITES,      /* what changes files is notified */
    WHEN_ATTRIBUTES,  /* what changes modes, owners and their kind is notified */
    WHEN_LISTS,       /* opens of directories are notified, but not every open */
    WHEN_WRITES_ONLY, /* so, but reads are not */
    WHEN_MOVES,       /* reads or writes are notified */
    WHEN_OLD_FLOOR,   /* writes are for a ruleset alone, which does not know of truncation */
    WHEN_BROKER,      /* there is a broker */
    WHEN_READ,        /* there is a broker or a budget, which reads its processes */
    WHEN_DISK,        /* there is a budget of disk space */
    WHEN_MEMORY,      /* there is one of memory */
    WHEN_TERMINALS,   /* it judges who opens terminals */
    WHEN_TASKS,       /* it counts tasks */
    WHEN_SIGNALS,     /* it judges signals */
    WHEN_NO_SIGNALS,  /* it should, but is not there */
    WHEN_SIGNALS_ANY, /* one of the two */
    WHEN_NET,         /* internet sockets are notified */
    WHEN_UNIX,        /* Unix sockets are notified */
    WHEN_SOCKETS,     /* one of the two */
    WHEN_RULED_NET,   /* there are rules for the network */
    WHEN_OPEN_NET,    /* there are none */
    WHEN__COUNT
};

enum filter_test { TEST_NONE, TEST_EQUAL, TEST_OTHER, TEST_ANY_BIT };

#define FILTER_TESTS_MAX 3

struct filter_rule {
    int call;
    enum filter_when when;
    uint32_t answer; /* SECCOMP_RET_* */
    struct {
        enum filter_test test;
        unsigned arg;   /* its low half: every argument tested is an int to the kernel */
        uint32_t value; /* compared with what the mask leaves; TEST_ANY_BIT: the bits */
        uint32_t mask;  /* 0: all of it */
    } tests[FILTER_TESTS_MAX];
};

extern const struct filter_rule filter_rules[];
extern const size_t filter_rule_count;

#endif
