/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fuzz/replay_main.c - feeds every file of the given folders to one fuzz target, in TAP.
 * A crash ends the program: the file it happened with is the last "# running" line. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count;

static void bail_out(const char *what, const char *path)
{
    printf("Bail out! %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

/* The input is copied into a block of exactly its size, so that ASan sees a read past its end. */
static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rbe");
    if (f == NULL)
        bail_out("open", path);
    uint8_t *data = NULL;
    size_t size = 0;
    size_t room = 0;
    for (;;) {
        if (size == room) {
            room = room ? room * 2 : 4096;
            data = realloc(data, room);
            if (data == NULL)
                bail_out("memory for", path);
        }
        size_t n = fread(data + size, 1, room - size, f);
        if (n == 0)
            break;
        size += n;
    }
    if (ferror(f))
        bail_out("read", path);
    fclose(f);
    uint8_t *exact = malloc(size ? size : 1);
    if (exact == NULL)
        bail_out("memory for", path);
    memcpy(exact, data, size);
    free(data);

    printf("# running %s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    printf("ok %d - %s\n", ++count, path);
}

static int is_visible(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static void replay_folder(const char *folder)
{
    struct dirent **names;
    int n = scandir(folder, &names, is_visible, alphasort);
    if (n < 0)
        bail_out("list", folder);
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        replay_file(path);
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay_folder(argv[i]);
    if (count == 0) {
        printf("Bail out! no corpus file found\n");
        return 1;
    }
    printf("1..%d\n", count);
    return 0;
}
