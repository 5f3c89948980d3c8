/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 of one block on x86_64, as mbedtls lets it be replaced (MBEDTLS_SHA256_PROCESS_ALT): the
 * best of BoringSSL's assembler routines that the processor can run. mbedtls itself has none but
 * portable C there.
 */
#define MBEDTLS_ALLOW_PRIVATE_ACCESS
#include <cpuid.h>
#include <mbedtls/sha256.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef void block_routine(uint32_t state[8], const unsigned char *data, size_t blocks);
block_routine sha256_block_data_order_hw, sha256_block_data_order_ssse3,
    sha256_block_data_order_nohw;

static block_routine *best(void)
{
    unsigned a, b, c, d, b7;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3))
        return sha256_block_data_order_nohw;
    bool sha = (c & bit_SSE4_1) && __get_cpuid_count(7, 0, &a, &b7, &c, &d) && (b7 & bit_SHA);
    return sha ? sha256_block_data_order_hw : sha256_block_data_order_ssse3;
}

int mbedtls_internal_sha256_process(mbedtls_sha256_context *sha, const unsigned char data[64])
{
    /* Asked once, for a virtual machine takes long for each CPUID; two threads find the same. */
    static _Atomic(block_routine *) chosen;
    block_routine *routine = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!routine) {
        routine = best();
        atomic_store_explicit(&chosen, routine, memory_order_relaxed);
    }
    routine(sha->state, data, 1);
    return 0;
}
