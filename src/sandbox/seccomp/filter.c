/* SPDX-License-Identifier: Apache-2.0
 *
 * The program: a check of the architecture, then the table call by call. The kernel remembers the
 * calls that are allowed whatever their arguments are, so its length costs only the others. */
#include "sandbox/seccomp/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "base/alloc.h"
#include "sandbox/landlock/ruleset.h"
#include "sandbox/seccomp/filter_rules.h"
#include "sandbox/seccomp/syscalls.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low half of an argument is first");

#if defined __x86_64__
enum { OUR_ARCH = (int)AUDIT_ARCH_X86_64 };
#elif defined __aarch64__
enum { OUR_ARCH = (int)AUDIT_ARCH_AARCH64 };
#else
#error "no table of system calls for this architecture"
#endif

enum { TRUNCATION_ABI = 3, JUMP_MAX = 255, NOTHING_LOADED = -1 };

struct program {
    struct sock_filter *code; /* FILTER_MAX of them */
    unsigned count;
    bool full;
};

/* Returns where it stands, for a jump that is known later. */
static unsigned emit(struct program *p, unsigned op, uint32_t k)
{
    if (p->count == FILTER_MAX) {
        p->full = true;
        return 0;
    }
    p->code[p->count] = (struct sock_filter){.code = (unsigned short)op, .k = k};
    return p->count++;
}

/* The jump at `at` goes to what is emitted next, when its condition is `outcome`. */
static void land(struct program *p, unsigned at, bool outcome)
{
    const unsigned distance = p->count - at - 1;
    if (p->full || distance > JUMP_MAX) {
        p->full = true;
        return;
    }
    *(outcome ? &p->code[at].jt : &p->code[at].jf) = (unsigned char)distance;
}

static void load(struct program *p, size_t offset)
{
    (void)emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static void filter_answer(struct program *p, uint32_t action)
{
    (void)emit(p, BPF_RET | BPF_K, action);
}

static void prologue(struct program *p)
{
    load(p, offsetof(struct seccomp_data, arch));
    unsigned ours = emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)OUR_ARCH);
    filter_answer(p, SECCOMP_RET_KILL_PROCESS); /* its numbers mean other calls */
    land(p, ours, true);
    load(p, offsetof(struct seccomp_data, nr));
    /* Also x32, whose numbers have a bit above all of these. */
    unsigned newer = emit(p, BPF_JMP | BPF_JGT | BPF_K, CALL_LAST_KNOWN);
    filter_answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    land(p, newer, false);
}

static void row(struct program *p, const struct filter_rule *rule, int *loaded)
{
    unsigned jumps[FILTER_TESTS_MAX];
    unsigned n = 0;
    for (; n < FILTER_TESTS_MAX && rule->tests[n].test != TEST_NONE; n++) {
        const bool masked = rule->tests[n].mask != 0;
        if (*loaded != (int)rule->tests[n].arg)
            load(p, offsetof(struct seccomp_data, args) + 8 * rule->tests[n].arg);
        *loaded = masked ? NOTHING_LOADED : (int)rule->tests[n].arg;
        if (masked)
            (void)emit(p, BPF_ALU | BPF_AND | BPF_K, rule->tests[n].mask);
        const unsigned op = rule->tests[n].test == TEST_ANY_BIT ? BPF_JSET : BPF_JEQ;
        jumps[n] = emit(p, BPF_JMP | op | BPF_K, rule->tests[n].value);
    }
    filter_answer(p, rule->answer);
    for (unsigned i = 0; i < n; i++)
        land(p, jumps[i], rule->tests[i].test == TEST_OTHER);
    if (n > 1)
        *loaded = NOTHING_LOADED; /* it depends on which test failed */
}

/* All rows of one call. */
static void call(struct program *p, const struct filter_rule *rules, size_t n, const bool *holds)
{
    size_t live = 0;
    for (size_t i = 0; i < n; i++)
        live += holds[rules[i].when];
    if (live == 0)
        return;
    const unsigned other = emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rules->call);
    int loaded = NOTHING_LOADED;
    bool decided = false;
    for (size_t i = 0; i < n && !decided; i++) {
        if (!holds[rules[i].when])
            continue;
        row(p, &rules[i], &loaded);
        decided = rules[i].tests[0].test == TEST_NONE;
    }
    if (!decided)
        filter_answer(p, SECCOMP_RET_ALLOW);
    land(p, other, false);
}

static void find_out_filter(const struct filter_wants *w, bool holds[static WHEN__COUNT])
{
    const bool ruled = !w->open_network;
    holds[WHEN_ALWAYS] = true;
    holds[WHEN_BROKER] = w->listener;
    holds[WHEN_READ] = w->listener || w->counted;
    holds[WHEN_DISK] = w->disk;
    holds[WHEN_MEMORY] = w->memory;
    holds[WHEN_TERMINALS] = w->listener && w->terminals;
    holds[WHEN_READS] = w->listener && w->reads;
    holds[WHEN_MARKS] = holds[WHEN_READS] && w->marks;
    holds[WHEN_WRITES] = w->listener && w->writes;
    holds[WHEN_ATTRIBUTES] = w->listener && (w->writes || w->attributes);
    holds[WHEN_LISTS] = w->listener && w->lists && !w->reads;
    holds[WHEN_WRITES_ONLY] = w->listener && w->writes && !w->reads;
    holds[WHEN_MOVES] = w->listener && (w->reads || w->writes);
    holds[WHEN_OLD_FLOOR] = !w->listener && w->writes && landlock_abi() < TRUNCATION_ABI;
    holds[WHEN_TASKS] = w->listener && w->tasks;
    holds[WHEN_SIGNALS] = w->listener && w->signals;
    holds[WHEN_NO_SIGNALS] = !w->listener && w->signals;
    holds[WHEN_SIGNALS_ANY] = w->signals;
    holds[WHEN_NET] = w->listener && ruled && w->network;
    holds[WHEN_UNIX] = w->listener && ruled && w->unix_sockets;
    holds[WHEN_SOCKETS] = holds[WHEN_NET] || holds[WHEN_UNIX];
    holds[WHEN_RULED_NET] = ruled;
    holds[WHEN_OPEN_NET] = !ruled;
}

int filter_build(const struct filter_wants *wants, struct sock_filter **ret,
                 unsigned short *ret_count, struct err *e)
{
    bool holds[WHEN__COUNT] = {0};
    find_out_filter(wants, holds);
    struct program p = {.code = xcalloc(FILTER_MAX, sizeof *p.code)};
    prologue(&p);
    for (size_t i = 0, n; i < filter_rule_count; i += n) {
        for (n = 1; i + n < filter_rule_count && filter_rules[i + n].call == filter_rules[i].call;)
            n++;
        call(&p, &filter_rules[i], n, holds);
    }
    filter_answer(&p, SECCOMP_RET_ALLOW);
    if (p.full) {
        xfree(p.code);
        return err_set(e, -EMSGSIZE, "the seccomp program is over %d instructions", FILTER_MAX);
    }
    *ret = p.code;
    *ret_count = (unsigned short)p.count;
    return 0;
}
