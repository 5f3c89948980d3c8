/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/hmac.h"

#define X10(s) s s s s s s s s s s
#define BYTES(literal) literal, sizeof(literal) - 1

static const struct {
    const char *key;
    size_t key_len;
    const char *data;
    size_t len;
    const char *hex;
} vectors[] = {
    /* RFC 4231 section 4, test cases 1 to 4, 6 and 7 (5 is of a truncated output) */
    {X10("\x0b") X10("\x0b"), 20, BYTES("Hi There"),
     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {BYTES("Jefe"), BYTES("what do ya want for nothing?"),
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {X10("\xaa") X10("\xaa"), 20, X10("\xdd") X10("\xdd") X10("\xdd") X10("\xdd") X10("\xdd"), 50,
     "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {BYTES(
         "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16"
         "\x17\x18\x19"),
     X10("\xcd") X10("\xcd") X10("\xcd") X10("\xcd") X10("\xcd"), 50,
     "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    {X10(X10("\xaa")) X10("\xaa") X10("\xaa") X10("\xaa") "\xaa", 131,
     BYTES("Test Using Larger Than Block-Size Key - Hash Key First"),
     "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {X10(X10("\xaa")) X10("\xaa") X10("\xaa") X10("\xaa") "\xaa", 131,
     BYTES("This is a test using a larger than block-size key and a larger than block-size data. "
           "The key needs to be hashed before being used by the HMAC algorithm."),
     "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    {"", 0, "", 0, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"},
};

static void the_vectors_of_rfc_4231_hold(void)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        TEST_CASE_("vector %zu", i);
        struct hmac *h = hmac_new(vectors[i].key, vectors[i].key_len);
        unsigned char digest[HMAC_BYTES];
        char hex[HMAC_HEX + 1];
        hmac_begin(h);
        hmac_add(h, vectors[i].data, vectors[i].len);
        hmac_end(h, digest);
        hmac_hex(digest, hex);
        TEST_CHECK_(strcmp(hex, vectors[i].hex) == 0, "%s", hex);
        (void)hmac_free(h);
    }
}

static void pieces_give_what_the_whole_gives_and_the_context_serves_again(void)
{
    struct hmac *h = hmac_new("Jefe", 4);
    const char *data = vectors[1].data;
    for (size_t a = 0; a <= vectors[1].len; a++) {
        for (size_t b = a; b <= vectors[1].len; b++) {
            unsigned char digest[HMAC_BYTES];
            char hex[HMAC_HEX + 1];
            hmac_begin(h);
            hmac_add(h, data, a);
            hmac_add(h, NULL, 0);
            hmac_add(h, data + a, b - a);
            hmac_add(h, data + b, vectors[1].len - b);
            hmac_end(h, digest);
            hmac_hex(digest, hex);
            TEST_CHECK_(strcmp(hex, vectors[1].hex) == 0, "cut at %zu and %zu", a, b);
        }
    }
    TEST_CHECK(hmac_free(h) == NULL);
    TEST_CHECK(hmac_free(NULL) == NULL);
}

static void a_beginning_forgets_what_was_not_ended(void)
{
    struct hmac *h = hmac_new("Jefe", 4);
    unsigned char digest[HMAC_BYTES];
    char hex[HMAC_HEX + 1];
    hmac_begin(h);
    hmac_add(h, "left over", 9);
    hmac_begin(h);
    hmac_add(h, vectors[1].data, vectors[1].len);
    hmac_end(h, digest);
    hmac_hex(digest, hex);
    TEST_CHECK(strcmp(hex, vectors[1].hex) == 0);
    (void)hmac_free(h);
}

/* FIPS 180-4's examples, and the NIST's of a million letters. */
static void the_examples_of_fips_180_4_hold(void)
{
    char hex[HMAC_HEX + 1];
    sha256_hex("", 0, hex);
    TEST_CHECK_(strcmp(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") ==
                    0,
                "%s", hex);
    sha256_hex("abc", 3, hex);
    TEST_CHECK_(strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") ==
                    0,
                "%s", hex);
    sha256_hex(BYTES("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), hex);
    TEST_CHECK_(strcmp(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1") ==
                    0,
                "%s", hex);
    static char letters[1000000];
    memset(letters, 'a', sizeof letters);
    sha256_hex(letters, sizeof letters, hex);
    TEST_CHECK_(strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") ==
                    0,
                "%s", hex);
}

static void one_different_digit_makes_two_signatures_unequal(void)
{
    const char *hex = vectors[0].hex;
    TEST_CHECK(hmac_equal(hex, hex));
    for (size_t i = 0; i < HMAC_HEX; i++) {
        char other[HMAC_HEX + 1];
        memcpy(other, hex, sizeof other);
        TEST_CHECK(hmac_equal(hex, other));
        other[i] ^= 1;
        TEST_CHECK_(!hmac_equal(hex, other), "digit %zu", i);
    }
}

TEST_LIST = {
    {"the vectors of RFC 4231 hold", the_vectors_of_rfc_4231_hold},
    {"pieces give what the whole gives and the context serves again",
     pieces_give_what_the_whole_gives_and_the_context_serves_again},
    {"a beginning forgets what was not ended", a_beginning_forgets_what_was_not_ended},
    {"the examples of FIPS 180-4 hold", the_examples_of_fips_180_4_hold},
    {"one different digit makes two signatures unequal",
     one_different_digit_makes_two_signatures_unequal},
    {NULL, NULL},
};
