/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/landlock/landlock_abi.h"

#include "sandbox/landlock/ruleset.h"

int landlock_abi(void)
{
    const int abi = landlock_version();
    return abi > 0 ? abi : 0;
}
