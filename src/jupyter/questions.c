/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/questions.h"

#include <string.h>

#include "base/alloc.h"
#include "base/list.h"

struct kernel_question {
    struct kernel_question *prev, *next;
    struct questions *all;
    enum question_kind kind;
    char id[LINK_ID_SIZE];
    struct loop_timer end;
    question_fn fn;
    void *ctx;
};

static const struct {
    enum link_channel channel; /* control: it is served while a cell runs, too */
    enum jupyter_type request, reply;
} ways[QUESTION__COUNT] = {
    [QUESTION_COMPLETE] = {LINK_SHELL, JUPYTER_COMPLETE_REQUEST, JUPYTER_COMPLETE_REPLY},
    [QUESTION_INSPECT] = {LINK_SHELL, JUPYTER_INSPECT_REQUEST, JUPYTER_INSPECT_REPLY},
    [QUESTION_VARIABLES] = {LINK_CONTROL, JUPYTER_VARIABLES_REQUEST, JUPYTER_VARIABLES_REPLY},
};

void question_forget(struct kernel_question *question)
{
    struct questions *all = question->all;
    list_remove(&all->first, question);
    all->count--;
    loop_timer_stop(all->loop, &question->end);
    xfree(question);
}

static void tell_question(struct kernel_question *question, const struct json *content,
                          const struct err *why)
{
    const question_fn fn = question->fn;
    void *ctx = question->ctx;
    question_forget(question);
    fn(ctx, content, why);
}

static void on_question_late(void *ctx)
{
    struct kernel_question *question = ctx;
    struct err why = ERR_NONE;
    (void)err_set(&why, -ETIMEDOUT, "the kernel has not answered within %d s", QUESTION_MS / 1000);
    question->all->late(question->all->ctx, question->kind);
    tell_question(question, NULL, &why);
}

int question_put(struct questions *all, struct link *link, enum question_kind kind,
                 struct slice content, question_fn fn, void *ctx, struct kernel_question **ret,
                 struct err *e)
{
    if (all->count >= QUESTIONS_MAX)
        return err_set(e, -EAGAIN, "the kernel has %d questions to answer, as many as there may be",
                       QUESTIONS_MAX);
    struct kernel_question *question = NEW(struct kernel_question);
    *question = (struct kernel_question){.all = all, .kind = kind, .fn = fn, .ctx = ctx};
    int r = link_send(link, ways[kind].channel, ways[kind].request, content, question->id, e);
    if (r < 0) {
        xfree(question);
        return r;
    }
    list_push(&all->first, question);
    all->count++;
    loop_timer_set(all->loop, &question->end, QUESTION_MS, on_question_late, question);
    *ret = question;
    return 0;
}

void questions_hear(struct questions *all, const struct jupyter_msg *m)
{
    for (struct kernel_question *question = all->first; question; question = question->next) {
        if (ways[question->kind].reply != m->type || strcmp(question->id, m->parent_id) != 0)
            continue;
        struct err why = ERR_NONE;
        if (!m->content)
            (void)err_set(&why, -EBADMSG, "the kernel's answer cannot be read");
        tell_question(question, m->content, &why);
        return;
    }
}

void questions_end(struct questions *all, const struct err *why)
{
    while (all->first)
        tell_question(all->first, NULL, why);
}
