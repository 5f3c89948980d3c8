/* SPDX-License-Identifier: Apache-2.0
 *
 * The process of a pod that holds its namespaces while containers come and go. */
#include <signal.h>
#include <unistd.h>

int main(void)
{
    sigset_t ends;
    int signal;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return sigwait(&ends, &signal);
}
