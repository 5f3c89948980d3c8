/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/diagnose/doctor.h - `ipybox doctor`: what isolation this machine grants, and whether
 * it holds: a sandboxed child tries every known way out, with the settings of --sandbox. Then the
 * container itself is looked at (doctor_box.h).
 * Status:  0 when all of them are closed and what must work works; 1 otherwise, or without a
 *          sandbox. */
#ifndef ENTRYPOINT_DIAGNOSE_DOCTOR_H
#define ENTRYPOINT_DIAGNOSE_DOCTOR_H

/* open: what doctor_start() of doctor_box.h has found. */
int doctor_main(int argc, char **argv, int open);

#endif
