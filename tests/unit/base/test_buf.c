/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

static void appended_pieces_stand_in_order_and_end_with_0(void)
{
    drop_buf struct buf b = BUF_INIT(100);
    TEST_CHECK(strcmp(buf_text(&b), "") == 0);
    TEST_CHECK(buf_adds(&b, "ab") == 0);
    TEST_CHECK(buf_addc(&b, 'c') == 0);
    TEST_CHECK(buf_add(&b, "d\0e", 3) == 0);
    TEST_CHECK(buf_addf(&b, "%d-%s", 42, "x") == 0);
    TEST_CHECK(buf_add(&b, NULL, 0) == 0);
    TEST_CHECK(b.len == 10 && memcmp(b.data, "abcd\0e42-x", 11) == 0);
}

static void the_cap_is_reached_exactly_and_never_passed(void)
{
    for (size_t cap = 0; cap < 300; cap++) {
        drop_buf struct buf b = BUF_INIT(cap);
        for (size_t i = 0; i < cap; i++)
            TEST_CHECK(buf_addc(&b, 'x') == 0);
        TEST_CHECK(b.len == cap && b.size <= cap + 1);
        TEST_CHECK(buf_addc(&b, 'x') == -EMSGSIZE);
        TEST_CHECK(b.len == cap && strlen(buf_text(&b)) == cap);
    }
}

static void a_piece_that_does_not_fit_changes_nothing(void)
{
    drop_buf struct buf b = BUF_INIT(4);
    TEST_CHECK(buf_adds(&b, "abc") == 0);
    TEST_CHECK(buf_adds(&b, "de") == -EMSGSIZE);
    TEST_CHECK(strcmp(buf_text(&b), "abc") == 0);
    TEST_CHECK(buf_add(&b, "x", (size_t)-1) == -EMSGSIZE);
    TEST_CHECK(buf_addf(&b, "%100d", 1) == -EMSGSIZE);
    TEST_CHECK(strcmp(buf_text(&b), "abc") == 0);
}

static void a_failure_is_sticky_until_the_buffer_is_cleared(void)
{
    drop_buf struct buf b = BUF_INIT(2);
    (void)buf_adds(&b, "ab");
    (void)buf_adds(&b, "c");
    buf_cut_front(&b, 2);
    TEST_CHECK(b.len == 0 && b.failed == -EMSGSIZE);
    TEST_CHECK(buf_addc(&b, 'd') == -EMSGSIZE);
    TEST_CHECK(buf_take(&b) == NULL);
    buf_clear(&b);
    TEST_CHECK(buf_addc(&b, 'd') == 0);
    TEST_CHECK(strcmp(buf_text(&b), "d") == 0);
}

static void a_block_of_more_than_is_kept_is_freed(void)
{
    drop_buf struct buf b = BUF_INIT(1000);
    (void)buf_adds(&b, "ab");
    const size_t size = b.size;
    buf_reuse(&b, size);
    TEST_CHECK(b.len == 0 && b.size == size);
    buf_reuse(&b, size - 1);
    TEST_CHECK(b.len == 0 && b.size == 0);
    TEST_CHECK(buf_adds(&b, "c") == 0);
}

static void without_memory_the_contents_stay(void)
{
    for (long n = 1; n < 6; n++) {
        drop_buf struct buf b = BUF_INIT(1000);
        TEST_CHECK(buf_adds(&b, "kept") == 0);
        try_realloc_fail_at(n);
        int r = 0;
        while (r == 0 && b.len < 1000)
            r = buf_addc(&b, 'x');
        TEST_CHECK(r == -ENOMEM && b.failed == -ENOMEM);
        TEST_CHECK(strncmp(buf_text(&b), "kept", 4) == 0 && strlen(b.data) == b.len);
        try_realloc_fail_at(0);
    }
}

static void the_variable_of_tests_lets_an_allocation_fail(void)
{
    TEST_ASSERT(setenv("FAIL_ALLOC", "2", 1) == 0);
    void *first = try_realloc(NULL, 1), *second = try_realloc(NULL, 1);
    void *third = try_realloc(NULL, 1);
    TEST_CHECK(first && !second && third);
    xfree(first);
    xfree(third);
}

static void cutting_the_front_moves_the_rest_up(void)
{
    drop_buf struct buf b = BUF_INIT(10);
    buf_cut_front(&b, 3);
    (void)buf_adds(&b, "abcdef");
    buf_cut_front(&b, 0);
    buf_cut_front(&b, 2);
    TEST_CHECK(strcmp(buf_text(&b), "cdef") == 0 && b.len == 4);
    buf_cut_front(&b, 99);
    TEST_CHECK(strcmp(buf_text(&b), "") == 0 && b.len == 0);
}

static void taking_moves_the_block_out(void)
{
    drop_buf struct buf b = BUF_INIT(10);
    drop_str char *empty = buf_take(&b);
    TEST_CHECK(empty && strcmp(empty, "") == 0);
    (void)buf_adds(&b, "abc");
    drop_str char *text = buf_take(&b);
    TEST_CHECK(text && strcmp(text, "abc") == 0);
    TEST_CHECK(b.data == NULL && b.len == 0 && b.cap == 10);
    TEST_CHECK(buf_adds(&b, "again") == 0);
}

static void a_finished_buffer_can_be_used_again(void)
{
    struct buf b = BUF_INIT(5);
    (void)buf_adds(&b, "too long");
    buf_done(&b);
    TEST_CHECK(b.data == NULL && b.failed == 0);
    TEST_CHECK(buf_adds(&b, "fits") == 0);
    buf_done(&b);
    buf_done(&b);
}

TEST_LIST = {
    {"appended pieces stand in order and end with 0",
     appended_pieces_stand_in_order_and_end_with_0},
    {"a block of more than is kept is freed", a_block_of_more_than_is_kept_is_freed},
    {"the cap is reached exactly and never passed", the_cap_is_reached_exactly_and_never_passed},
    {"a piece that does not fit changes nothing", a_piece_that_does_not_fit_changes_nothing},
    {"a failure is sticky until the buffer is cleared",
     a_failure_is_sticky_until_the_buffer_is_cleared},
    {"without memory the contents stay", without_memory_the_contents_stay},
    {"the variable of tests lets an allocation fail",
     the_variable_of_tests_lets_an_allocation_fail},
    {"cutting the front moves the rest up", cutting_the_front_moves_the_rest_up},
    {"taking moves the block out", taking_moves_the_block_out},
    {"a finished buffer can be used again", a_finished_buffer_can_be_used_again},
    {NULL, NULL},
};
