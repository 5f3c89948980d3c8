/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/cli/audit.h - `ipybox audit verify FILE [HASH]`: is an audit log as it was written
 * (audit/audit_chain.h)? It needs no server, and FILE may be - for standard input.
 * Status:  0 when it is, and when HASH is that of a record; 1 when not; 2 for wrong words and for a
 *          file that cannot be read. */
#ifndef ENTRYPOINT_CLI_AUDIT_H
#define ENTRYPOINT_CLI_AUDIT_H

int audit_main(int argc, char **argv); /* the words behind `audit` */

#endif
