/* SPDX-License-Identifier: Apache-2.0
 *
 * What the audit log and the metrics have of cells that come through the kernel gateway. */
#include <acutest.h>

#include <string.h>

#include "fakes/fake_kernel.h"
#include "session/kernels/kernels.h"
#include "unit/audittest.h"

#define BUSY JUPYTER_STATUS, "r1", "{\"execution_state\":\"busy\"}"
#define IDLE JUPYTER_STATUS, "r1", "{\"execution_state\":\"idle\"}"
#define INPUT JUPYTER_EXECUTE_INPUT, "r1", "{\"code\":\"6*7\",\"execution_count\":1}"
#define HASH "sha256=be20d9eabd5e664b327bb5e311f295ae535b18dee2a5f0b764b0e2d7da913cbe\n"

static struct loop *loop;
static struct session_config config;
static struct session *session;
static struct kernels *kernels;
static struct metrics metrics;
static int64_t fake_now;

static int64_t fake_clock(void)
{
    return fake_now;
}

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void ignore_change(void *ctx, const char *id)
{
    (void)ctx, (void)id;
}

static void open_all(void)
{
    open_audit();
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    metrics = (struct metrics){0};
    config = (struct session_config){.kernel = {.loop = loop},
                                     .workspace = "/tmp",
                                     .id = "default",
                                     .audit = audit,
                                     .gateway = true,
                                     .metrics = &metrics,
                                     .log = ignore_log};
    TEST_ASSERT(session_open(&config, &session, NULL) == 0);
    kernels = kernels_open(&(struct kernels_config){
        .session_config = &config, .session = session, .changed = ignore_change});
    fake_kernel_ready();
    loop_turn(loop, 0);
}

static void close_all(void)
{
    kernels = kernels_close(kernels);
    session = session_free(session);
    loop = loop_free(loop);
    close_audit();
}

static void code_and_outcome_of_a_external_cell_are_told(void)
{
    open_all();
    const char *before = log_set_request("req-other"); /* it is not that one's */
    fake_kernel_external(BUSY);
    fake_kernel_external(INPUT);
    fake_kernel_external(IDLE);
    (void)log_set_request(before);
    fake_kernel_external(BUSY);
    fake_kernel_external(INPUT);
    fake_kernel_external(JUPYTER_ERROR, "r1", "{\"ename\":\"E\"}");
    fake_kernel_external(IDLE);
    check_trail("start\n"
                "cell session=default door=gateway bytes=3 " HASH
                "cell_end session=default door=gateway outcome=ok\n"
                "cell session=default door=gateway bytes=3 " HASH
                "cell_end session=default door=gateway outcome=error\n");
    close_all();
}

/* So many have ended so, and nothing of it stands among the cells that the server ran itself. */
static void check_counts(uint64_t ok, uint64_t error, uint64_t lost)
{
    static const uint64_t none[METRICS_STATUSES];
    TEST_CHECK(metrics.external[CELL_OK] == ok && metrics.external[CELL_ERROR] == error);
    TEST_CHECK(metrics.external[CELL_LOST] == lost);
    TEST_CHECK(memcmp(metrics.cells, none, sizeof none) == 0 && metrics.durations.ms == 0);
}

static void external_cells_are_counted_with_their_outcome_and_duration(void)
{
    open_all();
    fake_kernel_external(BUSY);
    fake_now += 2000;
    loop_turn(loop, 0);
    fake_kernel_external(IDLE);
    check_counts(1, 0, 0);
    TEST_CHECK(metrics.external_durations.ms == 2000 && metrics.external_durations.buckets[6] == 1);
    fake_kernel_external(BUSY);
    check_counts(1, 0, 0); /* it runs */
    fake_kernel_external(JUPYTER_ERROR, "r1", "{\"ename\":\"E\"}");
    fake_kernel_external(IDLE);
    check_counts(1, 1, 0);
    fake_kernel_external(IDLE); /* of none */
    fake_kernel_external(BUSY);
    fake_kernel_dies("killed", "");
    check_counts(1, 1, 1);
    TEST_CHECK(metrics.external_durations.buckets[0] == 2);
    close_all();
}

static void a_silent_cell_is_told_without_its_code(void)
{
    open_all();
    fake_kernel_external(BUSY);
    fake_kernel_external(IDLE);
    check_trail("start\ncell session=default door=gateway\n"
                "cell_end session=default door=gateway outcome=ok\n");
    close_all();
}

static void what_belongs_to_no_cell_is_not_told(void)
{
    open_all();
    fake_kernel_external(IDLE); /* of a cell from before */
    fake_kernel_external(JUPYTER_STREAM, "r1", "{\"text\":\"x\"}");
    fake_kernel_external(JUPYTER_ERROR, "r1", "{\"ename\":\"E\"}");
    fake_kernel_external(JUPYTER_STATUS, "r1", "{}");
    check_trail("start\n");
    close_all();
}

static void a_cell_whose_kernel_dies_is_lost(void)
{
    open_all();
    fake_kernel_external(BUSY);
    fake_kernel_external(INPUT);
    fake_kernel_dies("killed", "");
    check_trail("start\ncell session=default door=gateway bytes=3 " HASH
                "cell_end session=default door=gateway outcome=lost\n");
    close_all();
}

static void a_kernel_of_the_gateway_has_its_own_id(void)
{
    open_all();
    TEST_ASSERT(kernels_launch(kernels, "a1", NULL, NULL, NULL) == 0);
    fake_kernel_ready();
    fake_kernel_done("{\"status\":\"ok\"}");
    fake_kernel_external(BUSY);
    fake_kernel_external(INPUT);
    TEST_ASSERT(kernels_kill(kernels, "a1", NULL) == 0);
    check_trail("start\ncell kernel=a1 door=gateway bytes=3 " HASH
                "cell_end kernel=a1 door=gateway outcome=lost\n");
    fake.current = fake.first;
    close_all();
}

static void without_a_gateway_nothing_of_it_is_believed(void)
{
    open_all();
    config.gateway = false;
    fake_kernel_external(BUSY);
    fake_kernel_external(INPUT);
    fake_kernel_external(IDLE);
    check_trail("start\n");
    close_all();
}

TEST_LIST = {
    {"without a gateway nothing of it is believed", without_a_gateway_nothing_of_it_is_believed},
    {"code and outcome of a external cell are told", code_and_outcome_of_a_external_cell_are_told},
    {"external cells are counted with their outcome and duration",
     external_cells_are_counted_with_their_outcome_and_duration},
    {"a silent cell is told without its code", a_silent_cell_is_told_without_its_code},
    {"what belongs to no cell is not told", what_belongs_to_no_cell_is_not_told},
    {"a cell whose kernel dies is lost", a_cell_whose_kernel_dies_is_lost},
    {"a kernel of the gateway has its own id", a_kernel_of_the_gateway_has_its_own_id},
    {NULL, NULL},
};
