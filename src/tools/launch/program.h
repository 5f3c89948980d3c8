/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/launch/program.h - the program of a stdio MCP server: which file it is, and whether cells
 * could put something else in its place (private to tools/).
 * Cells:   have our effective uid, so what it may change a cell may change: a file, and any folder
 *          or link on the way to it. What is below `kept` no cell changes; what is below /usr, /bin
 *          and /opt/ipybox is the image's. */
#ifndef TOOLS_LAUNCH_PROGRAM_H
#define TOOLS_LAUNCH_PROGRAM_H

#include <stdbool.h>

/* In the folders of a PATH, absolute ones alone; the caller frees it. NULL: in none. */
char *program_find(const char *path, const char *name);

/* Whether a cell could put something else there. `kept` may be NULL. Something that is not there
 * yet counts as what its folder is. `path` is absolute. */
bool program_is_loose(const char *path, const char *kept);

/* Whether that is where it really is, through all links. What is not there is. */
bool program_is_below(const char *path, const char *folder);

/* The index of the argument that names the file which an interpreter runs, or from which `uv run`
 * does; 0: none does. */
int program_script(char *const *argv);

/* Of python: the index of the module behind -m; 0: there is none. */
int program_module(char *const *argv);

/* Of uvx and npx: the index of the argument that names their package as a path; 0: none does. */
int program_local_package(char *const *argv);

/* The folder whose project `uv run` runs; NULL: it is no such command, "": where it is started. */
const char *program_project(char *const *argv);

/* "npx" or "npm exec": the index where its options may begin; 0: it is neither. */
int program_npx(char *const *argv);

bool program_is_python(const char *program);

#endif
