/* SPDX-License-Identifier: Apache-2.0
 *
 * /files, /download and /sessions/{session}/objects: the files of one session. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "front/http/http_context.h"
#include "front/librechat/librechat_internal.h"
#include "front/workspace/api_files.h"

struct librechat_place { /* what a route names; zeroed */
    char space[LIBRECHAT_SPACE_MAX + 1];
    struct beneath folder;
    struct librechat_files files;
    const struct librechat_file *file; /* NULL: the route names none */
};

static void place_done(struct librechat_place *place)
{
    beneath_close(&place->folder);
    librechat_files_done(&place->files);
}
#define drop_place __attribute__((cleanup(place_done)))

/* False: it has answered. */
static bool find_place(const struct librechat *l, struct http_request *r, bool with_file,
                       struct librechat_place *ret)
{
    struct err e = ERR_NONE;
    const struct librechat_owner owner = {.kind = http_query(r, "kind"),
                                          .id = http_query(r, "id"),
                                          .version = http_query(r, "version")};
    librechat_space_of(r, &owner, ret->space);
    int code = librechat_folder(l, ret->space, http_param(r, "session"), false, &ret->folder, &e);
    if (code == 0)
        code = librechat_list(l, &ret->folder, &ret->files, &e);
    if (code == 0 && with_file) {
        ret->file = librechat_find(&ret->files, http_param(r, "file"));
        if (!ret->file)
            code = err_set(&e, -ENOENT, "there is no file %.60s in session %s",
                           http_param(r, "file"), http_param(r, "session"));
    }
    if (code < 0)
        librechat_fail_err(r, &e);
    return code == 0;
}

/* Clients know a file by "SESSION/ID", and by its name in the metadata. */
static void put_stored_object(struct jsonw *w, const char *session,
                              const struct librechat_file *file)
{
    char object[LIBRECHAT_ID_MAX + LIBRECHAT_FILE_ID + 2];
    (void)snprintf(object, sizeof object, "%s/%s", session, file->id);
    jsonw_object(w);
    jsonw_set_text(w, "name", object);
    jsonw_set_text(w, "id", file->id);
    jsonw_set_text(w, "storage_session_id", session);
    jsonw_set_int(w, "size", file->st.st_size);
    jsonw_set_time(w, "lastModified", clock_real_ms_of(&file->st.st_mtim));
    jsonw_set_object(w, "metadata");
    jsonw_set_text(w, "original-filename", file->name);
    jsonw_end(w);
    jsonw_end(w);
}

void librechat_get_files(void *ctx, struct http_request *r)
{
    drop_place struct librechat_place place = {.folder = BENEATH_NONE};
    drop_buf struct buf body = BUF_INIT(LIBRECHAT_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!find_place(ctx, r, false, &place))
        return;
    jsonw_array(&w);
    for (size_t i = 0; i < place.files.n; i++)
        put_stored_object(&w, http_param(r, "session"), &place.files.items[i]);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

void librechat_get_object(void *ctx, struct http_request *r)
{
    drop_place struct librechat_place place = {.folder = BENEATH_NONE};
    drop_buf struct buf body = BUF_INIT(LIBRECHAT_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!find_place(ctx, r, true, &place))
        return;
    put_stored_object(&w, http_param(r, "session"), place.file);
    http_answer_json(r, 200, &body);
}

void librechat_download(void *ctx, struct http_request *r)
{
    drop_place struct librechat_place place = {.folder = BENEATH_NONE};
    struct stat st;
    if (!find_place(ctx, r, true, &place))
        return;
    const struct librechat *l = ctx;
    struct err e = ERR_NONE;
    drop_fd int fd =
        spot_open(&place.folder, place.file->name, O_RDONLY, BENEATH_NO_LINKS, l->rules, &st);
    if (fd == SPOT_REFUSED) {
        (void)librechat_refuse(l, place.file->name, &e);
        librechat_fail_err(r, &e);
    } else if (fd < 0 || !S_ISREG(st.st_mode))
        librechat_fail(r, 404, "the file is not there any more");
    else
        api_files_send(r, fd_take(&fd), &st, place.file->name);
}

static int remove_stored(const struct librechat *l, const struct librechat_place *place,
                         struct err *e)
{
    const char *name = place->file->name;
    drop_held struct spot held = SPOT_NONE;
    int r = spot_find(&place->folder, name, SPOT_NO_LINKS, l->rules, SPOT_REMOVE, &held);
    if (r == 0)
        r = spot_remove(&held, false);
    if (r == SPOT_REFUSED)
        return librechat_refuse(l, name, e);
    return r < 0 ? err_set(e, -ENOENT, "the file is not there any more") : 0;
}

void librechat_delete(void *ctx, struct http_request *r)
{
    struct librechat *l = ctx;
    drop_place struct librechat_place place = {.folder = BENEATH_NONE};
    drop_buf struct buf body = BUF_INIT(LIBRECHAT_ANSWER_MAX);
    struct err e = ERR_NONE;
    if (!find_place(l, r, true, &place))
        return;
    int code = audit_check(l->config.audit, &e);
    if (code == 0)
        code = remove_stored(l, &place, &e);
    if (code < 0) {
        librechat_fail_err(r, &e);
        return;
    }
    drop_str char *path = xasprintf(LIBRECHAT_FOLDER "/%s%s/%s", place.space,
                                    http_param(r, "session"), place.file->name);
    (void)audit_add(
        l->config.audit,
        &(struct audit_event){.kind = AUDIT_FILE_DELETED, .path = path, .request_id = http_id(r)});
    (void)buf_adds(&body, "{\"message\":\"success\"}");
    http_answer_json(r, 200, &body);
}
